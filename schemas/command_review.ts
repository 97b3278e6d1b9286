/** What was found about a command before anybody is asked and anything is started (DM-91..95). */
import { z } from "zod";
import { Digest } from "./ids.ts";
import { limits } from "./limits.ts";

/** What a command needs: nothing, a person, or it is never run. In rising strictness. */
export const CommandVerdict = z.enum(["allow", "prompt", "block"]);
/** What a command needs. */
export type CommandVerdict = z.infer<typeof CommandVerdict>;

/** Why a command is never run, whoever asks (DM-92). */
export const blockingRules = [
  "recursive-delete",
  "filesystem-format",
  "block-device-write",
  "shutdown",
  "fork-bomb",
  "kill-all",
  "sudo-password",
  "command-unreadable",
  "command-too-complex",
] as const;

/** Why a command needs a person (DM-93), or is never run. */
export const CommandRule = z.enum([
  "command-substitution",
  "process-substitution",
  "shell-expansion",
  "filename-expansion",
  "shell-redirection",
  "complex-shell",
  "pipeline",
  "project-code-execution",
  "cwd-change",
  "file-delete",
  "file-write",
  "path-outside-workspace",
  "sensitive-path",
  "unknown-command",
  "empty-command",
  "environment-overlay",
  "network-access",
  ...blockingRules,
]);
/** Why a command needs a person, or is never run. */
export type CommandRule = z.infer<typeof CommandRule>;

/** One reason. `why` is one clause for people; it may show a piece of the command. */
export const CommandFinding = z.strictObject({
  rule: CommandRule,
  verdict: CommandVerdict.exclude(["allow"]),
  why: z.string().max(300),
});
/** One reason. */
export type CommandFinding = z.infer<typeof CommandFinding>;

/** What a command needs, and all reasons, each rule once. */
export const CommandReview = z.strictObject({
  verdict: CommandVerdict,
  /** `low` if allowed, `high` if a person is asked, `critical` if blocked. */
  risk: z.enum(["low", "high", "critical"]),
  findings: z.array(CommandFinding).max(limits.commandFindingsMax),
  /** Hash of command, working folder, environment and options: an approval of one is none of another (DM-95). */
  identity: Digest,
});
/** What a command needs, and why. */
export type CommandReview = z.infer<typeof CommandReview>;
