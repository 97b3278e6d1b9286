/** `todo`: the session's list of what is still to be done, kept in its state over turns and restarts (DM-16). */
import { z } from "zod";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { type BuiltinTool, defineTool, errorEnvelope, textEnvelope, type ToolUseContext } from "./tool.ts";
import { visible } from "./visible.ts";

const Status = z.enum(["open", "doing", "done"]);
const text = z.string().min(1).max(limits.todoTextCharactersMax);
const Item = z.strictObject({ text, status: Status });
type Item = z.infer<typeof Item>;

/** The part of a session's state that is this tool's. Items stand under their numbers, which are never used again. */
const Todo = z.strictObject({ next: z.int().min(1), items: z.record(z.string(), Item) });
type Todo = z.infer<typeof Todo>;

const input = z.strictObject({
  action: z.enum(["list", "add", "update", "clear"])
    .describe("list shows all; add appends items; update changes one; clear takes away what is done, or all"),
  items: z.array(text).min(1).max(limits.todoItemsMax).optional().describe("For add: what is to be done"),
  item: z.int().min(1).optional().describe("For update: the number of the item"),
  status: Status.optional().describe("For update: how far it is"),
  text: text.optional().describe("For update: other words"),
  all: z.boolean().default(false).describe("For clear: also what is not done"),
});
type Input = z.output<typeof input>;

/** What an action does to the list: the items that it sets, or takes away by null; or why it does nothing. */
type Change = { readonly [number: string]: Item | null } | Failure;

/** Keeps a list of things to do, at most 100. Every action answers with the list as it is then. */
export const todo: BuiltinTool = defineTool({
  name: "todo",
  title: "To-do list",
  description: "Keeps this session's list of things to do. Answers with the whole list.",
  resource: { kind: "state", scope: "session" },
  parallelSafe: false,
  inputSchema: input,
  run: (wanted, use) => {
    const list = listIn(use);
    const change = changeOf(wanted, list);
    if (isFailure(change)) return Promise.resolve(errorEnvelope(change));
    const refused = Object.keys(change).length === 0 ? undefined : use.update(patchOf(list, change));
    return Promise.resolve(
      refused === undefined ? textEnvelope(textOf(list, change)) : errorEnvelope(refused),
    );
  },
});

function listIn({ app_state: state }: ToolUseContext): Todo {
  return Todo.safeParse(state["todo"]).data ?? { next: 1, items: {} };
}

function isFailure(change: Change): change is Failure {
  return "code" in change;
}

function changeOf(wanted: Input, list: Todo): Change {
  switch (wanted.action) {
    case "list":
      return {};
    case "add":
      return added(wanted.items, list);
    case "update":
      return updated(wanted, list);
    case "clear": {
      const gone = Object.entries(list.items).filter(([, { status }]) => wanted.all || status === "done");
      return Object.fromEntries(gone.map(([number]) => [number, null]));
    }
  }
}

function added(items: Input["items"], { next, items: there }: Todo): Change {
  if (items === undefined) return failure("arguments_invalid", "Cannot add nothing: give items");
  if (Object.keys(there).length + items.length > limits.todoItemsMax) {
    return failure(
      "too_large",
      `The list has room for ${limits.todoItemsMax} items: clear what is done first`,
    );
  }
  const fresh = items.map((one, index) => [String(next + index), { text: one, status: "open" as const }]);
  return Object.fromEntries(fresh);
}

function updated({ item, status, text: words }: Input, { items }: Todo): Change {
  const there = items[String(item)];
  if (item === undefined || there === undefined) {
    return failure("arguments_invalid", "There is no item of this number: give item, as the list shows it");
  }
  if (status === undefined && words === undefined) {
    return failure("arguments_invalid", "Nothing to change: give status, or text, or both");
  }
  return { [String(item)]: { text: words ?? there.text, status: status ?? there.status } };
}

function patchOf(list: Todo, change: Exclude<Change, Failure>): JsonObject {
  const fresh = Object.keys(change).map(Number).filter((number) => number >= list.next);
  return { todo: { next: Math.max(list.next, ...fresh.map((number) => number + 1)), items: change } };
}

const boxes: { readonly [S in Item["status"]]: string } = { open: "[ ]", doing: "[~]", done: "[x]" };

function textOf({ items }: Todo, change: Exclude<Change, Failure>): string {
  const all = Object.entries({ ...items, ...change })
    .flatMap(([number, item]) => item === null ? [] : [{ number: Number(number), item }])
    .sort((left, right) => left.number - right.number);
  if (all.length === 0) return "[nothing to do]";
  return all.map(({ number, item }) => `${number}. ${boxes[item.status]} ${visible(item.text)}`).join("\n");
}
