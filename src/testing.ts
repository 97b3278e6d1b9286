/**
 * For tests of agents with `deno test`: recorded sessions that must replay, and answers instead of a model.
 *
 * A fixture is a folder that `troupe export --fixture` wrote. Nothing is started and nothing is written.
 */
import { Script } from "../schemas/script.ts";
import { divergenceLines } from "./cli/verify_text.ts";
import { type FixtureReplay, replayFolder } from "./fixture/replay_fixture.ts";
import type { ModelProvider } from "./model/provider.ts";
import { createScriptedProvider } from "./model/scripted.ts";
import { createSystemSeams } from "./system_seams.ts";

export { FixtureError } from "./fixture/fixture_format.ts";
export type { FixtureReplay, RootReplay } from "./fixture/replay_fixture.ts";
export type { ModelProvider } from "./model/provider.ts";
export type { ModelEvent, ModelRequest } from "../schemas/model.ts";

/** A fixture whose machines ask for something else than was recorded. The message says what, field by field. */
export class FixtureDivergedError extends Error {
  override readonly name = "FixtureDivergedError";
  readonly code = "fixture_diverged";
  readonly replay: FixtureReplay;
  constructor(message: string, replay: FixtureReplay) {
    super(message);
    this.replay = replay;
  }
}

/**
 * Replays the fixture in a folder, and returns what was compared. Throws {@linkcode FixtureDivergedError} if something
 * else is asked than was recorded, and `FixtureError` if the fixture is missing, altered, cut or incomplete.
 */
export async function replayFixture(folder: string | URL): Promise<FixtureReplay> {
  const path = typeof folder === "string" ? folder : decodeURIComponent(folder.pathname);
  const { digest } = createSystemSeams({ log: () => {} });
  const replay = await replayFolder(path.replace(/(?<=.)\/+$/, ""), digest);
  const lines = replay.roots.flatMap(divergenceLines);
  if (lines.length > 0) throw new FixtureDivergedError(`${path}: ${lines.join("\n")}`, replay);
  return replay;
}

/** A provider that gives these answers in their order, one for each time that a model would be asked (AR-31). */
export function scriptedProvider(script: Partial<Script> & Pick<Script, "answers">): ModelProvider {
  return createScriptedProvider(Script.parse(script));
}
