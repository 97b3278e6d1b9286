/** A program that brings tools to the stage's agent by the API, and does only what a test says. */
import type { ApiParams, ApiResult } from "../../schemas/api.ts";
import type { CallEvent } from "../../schemas/api_program.ts";
import type { ActorClient } from "../../src/client.ts";
import type { ApiStage } from "./api_stage.ts";

/** Hash of the program's release. */
export const release = `sha256:${"a".repeat(64)}`;

type Registering = ApiParams<"program_register">;

/** What the program says of itself, with one tool: `greet`. */
export function manifestOf(
  tool: Partial<Registering["tools"][number]> = {},
  more: Partial<Registering> = {},
): Registering {
  const greet = { name: "greet", description: "Greets", input_schema: { type: "object" }, ...tool };
  return { program: "acme", fingerprint: release, agent: "tester", tools: [greet], ...more };
}

/** A program with its stream of calls. */
export interface ServedProgram {
  readonly client: ActorClient;
  readonly handshake: ApiResult<"program_register">;
  /** What it has heard, in order. */
  readonly heard: CallEvent[];
  /** Those of them that are calls. */
  calls(): readonly Extract<CallEvent, { readonly type: "call" }>[];
  /** Breaks the stream off. */
  leave(): void;
  /** Opens it again, behind what was heard, or from where it is told. */
  listen(after?: number): void;
  report(message: string, said: Partial<ApiParams<"program_report">>): Promise<ApiResult<"program_report">>;
  /** Reports that a call is done. */
  done(call: CallEvent, message: string, output?: string): Promise<ApiResult<"program_report">>;
}

/** Registers a program and opens its stream. */
export async function serveProgram(
  stage: ApiStage,
  manifest: Registering = manifestOf(),
  client = stage.client(),
): Promise<ServedProgram> {
  const handshake = await stage.run(client.program_register(manifest));
  const { program } = manifest;
  const heard: CallEvent[] = [];
  let leaving = new AbortController();
  const listen = (after = heard.at(-1)?.seq ?? 0) => {
    const leave = leaving = new AbortController();
    const { registration } = handshake;
    void (async () => {
      const params = { program, registration, after };
      for await (const event of client.program_calls(params, { signal: leave.signal })) heard.push(event);
    })().catch(() => {});
  };
  listen();
  await stage.world.settle();
  const report: ServedProgram["report"] = (message, said) =>
    client.program_report({ program, message_id: message, call_id: "", ...said });
  return {
    client,
    handshake,
    heard,
    calls: () => heard.filter((event) => event.type === "call"),
    leave: () => leaving.abort(),
    listen,
    report,
    done: (event, message, output = "hello") => {
      const { call_id } = event;
      const invocation_id = event.type === "call" ? event.request.invocation_id : "";
      return report(message, { call_id, result: { invocation_id, status: "succeeded", output } });
    },
  };
}
