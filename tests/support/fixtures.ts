/** Alters fixtures as somebody does who knows the format: what was changed is sealed anew. */
import type { Json } from "../../schemas/json.ts";
import { sealOf } from "../../src/export/export_format.ts";
import { FixtureManifest, manifestSeal } from "../../src/fixture/fixture_format.ts";
import { digestNow } from "./world.ts";

/** The digest of these tests, as the seams give it. */
export function digestOf(bytes: Uint8Array): Promise<string> {
  return Promise.resolve(digestNow(bytes));
}

/** A line of a journal that a test changes; undefined leaves it out. */
export type Change = (entry: { readonly [key: string]: Json }) => object | undefined;

/** Changes lines of one stream's file, and seals file and manifest anew. */
export async function alterFixture(folder: string, file: string, change: Change): Promise<void> {
  const path = `${folder}/${file}`;
  const lines = (await Deno.readTextFile(path)).trimEnd().split("\n")
    .map((line) => JSON.parse(line)).filter((line) => !("seal" in line));
  const changed = lines.flatMap((line) => change(line) ?? []);
  const entries = changed.filter((line) => "seq" in line).length;
  await Deno.writeTextFile(path, await sealed(changed, { entries, blobs: 0 }));
  await renewManifest(folder, async (manifest) => {
    const digest = await digestOf(await Deno.readFile(path));
    const roots = manifest.roots.map((root) => root.file === file ? { ...root, digest, entries } : root);
    return { ...manifest, roots };
  });
}

/** Changes the manifest, and seals it anew. */
export async function renewManifest(
  folder: string,
  change: (manifest: FixtureManifest) => FixtureManifest | Promise<FixtureManifest>,
): Promise<void> {
  const path = `${folder}/manifest.json`;
  const manifest = await change(FixtureManifest.parse(JSON.parse(await Deno.readTextFile(path))));
  const seal = await manifestSeal(manifest, digestOf);
  await Deno.writeTextFile(path, JSON.stringify({ ...manifest, seal }));
}

async function sealed(lines: readonly object[], end: { entries: number; blobs: number }): Promise<string> {
  let seal = `sha256:${"0".repeat(64)}`;
  let text = "";
  for (let at = 0; at < lines.length; at += 64) {
    const texts = lines.slice(at, at + 64).map((line) => JSON.stringify(line));
    const isLast = at + 64 >= lines.length;
    seal = await sealOf(seal, isLast ? [...texts, JSON.stringify(end)] : texts, digestOf);
    text += `${texts.join("\n")}\n`;
    text += `${JSON.stringify({ seal, lines: texts.length, ...(isLast ? { end } : {}) })}\n`;
  }
  return text;
}
