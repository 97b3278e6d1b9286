/** `terminal`: runs one command in the workspace. What it does is in `src/effects/terminal_call.ts`, behind its gates. */
import { z } from "zod";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { SecretName } from "../../schemas/secret.ts";
import { ToolDefinition } from "../../schemas/tool.ts";
import { type BuiltinTool, errorEnvelope, jsonSchemaOf } from "./tool.ts";

const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be the name of a variable");

const secret = z.strictObject({
  variable: variableName.describe("Variable in which the command finds it"),
  source: z.string().max(68).regex(/^(?:env:)?[A-Za-z_][A-Za-z0-9_]{0,63}$/, "must be env:NAME or NAME")
    .describe("env:NAME, or the name of one of the host's secrets; never the secret itself"),
  expires_s: z.int().min(1).max(limits.commandMsMax / 1_000).optional()
    .describe("Seconds after which the command is ended; not more than its time"),
});

/** What can be asked of {@linkcode terminal}. */
export const terminalInput = z.strictObject({
  argv: z.array(z.string()).min(1).max(limits.commandArgumentsMax).optional()
    .describe("Program and arguments, as they are: no shell looks at them"),
  shell: z.string().min(1).max(limits.commandTextCharactersMax).optional()
    .describe("Text for bash, in place of argv, where pipes or the like are needed"),
  cwd: z.string().max(limits.pathCharactersMax).default(".")
    .describe("Folder to run it in, relative to the workspace"),
  env: z.record(z.string().max(128), z.string().max(limits.commandTextCharactersMax)).optional()
    .describe("Variables to set besides; only those that the host allows"),
  timeout_ms: z.int().min(1).max(limits.backgroundMsMax).optional().describe(
    `Milliseconds after which it is ended, with exit code 124: ${limits.commandMsDefault} unless you say otherwise, at ` +
      `most ${limits.commandMsMax}; in the background ${limits.backgroundMsDefault}, at most ${limits.backgroundMsMax}`,
  ),
  background: z.boolean().default(false)
    .describe("Answer at once with the id of a task, which goes on beside this turn. Takes no secrets"),
  detached: z.boolean().default(false)
    .describe("For the background: nobody waits for its end; only where the runtime goes on after this turn"),
  idle_timeout_ms: z.int().min(1).max(limits.backgroundMsMax).optional()
    .describe("For the background: milliseconds without output after which it is ended, with exit code 124"),
  secrets: z.array(secret).max(limits.commandSecretsMax).optional()
    .describe("Secrets that it is given in variables"),
});
/** What can be asked of {@linkcode terminal}. */
export type TerminalInput = z.output<typeof terminalInput>;

/** A secret that a command is to be given: by name, and until when. */
export type SecretBinding = z.output<typeof secret>;

/** Name of a secret of a binding, and whether our environment alone is meant. */
export function bindingSource({ source }: SecretBinding): {
  readonly name: string;
  readonly isVariable: boolean;
} {
  const isVariable = source.startsWith("env:");
  return { name: SecretName.parse(isVariable ? source.slice("env:".length) : source), isVariable };
}

/** Runs a command. A person is asked first, unless the review of the command finds nothing to ask about (DM-16). */
export const terminal: BuiltinTool = {
  definition: ToolDefinition.parse({
    name: "terminal",
    title: "Run a command",
    description:
      "Runs a command in the workspace and waits for its end. Give argv: program and arguments, one string each. Its " +
      "output, exit code and signal come back; what it leaves running is ended with it. What takes long can run in the " +
      "background: look at it with task_status, wait for it with yield_until, end it with task_control.",
    version: "1",
    inputSchema: jsonSchemaOf(terminalInput),
    riskLevel: "high",
    sideEffects: true,
    resources: [{ kind: "process", scope: "workspace" }],
    timeoutMs: limits.commandMsMax + limits.commandEndingMs,
    outputPolicy: {},
    effectClass: "non_idempotent",
    capability: "terminal.exec",
    approvalPolicy: "prompt",
    review: "command",
    parallelSafe: false,
  }),
  inputSchema: terminalInput,
  // The gates of a call are its own: no other tool runs a command in its name.
  handler: () =>
    Promise.resolve(errorEnvelope(failure("tool_failed", "A command is run by a call of its own only"))),
};
