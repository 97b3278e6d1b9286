/** How a command ended, as a result: text for the model, facts for programs, and an error if it did not end well. */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { ToolContent, ToolResultEnvelope } from "../../schemas/tool.ts";
import type { CommandEnd } from "../processes/command_run.ts";
import type { Captured } from "./capture.ts";

/** What a result is made of. */
export interface CommandFacts {
  readonly end: CommandEnd;
  readonly stdout: Captured;
  readonly stderr: Captured;
  /** How long it might have run. Milliseconds. */
  readonly timeoutMs: number;
  /** How long it might write nothing. Milliseconds. */
  readonly idleMs?: number | undefined;
}

/** The state of a command run, as records name it (CM-118). */
export function stateOf({ end, stdout, stderr }: CommandFacts): string {
  if (stdout.hasFailed || stderr.hasFailed) return "failed";
  switch (end.reason) {
    case "exited":
      return end.code === 0 ? "completed" : "failed";
    case "canceled":
      return "canceled";
    case "interrupted":
      return "interrupted";
    case "timed_out":
    case "stalled":
    case "output_lost":
      return "failed";
  }
}

/** The result. A command that did not end well by itself, or whose output could not be kept, says no (DM-90, DM-103). */
export function commandEnvelope(facts: CommandFacts): ToolResultEnvelope {
  const problem = problemOf(facts);
  const { end, stdout, stderr } = facts;
  const texts = [headOf(facts), ...shown("stdout", stdout), ...shown("stderr", stderr)];
  const content: ToolContent[] = [
    ...(problem === undefined ? [] : [{ type: "error" as const, failure: problem }]),
    { type: "text", text: texts.join("\n") },
    { type: "structured", value: valueOf(end, stdout, stderr) },
  ];
  return { ok: problem === undefined, content, isError: problem !== undefined, attachments: [] };
}

/** How it ended, in a few words. */
export function headOf({ end: { code, signal, leftBehind } }: CommandFacts): string {
  const how = code === null ? `ended by ${signal ?? "nobody knows what"}` : `exit code ${code}`;
  return leftBehind === 0 ? how : `${how}; ${leftBehind} processes that it left running were ended`;
}

function shown(name: string, { tail, isTruncated, characters, artifact }: Captured): readonly string[] {
  if (tail === "" && !isTruncated) return [];
  const whole = artifact === undefined
    ? ""
    : `; the operator has the whole as ${artifact.root}/${artifact.path}`;
  const note = isTruncated ? ` (the last ${tail.length} of ${characters} characters${whole})` : "";
  return [`${name}:${note}`, tail.replace(/\n$/, "")];
}

/** How it ended, as data. */
export function valueOf(
  { code, signal, reason, durationMs }: CommandEnd,
  stdout: Captured,
  stderr: Captured,
): JsonObject {
  return {
    exit_code: code,
    signal,
    ended: reason,
    duration_ms: durationMs,
    stdout: totalsOf(stdout),
    stderr: totalsOf(stderr),
  };
}

/** Totals of one output, and where the whole of it is (DM-99, DM-102). */
export function totalsOf({ bytes, characters, isTruncated, artifact }: Captured): JsonObject {
  return {
    bytes,
    characters,
    truncated: isTruncated,
    ...(artifact === undefined ? {} : {
      artifact: {
        root: artifact.root,
        path: artifact.path,
        bytes: artifact.bytes,
        ...(artifact.isCut ? { cut: true } : {}),
      },
    }),
  };
}

/** Why a command did not end well; undefined if it did. */
export function problemOf({ end, stdout, stderr, timeoutMs, idleMs = 0 }: CommandFacts): Failure | undefined {
  if (stdout.hasFailed || stderr.hasFailed) {
    return failure(
      "artifact_failed",
      "The command was ended since its output could not be kept: make room beside the store, then look at what it did",
    );
  }
  switch (end.reason) {
    case "exited":
      if (end.code === 0) return undefined;
      return failure(
        "command_failed",
        `The command ${end.code === null ? `was ended by ${end.signal}` : "failed"}`,
      );
    case "timed_out":
      return failure("command_timed_out", `The command was ended, as it took longer than ${timeoutMs} ms`);
    case "stalled":
      return failure("command_timed_out", `The command was ended, as it wrote nothing for ${idleMs} ms`);
    case "canceled":
      return failure("command_canceled", "The command was ended, as its call was canceled");
    case "interrupted":
      return failure("command_interrupted", "The command was ended, as the runtime stopped");
    case "output_lost":
      return failure(
        "command_output_lost",
        "The command was ended, as its output could not be read any more",
      );
  }
}
