/** The single program: what it is made of, and with which flags. */
import { type Ended, runProcess } from "./process.ts";

/** The folder of the project. */
export const project = new URL("../../", import.meta.url).pathname.replace(/\/$/, "");

/** The first module of the bundle, as `src/host/own_program.ts` knows it. */
export const mainFile = "troupe.js";

/**
 * Threads: by the name under which the bundle's modules start them, the module. Each is a bundle of its own, since a
 * bundler does not follow the URL of a thread.
 */
export const threads: { readonly [file: string]: string } = { "page_worker.js": "src/tools/page_worker.ts" };

/** What is baked into every program, whichever Deno makes it. */
export const programFlags: readonly string[] = [
  // All rights, for two needs: commands and servers of the user's choice are run, which is every right there is, and
  // Deno shows `/proc` to runtimes with all rights only; by it processes are found that a killed runtime left behind.
  // So `--deny-import` must not stand here: it would take `/proc` away. Nothing is lost by that: a program has no
  // loader for modules from elsewhere, it knows the embedded ones; `deno task compile:smoke` tries to import one.
  "--allow-all",
  // Nobody is ever asked by Deno: what may be done is decided by policy, and recorded.
  "--no-prompt",
  // The store. It is opened by an explicit path, always.
  "--unstable-kv",
  // The cache would be a file of a known name in the folder that all users of a machine write to.
  "--no-code-cache",
  // Nothing of this folder's configuration is taken along: the bundle is whole.
  "--no-config",
  "--no-lock",
  // The types were checked by the gate; what is compiled is the bundle.
  "--no-check",
];

/** Flags that an older Deno does not know. */
export const namedFlags: readonly string[] = ["--app-name", "troupe"];

/** A step of the build that did not succeed. */
export class BuildError extends Error {
  override readonly name = "BuildError";
  /** 3 where this machine lacks what the step needs, else 1. */
  readonly exit: 1 | 3;

  constructor(message: string, exit: 1 | 3 = 1) {
    super(message);
    this.exit = exit;
  }
}

/** Makes the bundle in an empty folder: all modules and packages, as JavaScript, each loaded when it is needed. */
export async function makeBundle(folder: string): Promise<void> {
  // Names are kept, since failures are told apart by the names of their classes. What only explains is left out: it
  // would hold paths of this machine, and make another program on every machine.
  const flags = ["bundle", "--quiet", "--platform", "deno", "--keep-names", "--minify"];
  await bundle([...flags, "--code-splitting", "--outdir", folder, "main.ts"]);
  await Deno.rename(`${folder}/main.js`, `${folder}/${mainFile}`);
  for (const [file, module] of Object.entries(threads)) {
    await bundle([...flags, "--output", `${folder}/${file}`, module]);
  }
  await giveRequire(folder);
}

/** What a package in CommonJS gets for a module of Node that it asks for: the bundler's own answer is an error. */
const require = "const require=(name)=>{const found=process.getBuiltinModule(name);" +
  "if(found===undefined)throw new Error(`Cannot find module ${name}`);return found};\n";

async function giveRequire(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(`${folder}/${name}`);
    if (text.includes("Dynamic require of ")) await Deno.writeTextFile(`${folder}/${name}`, require + text);
  }
}

async function bundle(args: readonly string[]): Promise<void> {
  const ended = await runProcess({ command: Deno.execPath(), args, cwd: project, env: { NO_COLOR: "1" } });
  if (ended.code === 0) return;
  if (/esbuild/i.test(ended.err) && isUnreachable(ended.err)) {
    const what = "Deno's bundler, esbuild, is not in the cache and npm's registry is not reachable";
    throw new BuildError(`Cannot bundle here: ${what}; run this once where it is`, 3);
  }
  throw new BuildError(`Cannot bundle ${args.at(-1)}:\n${ended.err.trim()}`);
}

function isUnreachable(text: string): boolean {
  return /error sending request|dns error|client error|Connection refused|--cached-only/i.test(text);
}

/** What is compiled, by whom, for whom. */
export interface CompileOrder {
  /** The folder of the bundle. */
  readonly folder: string;
  readonly output: string;
  /** The Deno that compiles. */
  readonly deno?: string;
  /** The base that the program stands on; if absent, what Deno finds itself, by `DENORT_BIN` too. */
  readonly base?: string;
  readonly flags: readonly string[];
}

/** Compiles a bundle to a program. Throws where no base can be had, with exit 3. */
export async function compileBundle(order: CompileOrder): Promise<void> {
  const { folder, output, deno = Deno.execPath(), base, flags } = order;
  const ended: Ended = await runProcess({
    command: deno,
    args: ["compile", "--quiet", ...flags, "--include", ".", "--output", output, mainFile],
    cwd: folder,
    env: {
      NO_COLOR: "1",
      DENO_NO_PACKAGE_JSON: "1",
      DENO_NO_UPDATE_CHECK: "1",
      ...(base === undefined ? {} : { DENORT_BIN: base }),
    },
  });
  if (ended.code === 0) return;
  if (/Setting up base binary|Could not find denort/.test(ended.err)) throw new BuildError(noBase, 3);
  throw new BuildError(`Cannot compile:\n${ended.err.trim()}`);
}

/** Said where a program cannot be made for want of the runtime that it stands on. */
export const noBase =
  "Cannot compile here: there is no base to stand the program on, since Deno's download server is not reachable; " +
  "set DENORT_BIN to a denort of this Deno's version, or put its archive into the folder dl/release of DENO_DIR";
