/** Fetches packages of npm into Deno's cache: the only moment at which a server from npm needs the network. */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { NpmRun } from "../../schemas/npm_run.ts";
import { denoProgram, fetchArguments } from "./npm_program.ts";
import { lastWords } from "./plain_text.ts";
import type { ReadVariable } from "./variables.ts";

/**
 * Fetches a package and all that it needs, as the operator would: with the environment of this process, which knows its
 * proxy, certificates and registry. Runs none of its code. Does nothing for what is there.
 */
export async function fetchNpm(run: NpmRun, env: ReadVariable): Promise<Failure | undefined> {
  const deno = denoProgram(env);
  if ("code" in deno) return deno;
  const folder = await Deno.makeTempDir({ prefix: "troupe-npm-" });
  try {
    const { code, stderr } = await new Deno.Command(deno.command, {
      args: [...fetchArguments(run)],
      // Away from any project, whose configuration would count.
      cwd: folder,
      env: { DENO_DIR: deno.cache, DENO_NO_PACKAGE_JSON: "1", DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    if (code === 0) return undefined;
    const words = lastWords(new TextDecoder().decode(stderr), 1_000);
    return failure("mcp_npm_not_cached", `Cannot fetch npm:${run.npm} with deno cache: ${words}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
