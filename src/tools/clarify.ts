/** `clarify`: a question of the agent to a person, in the middle of a turn (DM-16, DM-17). */
import { z } from "zod";
import type { ServerRequest } from "../../schemas/call_pause.ts";
import { limits } from "../../schemas/limits.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import { type BuiltinTool, defineTool, textEnvelope, type ToolUseContext } from "./tool.ts";
import { visible } from "./visible.ts";

const choice = z.string().min(1).max(limits.clarifyChoiceCharactersMax);

const input = z.strictObject({
  question: z.string().min(1).max(limits.clarifyQuestionCharactersMax)
    .describe("What you need to know, in one question with all that a person needs for an answer"),
  choices: z.array(choice).min(2).max(limits.clarifyChoicesMax).optional()
    .describe("The answers that can be given, each once; leave it out for an answer in free words"),
});

/** The one field of the form that a person fills in, and the name under which the tool knows it. */
const field = "answer";

/** Asks a person. What is answered, and also that nobody answers, is told as a result: the turn goes on either way. */
export const clarify: BuiltinTool = defineTool({
  name: "clarify",
  title: "Ask a person",
  description:
    "Asks a person a question whose answer you need to go on, and waits for it. Give at most 4 choices, or none for a " +
    "free answer. Nobody may be there: then you are told so, and decide by yourself or end the turn.",
  resource: { kind: "person", scope: "session" },
  parallelSafe: false,
  inputSchema: input,
  asks: ({ question, choices }): readonly ServerRequest[] => [{
    kind: "form",
    key: field,
    // A person is asked for the answer itself: no policy can give it.
    gate: "prompt",
    message: question,
    fields: [
      choices === undefined ? { kind: "text", name: field, required: true, lengthMin: 1 } : {
        kind: "choice",
        name: field,
        required: true,
        options: [...new Set(choices)].map((value) => ({ value })),
      },
    ],
  }],
  run: (_, use) => Promise.resolve(answered(use)),
});

/** What the model is told. A person's word comes as such; everything else is the runtime's. */
function answered({ round }: ToolUseContext): ToolResultEnvelope {
  const answer = round?.answers.find(({ key }) => key === field);
  const told = round?.told?.at(-1);
  if (answer?.action === "accept") {
    return textEnvelope(`The person answered: ${visible(String(answer.content?.[field] ?? ""))}`);
  }
  const how = answer?.action === "decline" && told === undefined
    ? "The person was asked and declined to answer"
    : told ?? "The person was asked and said nothing";
  return textEnvelope(`${how}. Go on without an answer, or end the turn`);
}
