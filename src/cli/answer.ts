/** `troupe answer`. */
import { Decision } from "../../schemas/question.ts";
import { localOperator } from "../../schemas/principal.ts";
import { defineCommand, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { locateStore, openOwnersDoor } from "./host.ts";

/** Answers an open question. */
export const command = defineCommand({
  args: ["QUESTION", "DECISION"],
  about: [
    "Answers a question of the process that runs the store. QUESTION is its id, as troupe questions shows it.",
    "DECISION is one of those that the question offers: allow, deny or always_allow_for_session for an approval;",
    "run_again, mark_applied, mark_not_applied or abandon for a call that may have happened.",
    "The answer is recorded with you as its principal.",
  ],
  options: {
    store: storeOption,
    note: { kind: "text", value: "TEXT", help: "why, for the journal" },
  },
  examples: [
    "troupe answer session/ses_01JZ0000000000000000000000#12.1 allow",
    'troupe answer ID deny --note "not now"',
  ],
  run: async ({ cli, options, args }) => {
    const [id = "", given] = args;
    const decision = Decision.safeParse(given);
    if (!decision.success) {
      throw new UsageError(
        "argument_invalid",
        `There is no decision "${given}": use ${Decision.options.join(", ")}`,
      );
    }
    const host = await openOwnersDoor(cli, await locateStore(cli, options.store));
    try {
      const question = (await host.listQuestions()).find((one) => one.id === id);
      if (question === undefined) {
        throw new UsageError("question_not_found", `No question "${id}" is open: see troupe questions`);
      }
      const { note } = options;
      const answer = { decision: decision.data, by: localOperator, shown: question.shown };
      await host.answer(id, note === undefined ? answer : { ...answer, note });
      cli.terminal.out.line(`Answered ${id}: ${decision.data}`);
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});
