/** `write_file`: makes a text file of the workspace, or replaces one as a whole (DM-16). */
import { z } from "zod";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { accept, refuse, shown } from "./path.ts";
import { type BuiltinTool, defineTool, errorEnvelope, textEnvelope } from "./tool.ts";

const input = z.strictObject({
  path: z.string().min(1).max(limits.pathCharactersMax)
    .describe("Path of the file, relative to the workspace, for example notes/plan.md"),
  content: z.string().describe("The whole new text of the file"),
  mode: z.enum(["any", "create", "replace"]).default("any")
    .describe("create: only if there is no such file; replace: only if there is one"),
});

/** Writes a file as a whole or not at all, and makes the folders on the way to it. A person is asked first. */
export const writeFile: BuiltinTool = defineTool({
  name: "write_file",
  title: "Write file",
  description:
    "Writes a text file of the workspace as a whole, and makes folders on the way. To change a part, use patch.",
  resource: { kind: "file", scope: "workspace" },
  capability: "fs.write",
  parallelSafe: false,
  reach: { riskLevel: "medium", effectClass: "non_idempotent", approvalPolicy: "prompt" },
  inputSchema: input,
  run: async ({ path, content, mode }, { cwd }) => {
    const written = await cwd.changeText(path, (before) => {
      if (before !== undefined && mode === "create") {
        return refuse(
          failure("file_not_written", `Cannot create ${shown(path)}: there is one; use mode replace`),
        );
      }
      if (before === undefined && mode === "replace") {
        return refuse(
          failure("path_not_found", `Cannot replace ${shown(path)}: there is no such file; use mode create`),
        );
      }
      return accept(content);
    });
    if (!written.ok) return errorEnvelope(written.failure);
    const { isNew, bytes } = written.value;
    return textEnvelope(`${isNew ? "Created" : "Replaced"} ${shown(path)}: ${bytes} bytes`);
  },
});
