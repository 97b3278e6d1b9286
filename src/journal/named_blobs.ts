/** Which blobs an entry names besides its own body: what must be kept, checked and copied with it. */
import type { Entry } from "../../schemas/entry.ts";

interface NamingBody {
  readonly message?: { readonly catalog?: { readonly hash?: string } };
  readonly value?: { readonly hash?: string; readonly full?: { readonly digest?: string } } | null;
}

/** The sealed catalog that an entry is the first to name in its stream, if it does: a replay looks it up. */
export function catalogHashIn(entry: Pick<Entry, "kind" | "type" | "body">): string | undefined {
  const body = entry.body as NamingBody | undefined;
  if (entry.kind === "input" && entry.type === "catalog.issued") return body?.message?.catalog?.hash;
  return entry.kind === "outcome" && entry.type === "catalog.seal" ? body?.value?.hash : undefined;
}

/** The whole result of a tool that an entry names, if it does: for people, not for replay. */
export function attachmentIn(entry: Entry): string | undefined {
  const body = entry.body as NamingBody | undefined;
  return entry.kind === "outcome" && entry.type === "tool.call" ? body?.value?.full?.digest : undefined;
}

/** True if an entry of this kind may name further blobs in its body, so the body must be looked at. */
export function mayNameBlobs(entry: Entry): boolean {
  return entry.type === "catalog.issued" ||
    (entry.kind === "outcome" && /^(?:catalog\.seal|tool\.call)$/.test(entry.type));
}
