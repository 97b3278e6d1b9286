/**
 * `deno task compile:verify`: compiles with the `deno` command as base, which makes no program that runs but a true
 * payload, looks at the flags and files in it, and runs those very files.
 */
import { playHttp } from "./http_face.ts";
import {
  compileBundle,
  mainFile,
  makeBundle,
  namedFlags,
  programFlags,
  project,
  threads,
} from "./program.ts";
import { type Payload, readPayload, type Settings } from "./payload.ts";
import { playPageThread } from "./page_thread.ts";
import { playScenario, type Tell } from "./scenario.ts";
import { tellStep } from "./tell.ts";

/** What must be true of the settings. */
const claims: { readonly [claim: string]: (settings: Settings) => boolean } = {
  "it starts with its own first module": ({ entrypoint_key }) => entrypoint_key === mainFile,
  "it is given no arguments of ours": ({ argv }) => argv.length === 0,
  "it asks nobody for a permission": ({ permissions }) => permissions["prompt"] === false,
  // An empty list is Deno's way to say: whatever.
  "it has all rights, so that it can see processes": ({ permissions }) =>
    Object.entries(permissions).every(([name, value]) =>
      name === "prompt" ||
      (name.startsWith("allow_") ? Array.isArray(value) && value.length === 0 : value === null)
    ),
  "it has Deno KV, and nothing else that is unstable": ({ unstable_config }) =>
    unstable_config.features.join() === "kv",
  "its name does not depend on its file's": ({ app_name }) => app_name === "troupe",
  "it holds no folder of packages": ({ node_modules }) => node_modules === null,
  "it keeps no cache of code in a folder of all users": ({ code_cache_key }) => code_cache_key === null,
  "it holds no variables": ({ env_vars_from_env_file }) => Object.keys(env_vars_from_env_file).length === 0,
  "it checks certificates": ({ unsafely_ignore_certificate_errors }) =>
    unsafely_ignore_certificate_errors === null,
  "it sends no telemetry": ({ otel_config }) => !otel_config.tracing_enabled && !otel_config.metrics_enabled,
};

const bytesMax = 12 * 1_048_576;

async function main(): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-verify-" });
  try {
    await Deno.mkdir(`${folder}/bundle`);
    await makeBundle(`${folder}/bundle`);
    const flags = [...programFlags, ...namedFlags];
    const output = `${folder}/troupe`;
    await compileBundle({ folder: `${folder}/bundle`, output, base: Deno.execPath(), flags });
    const payload = readPayload(await Deno.readFile(output));
    await Deno.remove(output);
    const isAsMeant = checkSettings(payload.settings);
    const isWhole = await checkFiles(payload, `${folder}/bundle`);
    await unpack(payload, `${folder}/payload`);
    return await runPayload(folder) && isAsMeant && isWhole;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function checkSettings(settings: Settings): boolean {
  const broken = Object.keys(claims).filter((claim) => claims[claim]?.(settings) !== true);
  for (const claim of broken) {
    tellStep("verify", claim, JSON.stringify(settings, undefined, 1).slice(0, 3_000));
  }
  if (broken.length === 0) {
    tellStep("verify", `${Object.keys(claims).length} settings are as they were meant`);
  }
  return broken.length === 0;
}

/** All of the bundle and nothing else; no module from elsewhere, and no path of this machine. */
async function checkFiles({ files }: Payload, bundle: string): Promise<boolean> {
  const wanted = new Set<string>();
  for await (const { name } of Deno.readDir(bundle)) wanted.add(name);
  const complaints: string[] = [];
  for (const name of [mainFile, ...Object.keys(threads)]) {
    if (!files.has(name)) complaints.push(`${name} is not in it`);
  }
  for (const name of wanted) if (!files.has(name)) complaints.push(`${name} is not in it`);
  for (const name of files.keys()) if (!wanted.has(name)) complaints.push(`${name} does not belong in it`);
  const home = Deno.env.get("HOME");
  let bytes = 0;
  for (const [name, content] of files) {
    bytes += content.length;
    const text = new TextDecoder().decode(content);
    if (/\b(?:from|import)\s*\(?\s*["'](?:npm|jsr|https?):/.test(text)) {
      complaints.push(`${name} imports from elsewhere`);
    }
    if (text.includes(project)) complaints.push(`${name} has the path of the project`);
    if (home !== undefined && home.length > 1 && text.includes(`${home}/`)) {
      complaints.push(`${name} has the path of a home`);
    }
  }
  if (bytes > bytesMax) complaints.push(`it is ${bytes} bytes, more than ${bytesMax}`);
  const what = `${files.size} files, ${(bytes / 1_048_576).toFixed(1)} MiB`;
  tellStep("verify", what, complaints.length === 0 ? undefined : complaints.slice(0, 5).join("; "));
  return complaints.length === 0;
}

async function unpack({ files }: Payload, folder: string): Promise<void> {
  await Deno.mkdir(folder);
  for (const [name, content] of files) await Deno.writeFile(`${folder}/${name}`, content);
}

/** Runs what was embedded, by this Deno, with the flags that were baked: from an empty cache, without the network. */
async function runPayload(folder: string): Promise<boolean> {
  const sealed = ["--quiet", "--cached-only", "--no-remote", "--no-npm"];
  const baked = programFlags.filter((flag) => flag !== "--no-code-cache");
  const program = {
    command: Deno.execPath(),
    args: ["run", ...sealed, ...baked, `${folder}/payload/${mainFile}`],
    env: { DENO_DIR: `${folder}/cache`, DENO_NO_UPDATE_CHECK: "1" },
  };
  const tell: Tell = (what, why) => tellStep("verify", what, why);
  const isWell = await playScenario(program, false, tell);
  const isRead = await playPageThread(program, tell);
  // Here and not in the smoke: `node:http` of its older Deno lacks what our server needs of a socket.
  return await playHttp(program, tell) && isRead && isWell;
}

Deno.exit(await main() ? 0 : 1);
