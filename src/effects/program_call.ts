/** Calls of tools of connected programs: the envelope that they get, and what is made of their answer (CM-122, CM-123). */
import { toolKindOf } from "../../actors/governance.ts";
import { matchCapability } from "../../actors/policy/capability.ts";
import { failure } from "../../schemas/failure.ts";
import { programLimits } from "../../schemas/program_limits.ts";
import { ProgramRequest, ProgramResult } from "../../schemas/program.ts";
import type { ToolContent, ToolResultEnvelope } from "../../schemas/tool.ts";
import type { z } from "zod";
import type { MailboxAnswer } from "../programs/mailbox.ts";
import type { ConnectedProgram, ProgramHandler } from "../programs/program_registry.ts";
import { invocationId } from "../records/record_id.ts";
import type { Seams } from "../seams.ts";
import type { Adapter, Attempt, Routed } from "./adapter.ts";

/** What a call needs of the programs. */
export interface ProgramCallOptions {
  /** The program of a name, if it is connected. */
  readonly programOf: (program: string) => ConnectedProgram | undefined;
  readonly seams: Pick<Seams, "clock" | "digest">;
}

/** Makes the adapter of the tools of programs. */
export function createProgramCall({ programOf, seams }: ProgramCallOptions): Adapter {
  return async (routed) => {
    const { root, attempt, entry, use, begin } = routed;
    const { origin: program, fingerprint } = entry.provenance;
    const connected = programOf(program);
    const hasTool = connected?.tools?.has(entry.definition.name) ?? connected !== undefined;
    if (connected === undefined || !hasTool) {
      return notStarted(`Program "${program}" is not connected: start it, and call again`);
    }
    // The turn is bound to one release: another one is another implementation (CM-49).
    if (connected.fingerprint !== fingerprint) {
      return notStarted(
        `Program "${program}" was replaced by another release since the turn began: call again in a new turn`,
      );
    }
    const request = await requestOf(routed, seams);
    const { mailbox } = connected;
    const said = mailbox === undefined
      ? await here(connected.handlers.get(entry.definition.name), request, routed)
      : await mailbox.exchange({
        root,
        attempt,
        event: {
          type: "call",
          call_id: request.idempotency_key,
          deadline_at: use.deadlineAtMs,
          lease_until: use.deadlineAtMs + programLimits.leaseGraceMs,
          request,
        },
        deadlineAtMs: use.deadlineAtMs,
        signal: use.signal,
        begin: () => void begin(),
        notice: (text) => use.notifications.push(text),
      });
    if (said.kind !== "answered") return said;
    const answer = ProgramResult.safeParse(said.result);
    if (!answer.success || answer.data.invocation_id !== request.invocation_id) {
      const message = `Program "${program}" did not answer with a result of this call`;
      return { kind: "lost", failure: failure("program_result_invalid", message) };
    }
    return { kind: "returned", envelope: envelopeOf(answer.data) };
  };
}

/** Asks a program of this process. */
async function here(
  handler: ProgramHandler | undefined,
  request: ProgramRequest,
  { use, begin }: Routed,
): Promise<MailboxAnswer> {
  if (handler === undefined) throw new Error(`Cannot call "${request.tool_name}": it has no handler`);
  begin();
  return { kind: "answered", result: await handler(request, use) };
}

function notStarted(message: string): Attempt {
  return { kind: "not_started", failure: failure("program_unavailable", `${message}. Nothing was called`) };
}

async function requestOf(
  { root, entry, arguments: input, use, intent, origin }: Routed,
  { clock, digest }: ProgramCallOptions["seams"],
): Promise<ProgramRequest> {
  const { mode, capabilities: granted } = use.permission_context;
  // A program learns of no right that its tool does not ask for.
  const capabilities = (entry.definition.capabilities ?? [])
    .filter((wanted) => matchCapability(granted, wanted) !== undefined);
  return ProgramRequest.parse({
    invocation_id: await invocationId(digest, root, intent),
    tool_name: entry.canonicalName,
    tool_kind: entry.toolKind ?? toolKindOf(entry.sourceKind, entry.definition),
    caller_context: { session: root, origin, mode, capabilities },
    input,
    idempotency_key: use.idempotencyKey,
    timeout_ms: Math.max(0, Math.round(use.deadlineAtMs - clock.now())),
    streaming_mode: "none",
  });
}

function envelopeOf(
  { status, output, artifacts, ...rest }: z.output<typeof ProgramResult>,
): ToolResultEnvelope {
  const told: ToolContent[] = output === null
    ? []
    : typeof output === "string"
    ? [{ type: "text", text: output }]
    : [{ type: "structured", value: output }];
  const { error } = rest;
  if (status === "succeeded" || error === undefined) {
    return { ok: true, content: told, isError: false, attachments: artifacts };
  }
  const what = rest.approval_required ? `approval_required (${error.code})` : error.code;
  const again = rest.retryable ? " The same call may succeed later." : "";
  const refusal: ToolContent = {
    type: "error",
    failure: failure("tool_failed", `${what}: ${error.message}${again}`),
  };
  const details: ToolContent[] = Object.keys(error.diagnostics).length === 0
    ? []
    : [{ type: "structured", value: error.diagnostics }];
  return { ok: false, content: [refusal, ...details, ...told], isError: true, attachments: artifacts };
}
