/** What programs that bring tools ask: the handshake, their calls, their reports, and calls that they open themselves. */
import type { ApiGiven, ApiResult } from "../../schemas/api.ts";
import { Failure } from "../../schemas/failure.ts";
import { KernelError } from "../kernel/kernel.ts";
import { peek, peekText } from "../peek.ts";
import type { ProgramOwner, ServedAgent } from "../programs/program_desk.ts";
import { ApiFailure } from "./api_failure.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { seesAll } from "./caller.ts";
import { connectionOf } from "./fates.ts";
import { sessionFor } from "./visible.ts";

/** Connects a program, or refreshes what it brings (CM-39, CM-109). */
export async function programRegister(
  context: ApiCallContext,
  given: ApiGiven<"program_register">,
): Promise<ApiResult<"program_register">> {
  const { parts: { programs }, caller } = context;
  return await programs.register(ownerOf(caller), given, await agentOf(context, given.agent));
}

/** What a connected program is answered now. */
export async function programRefresh(
  context: ApiCallContext,
  { program }: ApiGiven<"program_refresh">,
): Promise<ApiResult<"program_refresh">> {
  const { parts: { programs }, caller } = context;
  const owner = ownerOf(caller);
  return await programs.refresh(owner, program, await agentOf(context, programs.agentOf(owner, program)));
}

/** The calls of a program, until it goes or another stream of it comes. */
export async function* programCalls(
  { parts: { programs }, caller, signal }: ApiCallContext,
  { program, registration, after }: ApiGiven<"program_calls">,
): AsyncIterable<ApiResult<"program_calls">> {
  yield* programs.mailboxOf(ownerOf(caller), program, registration).read(after, signal);
}

/** Takes a report; resolves once a result is durable. */
export async function programReport(
  { parts: { programs }, caller }: ApiCallContext,
  given: ApiGiven<"program_report">,
): Promise<ApiResult<"program_report">> {
  return await programs.find(ownerOf(caller), given.program).reports.take(given);
}

/** Opens a call of the program's own tool in the turn that runs (CM-61). */
export async function invoke(
  context: ApiCallContext,
  { address, program, tool, arguments: input }: ApiGiven<"invoke">,
): Promise<ApiResult<"invoke">> {
  sessionFor(context, address);
  const { parts: { runtime, programs }, caller, key } = context;
  // It must be there, and the caller's.
  programs.agentOf(ownerOf(caller), program);
  const message = { type: "session.invoke" as const, program, call: { tool, arguments: input } };
  const { accepted, reply } = await runtime.send(address, message, { key, by: caller.principal });
  await accepted();
  const { status, value } = await reply;
  const call = peekText(value, "call");
  if (status === "ok" && call !== "") return { address, call, state: "open" };
  const refused = Failure.safeParse(peek(value, "failure"));
  if (refused.success) throw new KernelError(refused.data.code, refused.data.message);
  throw new KernelError("reply_unreadable", `"${address}" answered in a way that nobody can read`);
}

function ownerOf(caller: ApiCallContext["caller"]): ProgramOwner {
  return { principal: caller.principal, seesAll: seesAll(caller), connection: connectionOf(caller) };
}

async function agentOf({ parts: { shelf } }: ApiCallContext, name: string): Promise<ServedAgent> {
  const found = await shelf.find(name);
  if (found !== undefined) return found;
  throw new ApiFailure(
    "agent_unknown",
    `No agent "${name}" is offered here: there are ${shelf.names.join(", ") || "none"}`,
  );
}
