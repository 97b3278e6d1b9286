/** Which blobs an entry names besides its own body: what must be kept, checked and copied with it. */
import { z } from "zod";
import type { Entry } from "../../schemas/entry.ts";
import { Attachment } from "../../schemas/tool.ts";

interface NamingBody {
  readonly input?: { readonly shared?: string };
  readonly message?: {
    readonly catalog?: { readonly hash?: string };
    readonly offer?: string | null;
    readonly images?: readonly { readonly digest: string }[];
  };
  readonly value?: {
    readonly hash?: string;
    readonly offer?: string;
    readonly full?: { readonly digest?: string };
  } | null;
}

/**
 * The sealed catalog, the server's offer or the shared sources that an entry is the first to name in its stream: a replay
 * looks it up.
 */
export function shelvedHashIn(entry: Pick<Entry, "kind" | "type" | "body">): string | undefined {
  if (entry.kind !== "input" && entry.kind !== "outcome" && entry.kind !== "created") return undefined;
  const body = entry.body as NamingBody | undefined;
  switch (`${entry.kind} ${entry.type}`) {
    case "created catalog":
      return body?.input?.shared;
    case "input catalog.issued":
      return body?.message?.catalog?.hash;
    case "input connection.offered":
      return body?.message?.offer ?? undefined;
    case "outcome catalog.seal":
      return body?.value?.hash;
    case "outcome mcp.list":
      return body?.value?.offer;
    default:
      return undefined;
  }
}

/** The whole result of a tool that an entry names, if it does: for people, not for replay. */
export function attachmentIn(entry: Entry): string | undefined {
  const body = entry.body as NamingBody | undefined;
  return entry.kind === "outcome" && isCall(entry.type) ? body?.value?.full?.digest : undefined;
}

/** The images of a prompt: for its model, not for replay. */
export function imagesIn({ kind, type, body }: Pick<Entry, "kind" | "type" | "body">): readonly string[] {
  if (kind !== "input" || type !== "session.prompt") return [];
  return (body as NamingBody | undefined)?.message?.images?.map(({ digest }) => digest) ?? [];
}

const KeptResult = z.looseObject({ attachments: z.array(Attachment) });

/** What a whole result names besides, each kept in a blob of its own; nothing for bytes that are no such result. */
export function attachmentsOf(result: Uint8Array): readonly string[] {
  try {
    const { data } = KeptResult.safeParse(JSON.parse(new TextDecoder().decode(result)));
    return [...new Set(data?.attachments.map(({ digest }) => digest))];
  } catch {
    return [];
  }
}

/** True if an entry of this kind may name further blobs in its body, so the body must be looked at. */
export function mayNameBlobs({ kind, type }: Pick<Entry, "kind" | "type">): boolean {
  if (kind === "created") return type === "catalog";
  if (kind === "input") {
    return type === "catalog.issued" || type === "connection.offered" || type === "session.prompt";
  }
  return kind === "outcome" && (type === "catalog.seal" || type === "mcp.list" || isCall(type));
}

/** True for the effects that are calls of tools, whatever their source: their outcomes are settled results, or pauses. */
export function isCall(type: string): boolean {
  return type === "tool.call" || type === "mcp.call" || type === "mcp.task";
}

/** True for the outcome of a call that goes on: it has no result yet (`PausedCall`). */
export function isPaused(body: unknown): boolean {
  return Object(Object(body).value).pause !== undefined;
}
