/**
 * Reviews a command before anybody is asked about it and anything is started (DM-91..95). It can only make things
 * stricter: what it lets pass still meets every gate.
 */
import { Digest } from "../../schemas/ids.ts";
import type { CommandReview } from "../../schemas/command_review.ts";
import { limits } from "../../schemas/limits.ts";
import { exactly } from "./field.ts";
import { Findings } from "./findings.ts";
import { CommandJudge } from "./judge.ts";
import { Places } from "./place.ts";
import type { CommandGround, CommandRequest } from "./request.ts";
import { walkShell } from "./shell_tree.ts";
import { variantsOf, variantsOfAll } from "./variants.ts";

export type { CommandGround, CommandRequest } from "./request.ts";

/** The review of a command: as it is, and in every form in which a reader may take it; the worst counts. */
export async function reviewCommand(request: CommandRequest, ground: CommandGround): Promise<CommandReview> {
  const findings = new Findings();
  const places = new Places(request, ground);
  reviewEnvironment(request, findings, places);
  if (request.argv !== undefined) reviewArguments(request.argv, findings, places);
  else reviewText(request.shell ?? "", findings, places);
  return findings.review(await identityOf(request, ground));
}

function reviewEnvironment({ env }: CommandRequest, findings: Findings, places: Places): void {
  const names = Object.keys(env);
  if (names.length === 0) return;
  findings.add("environment-overlay", `sets variables: ${names.slice(0, 5).join(", ").slice(0, 200)}`);
  const judge = new CommandJudge(places, findings);
  for (const name of names) judge.variable(name);
}

function reviewArguments(argv: readonly string[], findings: Findings, places: Places): void {
  if (argv.length === 0 || argv[0]?.trim() === "") {
    return findings.add("empty-command", "no program is named");
  }
  if (argv.length > limits.commandArgumentsMax) {
    return findings.add("command-too-complex", `more than ${limits.commandArgumentsMax} arguments`);
  }
  if (argv.some((one) => one.includes("\u0000"))) {
    return findings.add("command-unreadable", "an argument has a NUL");
  }
  const isLong = argv.some((one) => new TextEncoder().encode(one).length > limits.commandArgumentBytesMax);
  if (isLong) {
    return findings.add(
      "command-too-complex",
      `an argument has more than ${limits.commandArgumentBytesMax} bytes`,
    );
  }
  for (const texts of variantsOfAll(argv)) {
    new CommandJudge(places, findings).step({
      words: texts.map(exactly),
      input: undefined,
      isFed: false,
      depth: 0,
    });
  }
}

function reviewText(text: string, findings: Findings, places: Places): void {
  if (text.includes("\u0000")) return findings.add("command-unreadable", "the text has a NUL");
  for (const variant of variantsOf(text)) {
    const judge = new CommandJudge(places, findings);
    walkShell(variant, judge, 0);
    if (judge.isIdle) findings.add("empty-command", "the text holds no command");
  }
}

/** Two commands that differ in anything that decides what happens have two identities. */
async function identityOf(
  { argv, shell, cwd, env, timeoutMs, background }: CommandRequest,
  { digest }: CommandGround,
): Promise<Digest> {
  const sorted = Object.entries(env).sort(([left], [right]) => left < right ? -1 : left > right ? 1 : 0);
  const how = background === undefined ? [] : [background.detached, background.idleMs ?? null];
  const text = JSON.stringify(["command", argv ?? null, shell ?? null, cwd, sorted, timeoutMs, ...how]);
  return Digest.parse(await digest(new TextEncoder().encode(text)));
}
