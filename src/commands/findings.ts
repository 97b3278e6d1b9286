/** What was found about one command: each rule once, the worst verdict of all. */
import {
  blockingRules,
  type CommandFinding,
  type CommandReview,
  type CommandRule,
  type CommandVerdict,
} from "../../schemas/command_review.ts";
import { limits } from "../../schemas/limits.ts";

const whyCharactersMax = 300;
const quotedCharactersMax = 60;

const blocking: ReadonlySet<CommandRule> = new Set(blockingRules);

const risks = { allow: "low", prompt: "high", block: "critical" } as const;

/** Collects findings. */
export class Findings {
  readonly #found = new Map<CommandRule, CommandFinding>();

  /** Notes a rule that a command meets, and why in one clause. The first reason of each rule is kept. */
  add(rule: CommandRule, why: string): void {
    if (this.#found.has(rule)) return;
    const verdict = blocking.has(rule) ? "block" : "prompt";
    this.#found.set(rule, { rule, verdict, why: why.slice(0, whyCharactersMax) });
  }

  /** The review: the worst reasons first. */
  review(identity: string): CommandReview {
    const all = [...this.#found.values()];
    const sorted = [
      ...all.filter(({ verdict }) => verdict === "block"),
      ...all.filter(({ verdict }) => verdict === "prompt"),
    ];
    const verdict: CommandVerdict = sorted[0]?.verdict ?? "allow";
    return {
      verdict,
      risk: risks[verdict],
      findings: sorted.slice(0, limits.commandFindingsMax),
      identity,
    };
  }
}

/** A piece of a command for people: one line, short, in quotes. */
export function shown(text: string): string {
  const line = [...text.slice(0, quotedCharactersMax + 1)]
    .map((one) => /[\p{C}\p{Z}]/u.test(one) && one !== " " ? "?" : one).join("");
  return line.length > quotedCharactersMax ? `"${line.slice(0, quotedCharactersMax)}…"` : `"${line}"`;
}
