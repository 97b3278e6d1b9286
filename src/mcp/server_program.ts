/** Which program is started for a server that is a process, with which arguments and in which environment. */
import type { Failure } from "../../schemas/failure.ts";
import type { McpDeclaration, StdioManifest } from "../../schemas/manifest.ts";
import { baseEnvironment } from "./child_environment.ts";
import { denoProgram, npmProgram } from "./npm_program.ts";
import type { ReadVariable } from "./variables.ts";

/** How the program that is running is started once more. */
export interface OwnProgram {
  readonly command: string;
  /** Arguments that come before those of the manifest. */
  readonly args: readonly string[];
  /** Variables that it needs in order to start. */
  readonly env: { readonly [name: string]: string };
}

/** What a program is made of besides its manifest. */
export interface ProgramParts {
  /** The server's home. */
  readonly home: string;
  /** The manifest's variables, with what they stand for. */
  readonly values: { readonly [name: string]: string };
  readonly env: ReadVariable;
  readonly self: OwnProgram;
}

/** The program of a server; a failure if what it needs is not there. */
export function programOf(
  { paths = { read: [], write: [] } }: McpDeclaration,
  { command = "", args, run }: StdioManifest,
  { home, values, env, self }: ProgramParts,
): OwnProgram | Failure {
  const base = baseEnvironment(env, home);
  if (run !== undefined) {
    const deno = denoProgram(env);
    if ("code" in deno) return deno;
    const program = npmProgram(run, paths, deno);
    return { ...program, env: { ...base, ...values, ...program.env } };
  }
  if (command !== "troupe") return { command, args, env: { ...base, ...values } };
  return {
    command: self.command,
    args: [...self.args, ...args],
    env: { ...base, ...self.env, ...values },
  };
}
