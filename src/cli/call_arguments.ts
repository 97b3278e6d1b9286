/** The arguments of a call as they are given on the command line. */
import { JsonObject } from "../../schemas/json.ts";
import { readJson } from "../border.ts";
import { UsageError } from "./exit.ts";

/** Reads ARGS as a model's arguments would be read. What they hold is not shown: it may be a secret. */
export function readCallArguments(text: string): JsonObject {
  let value: unknown;
  try {
    value = readJson(text);
  } catch {
    value = undefined;
  }
  const parsed = JsonObject.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new UsageError(
    "argument_invalid",
    "ARGS is not a JSON object with plain keys: put one in single quotes",
  );
}
