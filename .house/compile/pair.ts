/**
 * A Deno and a base of one version that npm has, so that a real program can be made where Deno's download server is not
 * reachable. The base comes inside a third party's program (MIT): it serves this check, never a release.
 */
import { BuildError } from "./program.ts";
import { runProcess } from "./process.ts";

/** Deno and base; nothing newer than this version may be used on the way that the smoke takes. */
export interface Pair {
  readonly deno: string;
  readonly base: string;
}

/** What npm is asked for, and the sum of what must come: SHA-256 of the executable. */
const packages = {
  deno: {
    name: "@deno/linux-x64-glibc@2.7.11",
    file: "@deno/linux-x64-glibc/deno",
    sum: "e518fbc96877fbc2b37820ec54a02e473166cb25a5d4d627ffde37360fd7d210",
  },
  base: {
    name: "@stdy/cli-linux-x64@0.22.2",
    file: "@stdy/cli-linux-x64/bin/steady",
    sum: "9716bb192746f093b86a280c5e30f87b5461fcefde4c275648357273b468bc8b",
  },
} as const;

/** Installs the pair outside the project, once. Undefined on a machine that it is not made for. */
export async function installPair(): Promise<Pair | undefined> {
  if (Deno.build.target !== "x86_64-unknown-linux-gnu") return undefined;
  const home = Deno.env.get("HOME") ?? Deno.env.get("TMPDIR") ?? "/tmp";
  const folder = `${home}/.cache/troupe-compile-pair`;
  if (!await isInstalled(folder)) {
    await Deno.mkdir(folder, { recursive: true });
    const args = ["install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    const names = Object.values(packages).map(({ name }) => name);
    const ended = await runProcess({ command: "npm", args: [...args, ...names], cwd: folder });
    if (!await isInstalled(folder)) {
      throw new BuildError(`Cannot install ${names.join(" and ")}:\n${ended.err.trim()}`, 3);
    }
  }
  for (const { file, name, sum } of Object.values(packages)) {
    const found = await sumOf(pathOf(folder, file));
    if (found !== sum) {
      throw new BuildError(`${name} in ${folder} is not what it was: SHA-256 ${found}, not ${sum}`);
    }
  }
  return { deno: pathOf(folder, packages.deno.file), base: pathOf(folder, packages.base.file) };
}

function pathOf(folder: string, file: string): string {
  return `${folder}/node_modules/${file}`;
}

async function isInstalled(folder: string): Promise<boolean> {
  for (const { file } of Object.values(packages)) {
    const info = await Deno.stat(pathOf(folder, file)).catch(() => undefined);
    if (info?.isFile !== true) return false;
  }
  return true;
}

async function sumOf(path: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(path));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
