/** Brings tools of this program to the sessions of an agent, over any carrier: registers, carries out calls, reports. */
import type { ApiParams, ApiResult } from "../schemas/api.ts";
import type { CallEvent } from "../schemas/api_program.ts";
import type { Json } from "../schemas/json.ts";
import type { ProgramRequest } from "../schemas/program.ts";
import { ActorApiError, type ActorClient } from "./client.ts";

/** A call, as a tool of the program gets it. */
export interface ServedCall {
  readonly request: ProgramRequest;
  /** Aborts when nobody waits for the result any more. */
  readonly signal: AbortSignal;
  /** Tells people how far it is, in one line. */
  readonly progress: (text: string) => Promise<void>;
}

/** What a program brings. */
export interface ToolService extends Omit<ApiParams<"program_register">, "registration" | "prepares_rounds"> {
  /** By the name of the tool. What is thrown is told as an error of the tool. */
  readonly handlers: { readonly [tool: string]: (call: ServedCall) => Promise<Json> };
}

/** Tools that are being served. */
export interface ServedTools {
  /** What the program was answered when it registered. */
  readonly handshake: ApiResult<"program_register">;
  /** Resolves when serving has ended; rejects if the runtime refuses to go on. */
  readonly ended: Promise<void>;
  /** Ends serving: the runtime counts the program as gone once its lease is over. */
  stop(): Promise<void>;
}

/** Registers, and serves until it is stopped. A runtime that was started again is registered with anew. */
export async function serveTools(
  client: ActorClient,
  { handlers, ...manifest }: ToolService,
): Promise<ServedTools> {
  const stopping = new AbortController();
  const handshake = await client.program_register(manifest);
  const ended = serve(client, { handlers, manifest, first: handshake.registration, signal: stopping.signal });
  ended.catch(() => {}); // Whoever wants it awaits it.
  return {
    handshake,
    ended,
    stop: async () => {
      stopping.abort();
      await ended.catch(() => {});
    },
  };
}

interface Serving {
  readonly handlers: ToolService["handlers"];
  readonly manifest: Omit<ToolService, "handlers">;
  readonly first: string;
  readonly signal: AbortSignal;
}

async function serve(client: ActorClient, { handlers, manifest, first, signal }: Serving): Promise<void> {
  const { program } = manifest;
  const running = new Map<string, AbortController>();
  let [registration, after] = [first, 0];
  while (!signal.aborted) {
    try {
      for await (const event of client.program_calls({ program, registration, after }, { signal })) {
        after = event.seq;
        if (event.type === "cancel") running.get(event.call_id)?.abort();
        else if (event.type === "call") {
          void carryOut(client, { program, registration, handlers, event, running });
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      const isReplaced = error instanceof ActorApiError &&
        ["program_replaced", "program_not_found"].includes(error.code);
      if (!isReplaced) throw error;
      ({ registration } = await client.program_register({ ...manifest, registration }));
    }
  }
}

interface Carrying {
  readonly program: string;
  readonly registration: string;
  readonly handlers: ToolService["handlers"];
  readonly event: Extract<CallEvent, { readonly type: "call" }>;
  readonly running: Map<string, AbortController>;
}

/** Carries out one call. A result that nobody waits for any more is dropped: the runtime has said what it means. */
async function carryOut(
  client: ActorClient,
  { program, registration, handlers, event, running }: Carrying,
): Promise<void> {
  const { call_id, request } = event;
  const known = running.get(call_id);
  if (known !== undefined) return;
  const abort = new AbortController();
  running.set(call_id, abort);
  let count = 0;
  const progress = async (text: string) => {
    const message_id = `${registration}.${event.seq}.${++count}`;
    await client.program_report({ program, message_id, call_id, progress: text });
  };
  const result = await resultOf(handlers, { request, signal: abort.signal, progress });
  const message_id = `${registration}.${event.seq}.result`;
  await client.program_report({ program, message_id, call_id, result }).catch(() => {});
  running.delete(call_id);
}

async function resultOf(
  handlers: ToolService["handlers"],
  call: ServedCall,
): Promise<NonNullable<ApiParams<"program_report">["result"]>> {
  const { invocation_id, tool_name: tool } = call.request;
  try {
    const handler = Object.hasOwn(handlers, tool) ? handlers[tool] : undefined;
    if (handler === undefined) throw new Error(`The program has no handler for its tool "${tool}"`);
    return { invocation_id, status: "succeeded", output: await handler(call) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      invocation_id,
      status: "failed",
      error: { code: "tool_threw", message: message.slice(0, 2_000) },
    };
  }
}
