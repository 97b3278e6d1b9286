/** What an actor waits for, in words: one sentence for each kind of effect, and what is done when time is up. */
import type { PortArgs, PortKind, PortRequest, PortRequestOf } from "../../schemas/effect.ts";
import { offeredBy } from "../../schemas/question.ts";
import { wordsCharactersMax } from "./actor_state.ts";

/** A wait in words. `late` says what is done when time is up; absent if nothing is. */
export interface WaitWords {
  readonly words: string;
  readonly late?: string;
  readonly untilMs?: number;
}

type Wording<K extends PortKind> = (
  request: PortRequestOf<K>,
  /** The question's name for `troupe answer`. */
  key: string,
) => WaitWords;

const callLate: { readonly [E in PortRequest["effect"]]: string } = {
  idempotent: "the call ends as timed_out, and may be made again",
  conditional:
    "the call ends as timed_out, or as unknown if it was begun: then it is looked up, or asked about",
  non_idempotent: "the call ends as timed_out, or as unknown if it was begun: then a person is asked",
};

function call(
  { effect, args }: { readonly effect: PortRequest["effect"]; readonly args: ToolArgs },
): WaitWords {
  const again = args.attempt > 1 ? `, attempt ${args.attempt}` : "";
  return { words: `the outcome of the tool ${args.entry.name}${again}`, late: callLate[effect] };
}

type ToolArgs = PortArgs<"tool.call">;

/** Leave one out and this does not compile. */
const wordings: { readonly [K in PortKind]: Wording<K> } = {
  "model.generate": ({ args }) => ({
    words: `an answer of the model ${args.model}, for step ${args.step} of turn ${args.turn}`,
    late: "this attempt fails; the step is tried again, or another model is asked, or the turn fails",
  }),
  "model.sample": ({ args }) => ({
    words: `an answer of the session's model to the server ${args.server}`,
    late: "the server is told that there is no answer",
  }),
  "tool.call": call,
  "mcp.call": call,
  "mcp.task": (request) => {
    const { words, ...rest } = call(request);
    return { words: `${words}, which its server carries out as a task`, ...rest };
  },
  "tool.verify": ({ args }) => ({
    words: `the tool ${args.entry.name} to say whether the call happened`,
    late: "the call stays in doubt, and a person is asked",
  }),
  "command.review": ({ args }) => ({
    words: `a look at the command of ${args.entry.name}`,
    late: "the command is not understood, and denied",
  }),
  "question.ask": ({ args: { subject } }, key) => ({
    words: `a person's answer (${subject.kind}: ${subject.title}): troupe answer '${key}' ${
      offeredBy(subject).join("|")
    }`,
    late: subject.kind === "uncertain" ? "the question is asked again" : "nobody's answer counts as no",
  }),
  "timer.set": ({ args }) => ({
    words: `a timer (${args.label})`,
    late: "it goes on",
    untilMs: args.dueAtMs + args.jitterMs,
  }),
  "catalog.seal": () => ({ words: "its tools to be sealed in the store" }),
  "child.start": ({ args }) => ({ words: `${args.child} to be let go on` }),
  "child.stop": ({ args }) => ({
    words: `${args.child} to be ${args.quarantine ? "taken out of service" : "stopped"}`,
  }),
  "mcp.connect": ({ args }) => ({
    words: `the MCP server ${args.declaration.server} to start and greet (start ${args.launch})`,
    late: "the server is ended, and tried again after a wait",
  }),
  "mcp.list": ({ args }) => ({
    words: `the MCP server ${args.declaration.server} to list its tools`,
    late: "the server is ended, and tried again after a wait",
  }),
  "mcp.watch": ({ args }) => ({
    words: `news of the MCP server: changed tools, or its end (start ${args.launch})`,
  }),
  "task.run": ({ args }) => ({ words: `the end of its work (${args.work.kind})` }),
  "agent.open": ({ args }) => ({ words: `the session of its child, ${args.work.child}, to be made` }),
  "schedule.next": ({ args }) => ({ words: `the next time of "${args.expression}" in ${args.zone}` }),
  "mcp.close": ({ args }) => ({ words: `the MCP server to end (start ${args.launch})` }),
};

/** A wait in words. */
export function wordsOf<K extends PortKind>(request: PortRequestOf<K>, key: string): WaitWords {
  const wording = wordings[request.port] as Wording<K>;
  const { words, late, untilMs = request.deadlineAtMs } = wording(request, key);
  return {
    words: words.slice(0, wordsCharactersMax),
    ...(late === undefined || untilMs === undefined ? {} : { late, untilMs }),
  };
}
