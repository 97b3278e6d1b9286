/** Computes the hash of `actors/`, `schemas/` and the pinned XState, and writes it where the kernel finds it (K21). */

/** The folders whose bytes decide how a machine behaves. */
const folders = ["actors", "schemas"];

async function listFiles(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) files.push(...await listFiles(path));
    else if (path.endsWith(".ts")) files.push(path);
  }
  return files.sort();
}

/** The hash over names and bytes of every file, and the version of XState. `root` is the project's folder. */
export async function computeMachineCode(root: string): Promise<string> {
  const files = (await Promise.all(folders.map((folder) => listFiles(`${root}/${folder}`)))).flat();
  const parts: string[] = [];
  for (const file of files) parts.push(`${file.slice(root.length + 1)}\n${await Deno.readTextFile(file)}`);
  const config = JSON.parse(await Deno.readTextFile(`${root}/deno.json`));
  parts.push(String(config.imports.xstate), String(config.imports.zod));
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(parts.join("\n")));
  return `sha256:${[...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** The text of `src/machine_code.ts` for a hash. */
export function machineCodeFile(hash: string): string {
  return `/** Hash of the code that machines are made of (K21). Written by \`deno task code\`; a test keeps it true. */
export const machineCode = "${hash}";
`;
}

if (import.meta.main) {
  const root = new URL("..", import.meta.url).pathname.replace(/\/$/, "");
  await Deno.writeTextFile(`${root}/src/machine_code.ts`, machineCodeFile(await computeMachineCode(root)));
}
