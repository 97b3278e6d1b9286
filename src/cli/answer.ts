/** `troupe answer`. */
import { Decision, decisionWords } from "../../schemas/question.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { GivenAnswer, OpenQuestion } from "../effects/question_ask.ts";
import { type Typed, valueOf } from "./ask_form.ts";
import { defineCommand, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { locateStore, openOwnersDoor } from "./host.ts";

/** Answers an open question. */
export const command = defineCommand({
  args: ["QUESTION", "DECISION", "[FIELD=VALUE...]"],
  about: [
    "Answers a question of the process that runs the store. QUESTION is its id, as troupe questions shows it.",
    "DECISION is one of those that the question offers: allow, deny or always (always_allow_for_session) for an",
    "approval; run_again, mark_applied, mark_not_applied or abandon for a call that may have happened: these four",
    "need --note, which says how you know.",
    "What a server or the agent asks is answered by accept, decline or cancel. The fields follow accept: FIELD=VALUE",
    "each, or one JSON object; defaults stand for fields that are left out. What does not fit is refused, and the",
    "question stays open.",
    "If troupe questions shows a part only, read all of it with troupe questions QUESTION, and say its hash with --shown.",
    "The answer is recorded with you as its principal. The first answer counts.",
  ],
  options: {
    store: storeOption,
    shown: { kind: "text", value: "HASH", help: "the hash of what you read, or its first 12 digits" },
    note: { kind: "text", value: "TEXT", help: "why, for the journal" },
  },
  examples: [
    "troupe answer session/ses_01JZ0000000000000000000000#12.1 allow",
    'troupe answer ID deny --note "not now"',
    'troupe answer ID mark_applied --note "it is on the bill"',
    "troupe answer ID allow --shown sha256:3f1c9a77e0d2",
    "troupe answer ID accept name=Ada role=admin",
    'troupe answer ID accept \'{"name": "Ada", "days": 3}\'',
  ],
  run: async ({ cli, options, args }) => {
    const [id = "", given, ...values] = args;
    const decision = Decision.safeParse(decisionWords[given ?? ""] ?? given);
    if (!decision.success) {
      const words = [...Decision.options, ...Object.keys(decisionWords)].join(", ");
      throw new UsageError("argument_invalid", `There is no decision "${given}": use ${words}`);
    }
    const host = await openOwnersDoor(cli, await locateStore(cli, options.store));
    try {
      const question = (await host.listQuestions()).find((one) => one.id === id);
      const { note, shown } = options;
      const content = values.length === 0 ? {} : { content: contentOf(question, values) };
      const answer: GivenAnswer = { decision: decision.data, by: localOperator, note, ...content };
      // One that is not open any more is told about: who answered it, or why nobody can.
      await host.answer(
        id,
        question === undefined ? answer : { ...answer, shown: hashOf(question, answer, shown) },
      );
      cli.terminal.out.line(`Answered ${id}: ${decision.data}`);
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

/** What was filled in: one JSON object, or a value for each field, read as its field says. */
function contentOf(question: OpenQuestion | undefined, values: readonly string[]): Typed {
  const [first = ""] = values;
  if (first.startsWith("{")) {
    const json = parsedObject(first);
    if (json !== undefined && values.length === 1) return json;
    throw new UsageError(
      "argument_invalid",
      "The fields are no JSON object: write FIELD=VALUE, or one JSON object",
    );
  }
  const fields = new Map(question?.subject.elicitation?.fields?.map((field) => [field.name, field]));
  return Object.fromEntries(values.map((text) => {
    const cut = text.indexOf("=");
    if (cut < 1) {
      throw new UsageError("argument_invalid", `There is no value in "${text}": write FIELD=VALUE`);
    }
    const [name, value] = [text.slice(0, cut), text.slice(cut + 1)];
    const field = fields.get(name);
    return [name, field === undefined ? value : valueOf(field, value)];
  }));
}

function parsedObject(text: string): Typed | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Typed : undefined;
  } catch {
    return undefined;
  }
}

/** Decisions after which something may be done: whoever gives one must have seen all of it (B18). */
const granting: ReadonlySet<Decision> = new Set(["allow", "always_allow_for_session", "run_again"]);

/** The hash of what was shown. What was shown in part must be named by who read it all. */
function hashOf(
  { id, whole, shown }: OpenQuestion,
  { decision }: GivenAnswer,
  named: string | undefined,
): string {
  if (named !== undefined) return isNamed(shown, named) ? shown : named;
  if (whole === undefined || !granting.has(decision)) return shown;
  throw new UsageError(
    "question_unread",
    `It asks about ${whole.length} characters, of which a part is shown: read troupe questions ${id}, then add --shown HASH`,
  );
}

/** True if a hash, or its beginning of at least 12 digits, names what was shown. */
function isNamed(shown: string, named: string): boolean {
  const [digits, wanted] = [shown, named].map((hash) => hash.replace(/^sha256:/, ""));
  return digits !== undefined && wanted !== undefined && wanted.length >= 12 && digits.startsWith(wanted);
}
