/** Makes the host's secrets known to the redactor. */
import { tokenVariable } from "../journal/remote_address.ts";
import { KnownSecrets } from "../redact/known_secrets.ts";
import type { Seams } from "../seams.ts";
import type { HostSecret } from "./secrets.ts";

/** Makes secrets known, so that they are taken out wherever they come in. Says which cannot be, never what they are. */
export function makeKnown(
  secrets: readonly HostSecret[],
  { log, token }: { readonly log: Seams["log"]; readonly token: string | undefined },
): KnownSecrets {
  const known = new KnownSecrets();
  // That of a remote store is nobody's business either.
  if (token !== undefined) known.add({ value: token, name: tokenVariable, source: `env:${tokenVariable}` });
  for (const { name, source, value, problem } of secrets) {
    const added = value === undefined
      ? undefined
      : known.add({ value, name, source: source as `env:${string}` | `file:${string}` });
    const why = problem ?? (added === "added" || added === "known" ? undefined : `its value is ${added}`);
    if (why !== undefined) log({ level: "warning", event: "secret_unusable", detail: { name, why } });
  }
  return known;
}
