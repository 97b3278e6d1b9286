/** Forms of servers and of the agent at the terminal: shown field by field, typed field by field. */
import { fillForm, valueProblem } from "../../actors/form.ts";
import type { FormField } from "../../schemas/form.ts";
import type { OpenQuestion } from "../effects/question_ask.ts";
import { visible } from "../tools/visible.ts";
import { safeText, type Terminal } from "./terminal.ts";

/** Values as they were typed, by the names of their fields. */
export type Typed = { readonly [name: string]: unknown };

/** What a server, or the agent, asks for, as rows of the question's card. */
export function formRows(
  { elicitation, preview }: OpenQuestion["subject"],
): readonly (readonly [string, string])[] {
  if (elicitation === undefined) return [];
  const { server, fields = [], url } = elicitation;
  return [
    ...(server === undefined ? [] : [["server", server] as const]),
    ["says", preview],
    ...fields.map((field) => ["field", fieldText(field)] as const),
    ...(url === undefined
      ? []
      : [["open", `${url} (troupe does not open it: look at it, then do)`] as const]),
  ];
}

/** One field in one line: its name, what it takes, and what stands for no answer. */
export function fieldText(field: FormField): string {
  const { name, title, description, required } = field;
  const value = defaultText(field);
  const parts = [
    kindText(field),
    ...(value !== undefined ? [`default ${value}`] : required ? ["required"] : ["may be left out"]),
  ];
  const words = [title, description].filter((one) => one !== undefined).join(": ");
  return `${name} (${parts.join(", ")})${words === "" ? "" : ` ${words}`}`;
}

function kindText(field: FormField): string {
  switch (field.kind) {
    case "text":
      return field.format ?? "text";
    case "number":
    case "integer":
      return rangeText(field.kind === "integer" ? "whole number" : "number", field);
    case "boolean":
      return "true or false";
    case "choice":
      return `one of ${optionsText(field.options)}`;
    case "choices":
      return `some of ${optionsText(field.options)}`;
  }
}

function rangeText(
  noun: string,
  { min, max }: { readonly min?: number | undefined; readonly max?: number | undefined },
): string {
  return [noun, ...(min === undefined ? [] : [`from ${min}`]), ...(max === undefined ? [] : [`to ${max}`])]
    .join(" ");
}

function optionsText(options: Extract<FormField, { readonly kind: "choice" }>["options"]): string {
  return options.map(({ value, title }) =>
    title === undefined || title === value ? value : `${value} = ${title}`
  )
    .join(" | ");
}

function defaultText(field: FormField): string | undefined {
  return field.default === undefined
    ? undefined
    : Array.isArray(field.default)
    ? field.default.join(",")
    : `${field.default}`;
}

/** The value that a typed text means for a field; what means nothing stays a text, and does not fit. */
export function valueOf(field: FormField, text: string): unknown {
  switch (field.kind) {
    case "text":
    case "choice":
      return text;
    case "number":
    case "integer":
      return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
    case "boolean":
      return /^(y|yes|true)$/i.test(text) ? true : /^(n|no|false)$/i.test(text) ? false : text;
    case "choices":
      return text.trim() === "" ? [] : text.split(",").map((one) => one.trim());
  }
}

/** Asks for each field, until what is typed fits; undefined at the end of input, and once nobody waits for it. */
export async function typeForm(
  { err, readLine }: Pick<Terminal, "err"> & { readonly readLine: Terminal["readLine"] },
  fields: readonly FormField[],
  signal: AbortSignal,
): Promise<Typed | undefined> {
  const typed: Record<string, unknown> = {};
  for (const field of fields) {
    for (;;) {
      err.write(`  ${visible(fieldText(field))}: `);
      const line = await readLine(signal);
      if (line === undefined) return undefined;
      const problem = take(typed, field, line);
      if (problem === undefined) break;
      err.line(safeText(`  ${field.name} ${problem}`));
    }
  }
  return typed;
}

/** Takes what was typed for a field. An empty line is its default, or nothing. */
function take(typed: Record<string, unknown>, field: FormField, line: string): string | undefined {
  if (line.trim() === "") {
    if (field.default !== undefined || !field.required) return undefined;
    if (field.kind !== "text") return "is required";
  }
  const value = valueOf(field, line);
  const problem = valueProblem(field, value);
  if (problem === undefined) typed[field.name] = value;
  return problem;
}

/** True if a form can be sent without a word: everything that it needs has a default. */
export function hasDefaults(fields: readonly FormField[]): boolean {
  return "content" in fillForm(fields, {});
}
