/** `troupe verify`. */
import { limits } from "../../schemas/limits.ts";
import { FixtureError } from "../fixture/fixture_format.ts";
import { type FixtureReplay, replayFolder } from "../fixture/replay_fixture.ts";
import { type Call, type Cli, defineCommand, jsonOption } from "./cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { junitXml } from "./junit.ts";
import { withProgress } from "./progress.ts";
import { printVerified, suiteOf, type Verified, verifiedLines } from "./verify_text.ts";

const options = {
  junit: { kind: "text", value: "FILE", help: "also write a JUnit report, for CI: a case for each stream" },
  json: jsonOption,
} as const;

/** Replays fixtures and compares. */
export const command = defineCommand({
  args: ["DIR..."],
  about: [
    "Replays fixtures, which troupe export --fixture wrote: no store, no model, no tool, no network, and nothing is",
    "written. Every effect that a machine asks for is compared with the recorded one, and the hashes of states with",
    "those of the fixture. A divergence names entry and address, what was asked, what was recorded, and the fields in",
    "which they differ. What other code recorded is said to be so; then what is asked is compared, and states are not.",
    "Exit code 0: all the same; 1: something diverged; 3: a fixture is missing, altered, cut or incomplete.",
  ],
  options,
  examples: [
    "troupe verify tests/fixtures/reading",
    "troupe verify tests/fixtures/* --junit report.xml",
    "troupe verify tests/fixtures/reading --json",
  ],
  run,
});

async function run({ cli, options: given, args }: Call<typeof options>): Promise<0> {
  if (args.length === 0) {
    throw new UsageError("argument_missing", "troupe verify needs DIR...: see troupe verify --help");
  }
  if (args.length > limits.fixturesPerRunMax) {
    const message = `${args.length} fixtures are too many: give at most ${limits.fixturesPerRunMax} at once`;
    throw new UsageError("argument_invalid", message);
  }
  const all: Verified[] = [];
  for (const folder of args) {
    const verified = await verify(cli, folder.replace(/(?<=.)\/+$/, ""));
    all.push(verified);
    if (given.json) { for (const line of verifiedLines(verified)) cli.terminal.out.line(jsonLine(line)); }
    else printVerified(cli.terminal, verified);
  }
  if (given.junit !== undefined) {
    await writeReport(given.junit, junitXml("troupe verify", all.map(suiteOf)));
  }
  refuse(all);
  return exitCodes.ok;
}

async function verify(cli: Cli, folder: string): Promise<Verified> {
  const { clock, digest } = cli.seams;
  const startedAt = clock.now();
  const found = await withProgress(cli, `replaying ${folder}`, () => replayed(folder, digest));
  return { folder, found, durationMs: clock.now() - startedAt };
}

async function replayed(
  folder: string,
  digest: Cli["seams"]["digest"],
): Promise<FixtureReplay | FixtureError> {
  try {
    return await replayFolder(folder, digest);
  } catch (error) {
    if (error instanceof FixtureError) return error;
    throw error;
  }
}

async function writeReport(path: string, text: string): Promise<void> {
  try {
    await Deno.writeTextFile(path, text);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new UsageError("file_unwritable", `Cannot write "${path}": ${error.message}`);
  }
}

/** The worst that was found is told: what could not be read says nothing of what it would do. */
function refuse(all: readonly Verified[]): void {
  const errors = all.flatMap(({ found }) => found instanceof FixtureError ? [found] : []);
  const [error] = errors;
  if (error !== undefined) {
    const message = `${errors.length} of ${all.length} fixtures cannot be used; the first: ${error.message}`;
    throw new CheckFailedError("fixtures_unreadable", message);
  }
  const diverged = all.filter(({ found }) =>
    !(found instanceof FixtureError) && found.roots.some(({ report }) => report.divergence !== undefined)
  );
  if (diverged.length === 0) return;
  const names = diverged.map(({ folder }) => folder);
  const shown = names.slice(0, 5).join(", ") + (names.length > 5 ? ", …" : "");
  throw new CheckFailedError(
    "fixtures_diverged",
    `${names.length} of ${all.length} fixtures diverged: ${shown}`,
  );
}
