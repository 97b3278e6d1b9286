/** Manifests in an agent's folder: where one is, and how a new one gets there. */
import { ServerId } from "../../../schemas/ids.ts";
import { readManifest } from "../../host/read_manifest.ts";
import { stringifyYaml } from "../../yaml/write.ts";
import { UsageError } from "../exit.ts";

/** The manifest of a server, from the folder on; undefined if there is none. */
export async function findManifest(folder: string, server: string): Promise<string | undefined> {
  if (!ServerId.safeParse(server).success) return undefined;
  for (const file of [`mcp/${server}.yaml`, `mcp/${server}.yml`]) {
    try {
      if (!(await Deno.stat(`${folder}/${file}`)).isDirectory) return file;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return undefined;
}

/** A manifest to be written. */
export interface NewManifest {
  readonly folder: string;
  readonly server: string;
  /** As it stands in the file. */
  readonly fields: object;
  /** True if one that is there may be replaced. */
  readonly force: boolean;
}

/** Writes a manifest once it is checked as every reader of it checks it. Returns where, from the folder on. */
export async function writeManifest({ folder, server, fields, force }: NewManifest): Promise<string> {
  const id = ServerId.safeParse(server);
  if (!id.success) {
    throw new UsageError(
      "argument_invalid",
      `Cannot call a server ${JSON.stringify(server)}: ${
        id.error.issues[0]?.message ?? "choose another name"
      }`,
    );
  }
  const there = await findManifest(folder, server);
  if (there !== undefined && !force) {
    throw new UsageError("file_exists", `${there} is there already: --force replaces it`);
  }
  const file = there ?? `mcp/${server}.yaml`;
  const text = stringifyYaml(fields);
  await readManifest(text, file);
  await Deno.mkdir(`${folder}/mcp`, { recursive: true });
  // Beside its place first: whoever reads it meanwhile finds the old one or the new one.
  const draft = `${folder}/${file}.part`;
  await Deno.writeTextFile(draft, text);
  await Deno.rename(draft, `${folder}/${file}`);
  return file;
}
