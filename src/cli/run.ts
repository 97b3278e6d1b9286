/** `troupe run`. */
import { limits } from "../../schemas/limits.ts";
import { readHostSettings, storeLocation } from "../host/home.ts";
import type { TurnReport } from "../turn_report.ts";
import { awaitTasks, tasksView } from "./await_tasks.ts";
import { type Call, defineCommand, storeOption } from "./cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "./exit.ts";
import { placeOptions, preparePlace, sayWhere } from "./place.ts";
import { playTurn } from "./play_turn.ts";
import { withSeat } from "./seat.ts";
import { openModels, refuseModel } from "./model_refusal.ts";
import { createJsonView } from "./json_view.ts";
import { createTranscript } from "./transcript.ts";
import { readImages } from "./image_files.ts";
import { sayWaiting } from "./waiting_schedules.ts";

const options = {
  store: storeOption,
  ...placeOptions,
  answer: {
    kind: "choice",
    choices: ["allow", "deny", "wait"],
    help: "answer approvals without asking, and servers by their defaults; wait leaves them to troupe answer",
  },
  image: {
    kind: "list",
    value: "FILE",
    help: "show the model an image: png, jpeg, gif or webp; up to 8 times",
  },
  strict: { kind: "flag", help: "let everything wait for the disk, not only what could hurt" },
  json: {
    kind: "flag",
    help: "print one JSON line for each durable entry, and for each task that ended after the turn",
  },
} as const;

/** What runs if nobody says what. */
const defaultAgent = "demo";
const defaultPrompt = "Look around in this folder, and tell me what you found.";

/** Runs one turn of an agent. */
export const command = defineCommand({
  args: ["[AGENT]", "[PROMPT]"],
  about: [
    "Runs one turn and shows it as it happens. AGENT is a folder with agent.yaml, such a file, or the name of an",
    "agent that comes with troupe: demo, which is also meant if no agent is named. With --session, AGENT must be",
    "the agent of that session; the MCP servers that it declares now hold for the turn.",
    "Questions are asked at the terminal; without one, and without --answer, they are denials.",
    "Ctrl-C cancels the turn, a second one leaves. Exit code 1 if the turn did not complete, 7 if it waits for a person",
    "since its model is not to be had: troupe resume goes on with it.",
    "Fields of a budget: tokens, cost_usd, wall_ms, tool_calls, processes, children; troupe budget shows what is left.",
    "Background tasks that the agent began are waited for after the turn; there Ctrl-C cancels them.",
    "If another process runs the store, that process does the work, and its configuration counts.",
  ],
  options,
  examples: [
    'troupe run "Look around"',
    'troupe run ./my-agent "Explain src/main.ts" --workspace .',
    'troupe run ./my-agent "Go on" --session last --answer deny',
    'troupe run ./my-agent "Say what you would change" --mode plan',
    'troupe run ./my-agent "Look around" --budget tokens=20000,tool_calls=50',
    'troupe run ./my-agent "What is in this picture?" --image photo.jpg',
    'troupe run ./my-agent "Look around" --json > entries.jsonl',
  ],
  run,
});

async function run({ cli, options: given, args }: Call<typeof options>): Promise<0> {
  const settings = await readHostSettings(cli.env);
  const { isAgent, loadAgent } = await import("../host/agent_folder.ts");
  const [name, text] = args.length > 1
    ? [args[0] ?? "", args[1] ?? ""]
    : [defaultAgent, args[0] ?? defaultPrompt];
  if (args.length === 1 && await isAgent(text, cli.cwd)) {
    throw new UsageError("argument_missing", `troupe run ${text} needs PROMPT: say what the agent shall do`);
  }
  checkPrompt(text);
  const images = await readImages(given.image, cli.cwd);
  // A session that goes on has its model from when it began, and a script stands for any.
  const isNew = given.session === undefined && given.script === undefined;
  const models = isNew ? await openModels(cli, settings.config) : undefined;
  const agent = await loadAgent(name, {
    cwd: cli.cwd,
    digest: cli.seams.digest,
    ...(models === undefined ? {} : { models }),
  });
  const place = await preparePlace(cli, agent, { given, settings });
  const acting = {
    location: storeLocation(given.store, cli.env, settings),
    config: settings.config,
    strict: given.strict,
    isAttended: cli.terminal.canAsk || given.answer !== undefined,
  };
  return await withSeat(cli, acting, async (seat) => {
    // The keys of another process are its own.
    if (seat.host.owner === undefined) refuseModel(models, agent.definition.model);
    const { session, fromSeq } = await place(seat.host);
    const view = given.json ? createJsonView(cli.terminal) : createTranscript(cli.terminal);
    if (!given.json) sayWhere(cli, seat.host, { session, strict: given.strict });
    const report = await playTurn(cli, seat, {
      session,
      fromSeq,
      request: { text, ...(images.length === 0 ? {} : { images }) },
      standing: given.answer,
      view,
    });
    const { answer: standing, json } = given;
    await awaitTasks(cli, seat, { session, standing, view: tasksView(cli, { json, view }) });
    if (!given.json) await sayWaiting(cli, seat.host, session);
    if (report.outcome !== "completed") throw notCompleted(report);
    return exitCodes.ok;
  });
}

function checkPrompt(text: string): void {
  if (text.trim() === "") {
    throw new UsageError("argument_invalid", "The prompt is empty: say what the agent shall do");
  }
  if (text.length <= limits.promptCharactersMax) return;
  throw new UsageError(
    "argument_invalid",
    `The prompt has more than ${limits.promptCharactersMax} characters`,
  );
}

/** A turn that did not complete. Its own failure says why; a cancel has none. */
export function notCompleted({ turn, outcome, failure }: TurnReport): CheckFailedError {
  const why = failure?.message ?? "it has no answer";
  if (outcome === "lost" && failure !== undefined) {
    return new CheckFailedError(failure.code, `The turn${turn === 0 ? "" : ` ${turn}`} is lost: ${why}`);
  }
  if (turn === 0 && failure !== undefined) return new CheckFailedError(failure.code, `No turn began: ${why}`);
  return new CheckFailedError(
    failure?.code ?? `turn_${outcome}`,
    `The turn ${turn} ended as ${outcome}: ${why}`,
  );
}
