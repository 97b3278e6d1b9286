/** Why a model is asked once more, in words for people: what it said before is no slip of ours. */
import { peekList, peekText } from "../peek.ts";

/** Undefined where there is nothing to say: results are shown by themselves, and so are failures. */
export function continuationText(args: unknown): string | undefined {
  switch (peekText(args, "continuation", "reason")) {
    case "output_repair": {
      const problems = peekList(args, "append").flatMap((item) => peekList(item, "problems")).map(String);
      return `asked once more: the answer does not fit output_schema: ${problems.join("; ")}`;
    }
    case "max_tokens_recovery":
      return "goes on: the answer was cut off at its longest";
    case "compact_retry":
      return "asked once more, with old results left out: it was too much for the model";
    default:
      return undefined;
  }
}
