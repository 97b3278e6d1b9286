/** `troupe demo`. */
import { readHostSettings } from "../host/home.ts";
import { loadEmbedded } from "../host/agent_folder.ts";
import { sourceFolder } from "../host/source_folder.ts";
import { agentFiles } from "../templates/agent_folder.ts";
import { type Call, type Cli, defineCommand, storeOption } from "./cli.ts";
import { exitCodes } from "./exit.ts";
import { playTurn } from "./play_turn.ts";
import { refuseDivergence, replaySession } from "./replay.ts";
import { printReplays } from "./replay_text.ts";
import { begin } from "./place.ts";
import { notCompleted } from "./run.ts";
import { withSeat } from "./seat.ts";
import { createTranscript } from "./transcript.ts";

const options = {
  store: {
    ...storeOption,
    help: "keep the session in this store; default: a temporary one, removed at the end",
  },
} as const;

const prompt = "Look around in this project, and tell me what you found.";

/** Plays the demonstration. */
export const command = defineCommand({
  args: [],
  about: [
    "Runs one turn of an agent that comes with troupe over troupe's own source, with a script in place of a model:",
    "no key, no network. It uses two built-in tools and an MCP server, a process of its own. Then replays what was",
    "just recorded, without model, tools and server, and prints the comparison. Where troupe is a single program, it",
    "looks around in the folder that troupe init makes, a temporary one.",
  ],
  options,
  examples: ["troupe demo", "troupe demo --store ./demo.db"],
  run,
});

async function run({ cli, options: given }: Call<typeof options>): Promise<0> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-demo-" });
  try {
    const workspace = sourceFolder() ?? await makeWorkspace(`${folder}/my-agent`);
    return await play(cli, { location: given.store ?? `${folder}/demo.db`, workspace });
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
}

/** What there is to look at without the source: the files of a new agent. */
async function makeWorkspace(folder: string): Promise<string> {
  for (const { path, text } of agentFiles("my-agent")) {
    const file = `${folder}/${path}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, text);
  }
  return folder;
}

interface Stand {
  readonly location: string;
  readonly workspace: string;
}

async function play(cli: Cli, { location, workspace }: Stand): Promise<0> {
  const { config } = await readHostSettings(cli.env);
  const agent = await loadEmbedded("demo", { digest: cli.seams.digest });
  if (agent === undefined) throw new Error("Cannot find the agent demo: it is not embedded");
  const acting = { location, config, strict: false, isAttended: cli.terminal.canAsk };
  return await withSeat(cli, acting, async (seat) => {
    const { out } = cli.terminal;
    const session = await begin(seat.host, agent, { home: { agent: agent.home, workspace } });
    out.line(out.style.bold(`> ${prompt}`));
    const view = createTranscript(cli.terminal);
    const report = await playTurn(cli, seat, {
      session,
      request: { text: prompt },
      fromSeq: 1,
      standing: undefined,
      view,
    });
    if (report.outcome !== "completed") throw notCompleted(report);
    out.line("");
    const replays = await replaySession(cli, seat.host, { address: session, anyCode: false, strict: true });
    printReplays(cli.terminal, replays);
    refuseDivergence(replays);
    return exitCodes.ok;
  });
}
