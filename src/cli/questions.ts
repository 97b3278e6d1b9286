/** `troupe questions`. */
import { offeredDecisions } from "../../schemas/question.ts";
import { describeQuestion } from "./ask.ts";
import { defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes } from "./exit.ts";
import { locateStore, openOwnersDoor } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { timeText } from "./table.ts";

/** Lists open questions. */
export const command = defineCommand({
  args: [],
  about: [
    "Lists the questions that are open in the process that runs the store, oldest first, with what each would do.",
    "Answer one with troupe answer.",
  ],
  options: { store: storeOption, json: jsonOption },
  examples: ["troupe questions", "troupe questions --json"],
  run: async ({ cli, options }) => {
    const host = await openOwnersDoor(cli, await locateStore(cli, options.store));
    try {
      const questions = await host.listQuestions();
      const { out, err } = cli.terminal;
      if (questions.length === 0 && !options.json) err.line("No question is open");
      for (const question of questions) {
        const decisions = offeredDecisions[question.subject.kind];
        if (options.json) {
          out.line(jsonLine({ ...question, decisions }));
          continue;
        }
        for (const line of describeQuestion(question).slice(1)) out.line(line);
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
