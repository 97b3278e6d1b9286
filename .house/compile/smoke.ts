/**
 * `deno task compile:smoke`: a real program of this bundle, on an older Deno whose base npm has; what a new user does
 * first, in an empty folder, with an empty environment and no network.
 */
import { playAuthored } from "./authored.ts";
import { installPair, type Pair } from "./pair.ts";
import { runProcess } from "./process.ts";
import { BuildError, compileBundle, mainFile, makeBundle, programFlags } from "./program.ts";
import { playPageThread } from "./page_thread.ts";
import { playScenario, type Tell } from "./scenario.ts";
import { tellStep } from "./tell.ts";
import { playVendors } from "./vendors.ts";

/** Asks a program with our flags what it may do: it must see processes, and load no module from elsewhere. */
const probe = `
const isSeen = (await Deno.readTextFile("/proc/self/stat")).length > 0;
const asked = [];
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
  asked.push(request.url);
  return new Response("export default 1;", { headers: { "content-type": "text/javascript" } });
});
let loaded = 0;
for (const name of ["http://127.0.0.1:" + server.addr.port + "/a.js", "npm:is-odd@3.0.1", "jsr:@std/path@1"]) {
  await import(name).then(() => loaded += 1, () => {});
}
await server.shutdown();
console.log(JSON.stringify({ isSeen, asked, loaded, isStandalone: Deno.build.standalone }));
`;
const probed = '{"isSeen":true,"asked":[],"loaded":0,"isStandalone":true}';

async function main(): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-smoke-" });
  try {
    const pair = await installPair();
    if (pair === undefined) {
      console.log(
        `compile:smoke: skipped: there is no pair of Deno and base for ${Deno.build.target} at npm`,
      );
      return 0;
    }
    const isSealed = await runProbe(pair, folder);
    const bundle = `${folder}/bundle`;
    await makeBundle(bundle);
    await Deno.mkdir(`${folder}/bin`);
    const command = `${folder}/bin/renamed`;
    await compileBundle({ folder: bundle, output: command, ...pair, flags: programFlags });
    await Deno.remove(bundle, { recursive: true });
    const program = { command, args: [], env: {} };
    const tell: Tell = (what, why) => tellStep("smoke", what, why);
    const isWell = await playScenario(program, true, tell);
    const isRead = await playPageThread(program, tell);
    const isAsked = await playVendors(program, tell);
    const isJailed = await playAuthored(program, tell);
    return isWell && isRead && isAsked && isJailed && isSealed ? 0 : 1;
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(error.message);
    return error.exit;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function runProbe(pair: Pair, folder: string): Promise<boolean> {
  await Deno.mkdir(`${folder}/probe`);
  await Deno.writeTextFile(`${folder}/probe/${mainFile}`, probe);
  const command = `${folder}/a-probe`;
  await compileBundle({ folder: `${folder}/probe`, output: command, ...pair, flags: programFlags });
  const { out, err } = await runProcess({ command, args: [], cwd: folder, env: {}, isCleared: true });
  await Deno.remove(command);
  const what = "a program with these flags sees processes, and loads no module from elsewhere";
  const isWell = out.trim() === probed;
  tellStep("smoke", what, isWell ? undefined : `${out}${err}`.trim());
  return isWell;
}

Deno.exit(await main());
