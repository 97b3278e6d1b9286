/** Reads from a raw result, or from an error, that a server wants something before it goes on with a call. */
import type { RequestGate, ServerRequest } from "../../schemas/call_pause.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { isRecord } from "./json_bounds.ts";
import { oneLine } from "./plain_text.ts";
import { elicitMethod, readElicitation } from "./server_request.ts";

/** What a raw result says that is none yet. */
export type RawInput =
  /** The server wants answers, and its state back, byte for byte. */
  | {
    readonly type: "input_required";
    readonly requests: readonly ServerRequest[];
    readonly state: string | undefined;
  }
  /** It wants what we cannot give. */
  | { readonly type: "unusable"; readonly failure: Failure };

/** The error by which a server of 2025-11-25 wants a page to be opened first. */
const urlRequiredCode = -32_042;

/** Why a result is none yet; undefined if it is one. `gate` is absent if no person is asked for this server. */
export function inputOf(raw: unknown, gate: RequestGate | undefined): RawInput | undefined {
  if (!isRecord(raw) || raw["resultType"] !== "input_required") return undefined;
  const { inputRequests: wanted = {}, requestState: state } = raw;
  if (state !== undefined && (typeof state !== "string" || !state.isWellFormed())) {
    return unusable("its requestState is no text");
  }
  const { length } = new TextEncoder().encode(state ?? "");
  if (length > limits.mcpRequestStateBytesMax) {
    return unusable(
      `its requestState has ${length} bytes, and at most ${limits.mcpRequestStateBytesMax} are kept`,
    );
  }
  if (!isRecord(wanted)) return unusable("its inputRequests are no object");
  const entries = Object.entries(wanted);
  if (entries.length === 0 && state === undefined) {
    return unusable("it neither asks for anything nor has a state");
  }
  if (entries.length > limits.mcpRequestsAtOnceMax) {
    return unusable(
      `it asks for ${entries.length} things at once, and at most ${limits.mcpRequestsAtOnceMax} are asked`,
    );
  }
  const requests: ServerRequest[] = [];
  for (const [key, request] of entries) {
    const shown = oneLine(key, limits.mcpRequestKeyCharactersMax);
    if (shown !== key || key === "") return unusable("it names a request in a way that cannot be kept");
    const { method, params } = isRecord(request) ? request : {};
    if (method !== elicitMethod || gate === undefined) {
      return unusable(`it asks for "${oneLine(String(method), 100)}", which was not offered to it`);
    }
    requests.push(readElicitation(key, params, gate));
  }
  return { type: "input_required", requests, state };
}

/** The pages that a refusal of a call wants to be opened before the call is made again; undefined if it wants none. */
export function pagesOf(
  { code, data }: { readonly code?: number; readonly data?: unknown },
  gate: RequestGate | undefined,
): readonly ServerRequest[] | undefined {
  if (code !== urlRequiredCode || gate === undefined || !isRecord(data)) return undefined;
  const { elicitations } = data;
  if (!Array.isArray(elicitations) || elicitations.length === 0) return undefined;
  if (elicitations.length > limits.mcpRequestsAtOnceMax) return undefined;
  const pages = elicitations.map((one, index) =>
    readElicitation(`page-${index + 1}`, isRecord(one) ? { ...one, mode: "url" } : {}, gate)
  );
  return pages.every(({ kind }) => kind === "url") ? pages : undefined;
}

function unusable(why: string): RawInput {
  const message = `The MCP server wants something before it answers, but ${why}`;
  return { type: "unusable", failure: failure("mcp_input_invalid", message) };
}
