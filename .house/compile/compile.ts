/** `deno task compile`: makes `dist/troupe`, one program that needs nothing else. */
import {
  BuildError,
  compileBundle,
  makeBundle,
  namedFlags,
  noBase,
  programFlags,
  project,
} from "./program.ts";
import { runProcess } from "./process.ts";
import { version } from "../../src/version.ts";

/** The machines that Deno has a base for. */
const targets = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
  "aarch64-pc-windows-msvc",
];

const help = `Makes one program of troupe: dist/troupe, or dist/troupe-TARGET for each --target.

Usage: deno task compile [--target TARGET]...

  --target TARGET   For another machine: ${targets.join(",\n                    ")}
  --help            Shows this

The base that the program stands on comes from DENORT_BIN if it is set (a denort of this Deno's version, for the
target), from DENO_DIR/dl/release/v${Deno.version.deno}/denort-TARGET.zip if that is there, else from Deno's download server.
Exit codes: 0 well, 1 it does not compile, 2 usage, 3 no base, or no bundler, can be had here.
`;

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(help);
    return 0;
  }
  const wanted: string[] = [];
  for (let at = 0; at < args.length; at += 2) {
    const [name, target = ""] = args.slice(at, at + 2);
    if (name !== "--target" || !targets.includes(target)) {
      console.error(`Cannot compile with ${args.slice(at, at + 2).join(" ")}: see deno task compile --help`);
      return 2;
    }
    wanted.push(target);
  }
  const folder = await Deno.makeTempDir({ prefix: "troupe-bundle-" });
  try {
    await makeBundle(folder);
    await Deno.mkdir(`${project}/dist`, { recursive: true });
    if (wanted.length === 0) await makeOne(folder, Deno.build.target, `${project}/dist/troupe`);
    for (const target of wanted) await makeOne(folder, target, `${project}/dist/troupe-${target}`);
    return 0;
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(error.message);
    return error.exit;
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
}

async function makeOne(folder: string, target: string, path: string): Promise<void> {
  const output = target.includes("windows") ? `${path}.exe` : path;
  const flags = [...programFlags, ...namedFlags, "--target", target];
  await compileBundle({ folder, output, flags });
  if (target === Deno.build.target) await refuseForeign(output);
  const { size } = await Deno.stat(output);
  console.log(
    `Wrote ${output.slice(project.length + 1)}, ${Math.round(size / 1_048_576)} MiB, for ${target}`,
  );
}

/** A base that is no denort, say the `deno` command itself, makes a program that is not ours. */
async function refuseForeign(output: string): Promise<void> {
  const { code, out, err } = await runProcess({ command: output, args: ["--version"], cwd: project });
  if (code === 0 && out.startsWith(`troupe ${version} `)) return;
  await Deno.remove(output);
  const shown = (out + err).trim().split("\n")[0] ?? "";
  const base = Deno.env.get("DENORT_BIN") ?? "the one in DENO_DIR";
  throw new BuildError(
    `${noBase}; the base that was used, ${base}, is no denort of it: its program says "${shown}"`,
    3,
  );
}

Deno.exit(await main(Deno.args));
