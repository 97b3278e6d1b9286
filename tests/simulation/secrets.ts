/** A secret of the play: told by models and targets in many encodings, known to the runtime, and to be found nowhere. */
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import type { Complain, Evidence } from "./evidence.ts";
import type { Sites } from "./sites.ts";

/** The secret. Every encoding of it looks different. */
export const secret = "zq7/Kp+W~s9&Lx2?Vb<4";

const bytes = new TextEncoder().encode(secret);

/** The secret in six encodings: plain, JSON, percent, HTML, hexadecimal, base64. */
export const encodings: readonly string[] = [
  secret,
  secret.replace(/[^]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`),
  encodeURIComponent(secret),
  secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
  [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
  btoa(secret),
];

/** What a runtime knows of it. */
export function knownSecrets(): KnownSecrets {
  const known = new KnownSecrets();
  const added = known.add({ value: secret, name: "play", source: "env:PLAY" });
  if (added !== "added") throw new Error(`The secret of the play cannot be looked for: ${added}`);
  return known;
}

/** A text with the secret in it, if this site strikes. */
export function withSecret(text: string, sites: Sites): string {
  return sites.strikes("secret_told") ? `${text} ${sites.pick("secret_told", encodings)} end` : text;
}

/** I9: no encoding of the secret stands in a row, a reply, a question, a line of the log, or what a model was given. */
export function judgeSecrets(
  { disk, clients, outside }: Evidence,
  said: readonly string[],
  complain: Complain,
): void {
  const decoder = new TextDecoder();
  const look = (where: string, text: string) => {
    const found = encodings.findIndex((one) =>
      text.includes(one) || text.includes(JSON.stringify(one).slice(1, -1))
    );
    if (found >= 0) complain("I9", `${where} holds the secret, in encoding ${found}`);
  };
  for (const { key, value } of disk.rows()) {
    look(
      `The row ${key.join(" ")}`,
      value instanceof Uint8Array ? decoder.decode(value) : JSON.stringify(value),
    );
  }
  for (const { command, reply } of clients.tickets) {
    look(`The reply to ${command.key}`, JSON.stringify(reply) ?? "");
  }
  for (const [id, shown] of clients.seen) look(`The question ${id}`, shown);
  for (const { key, conversation } of outside.performed) {
    if (conversation !== undefined) look(`The conversation for ${key}`, conversation);
  }
  for (const line of said) look("A line of the log", line);
}
