/** `troupe questions`. */
import { offeredBy } from "../../schemas/question.ts";
import { describeQuestion } from "./ask.ts";
import { defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { locateStore, openOwnersDoor } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { timeText } from "./table.ts";

/** Lists open questions. */
export const command = defineCommand({
  args: ["[QUESTION]"],
  about: [
    "Lists the questions that are open in the process that runs the store, oldest first, with what each would do.",
    "A question of a child agent says by whom it is asked: the names from the topmost agent down, main > research.",
    "With QUESTION, one of them is shown whole, however long what it asks about is. Answer one with troupe answer.",
  ],
  options: { store: storeOption, json: jsonOption },
  examples: [
    "troupe questions",
    "troupe questions session/ses_01JZ0000000000000000000000#12.1",
    "troupe questions --json",
  ],
  run: async ({ cli, options, args: [id] }) => {
    const host = await openOwnersDoor(cli, await locateStore(cli, options.store));
    try {
      const all = await host.listQuestions();
      const questions = id === undefined ? all : all.filter((question) => question.id === id);
      if (id !== undefined && questions.length === 0) {
        throw new UsageError("question_not_found", `No question "${id}" is open: see troupe questions`);
      }
      const { out, err } = cli.terminal;
      if (questions.length === 0 && !options.json) err.line("No question is open");
      for (const question of questions) {
        const decisions = offeredBy(question.subject);
        if (options.json) {
          out.line(jsonLine({ ...question, decisions }));
          continue;
        }
        for (const line of describeQuestion(question, id === undefined ? "short" : "whole").slice(1)) {
          out.line(line);
        }
        out.line(`  decisions  ${decisions.join(", ")}`);
        if (Number.isFinite(question.deadlineAtMs)) {
          out.line(`  until      ${timeText(question.deadlineAtMs)}`);
        }
        out.line("");
      }
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});
