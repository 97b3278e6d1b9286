/** Which eras are tried with a server, and when a server shows that it is of another one. */
import { limits } from "../../schemas/limits.ts";
import { eraOf, type McpEra } from "../../schemas/mcp_revision.ts";
import type { McpManifest } from "../../schemas/manifest.ts";
import type { Ended } from "../effects/deadline.ts";
import { AnswerLostError, NotSentError } from "./asked.ts";
import { EraError } from "./era_error.ts";
import { rpcCodes, RpcError } from "./protocol.ts";

/** What a server was found to be, remembered for a declaration. */
export interface EraMemory {
  /** Undefined if nothing is known, or what was known is too old. */
  recall(fingerprint: string): Promise<McpEra | undefined>;
  remember(fingerprint: string, era: McpEra): Promise<void>;
  forget(fingerprint: string): Promise<void>;
}

/** One attempt to speak with a server. */
export interface EraTry {
  readonly era: McpEra;
  /** How long it may take, if something else is tried then; as long as there is time without. Milliseconds. */
  readonly withinMs?: number;
}

/**
 * What is tried, in its order, as long as the server shows that it is of another era. By HTTP one question tells, unless
 * it is known already; who is slow to answer is asked once more if nothing else helps. A process is always greeted first:
 * most are legacy, some end at a question before the handshake, and one that refuses it is asked on the same process.
 */
export function erasOf({ protocol = "auto", transport }: McpManifest, known: McpEra | undefined): EraTry[] {
  if (protocol !== "auto") return [{ era: eraOf(protocol) }];
  if (transport === "stdio" || known === "legacy") return [{ era: "legacy" }, { era: "modern" }];
  if (known === "modern") return [{ era: "modern" }, { era: "legacy" }];
  return [{ era: "modern", withinMs: limits.mcpProbeMs }, { era: "legacy" }, { era: "modern" }];
}

/** The revision that a manifest asks for, of the legacy era. */
export function revisionOf({ protocol = "auto" }: McpManifest): string | undefined {
  return protocol === "auto" || eraOf(protocol) === "modern" ? undefined : protocol;
}

/** Errors with which servers of the modern era refuse a handshake. */
const refusingHandshakes: ReadonlySet<number> = new Set([
  rpcCodes.versionUnsupported,
  rpcCodes.methodNotFound,
  rpcCodes.invalidParams,
  rpcCodes.invalidRequest,
  rpcCodes.headerMismatch,
]);

/**
 * True if the way in which an attempt of one era failed leaves the other one open: a handshake that was refused as
 * something unknown, or answered with the other's revision; of the modern era, whatever is not positively its answer.
 * Who must say first who he is, or was not reached, has shown nothing.
 */
export function leadsOn(era: McpEra, ended: Ended<unknown>): boolean {
  if (era === "legacy") {
    if (ended.type !== "threw") return false;
    const { error } = ended;
    return error instanceof EraError || (error instanceof RpcError && refusingHandshakes.has(error.code));
  }
  if (ended.type === "late") return true;
  if (ended.type !== "threw" || ended.error instanceof NotSentError) return false;
  return !(ended.error instanceof AnswerLostError && ended.error.failure.details?.http_status === 403);
}
