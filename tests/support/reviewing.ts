/** Reviews of commands in a workspace that exists only in their text, unless one is given. */
import type { CommandReview } from "../../schemas/command_review.ts";
import { type CommandGround, type CommandRequest, reviewCommand } from "../../src/commands/review.ts";
import { createSystemSeams } from "../../src/system_seams.ts";

const { digest } = createSystemSeams({ log: () => {} });

/** Where commands are reviewed. */
export const ground: CommandGround = { workspace: "/work-place/ws", home: "/home/ann", digest };

/** Reviews one command. */
export function review(
  command: Pick<CommandRequest, "argv" | "shell"> & Partial<CommandRequest>,
  at: CommandGround = ground,
): Promise<CommandReview> {
  return reviewCommand({ cwd: at.workspace, env: {}, timeoutMs: 30_000, ...command }, at);
}

/** Reviews a text for a shell. */
export function reviewText(shell: string, at: CommandGround = ground): Promise<CommandReview> {
  return review({ shell }, at);
}

/** A list of arguments as a shell would have to be given it, so that none of it means anything to it. */
export function quoted(argv: readonly string[]): string {
  return argv.map((one) => `'${one.replaceAll("'", `'\\''`)}'`).join(" ");
}
