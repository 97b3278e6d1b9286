/** `list_files`: what is in a folder of the workspace. */
import { z } from "zod";
import { limits } from "../../schemas/limits.ts";
import { type BuiltinTool, defineTool, errorEnvelope, textEnvelope } from "./tool.ts";
import { visible } from "./visible.ts";
import { walk, type WalkEntry } from "./walk.ts";

const input = z.strictObject({
  path: z.string().max(limits.pathCharactersMax).default(".")
    .describe("Path of the folder, relative to the workspace; without it, the workspace itself"),
  depth: z.int().min(1).max(16).default(1).describe("Levels to list: 1 is the folder itself"),
});

const ends: { readonly [K in WalkEntry["kind"]]: string } = {
  file: "",
  folder: "/",
  link: " (link)",
  other: " (device, pipe or socket)",
};

/** Lists a folder of the workspace, sorted, at most 500 names (DM-16). */
export const listFiles: BuiltinTool = defineTool({
  name: "list_files",
  title: "List files",
  description:
    "Lists a folder of the workspace, one path a line, folders with a slash. Does not look into .git and node_modules.",
  resource: { kind: "file", scope: "workspace" },
  capability: "fs.read",
  parallelSafe: true,
  inputSchema: input,
  run: async ({ path, depth }, use) => {
    const options = { depthMax: depth, entriesMax: limits.listEntriesMax, signal: use.signal };
    const walked = await walk(use.cwd, path, options);
    if (!walked.ok) return errorEnvelope(walked.failure);
    const { entries, cut } = walked.value;
    if (entries.length === 0) return textEnvelope("[the folder is empty]");
    const lines = entries.map((entry) => visible(entry.path) + ends[entry.kind]);
    if (cut) {
      lines.push(`[cut: ${entries.length} names shown, there are more; list a folder below, or less depth]`);
    }
    return textEnvelope(lines.join("\n"));
  },
});
