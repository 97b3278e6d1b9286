/** Fills a form: what was given, with defaults for what was left out, checked field by field. */
import type { FormContent, FormField, FormValue, TextFormat } from "../schemas/form.ts";
import { limits } from "../schemas/limits.ts";

/** A filled form, or what is wrong with it: one clause a field, with its name and none of its values. */
export type Filled = { readonly content: FormContent } | { readonly problems: readonly string[] };

/** Fills a form. What has no default, is not required and was not given is left out. */
export function fillForm(fields: readonly FormField[], given: { readonly [name: string]: unknown }): Filled {
  const known = new Set(fields.map(({ name }) => name));
  const problems = Object.keys(given).filter((name) => !known.has(name))
    .map((name) => `there is no field "${name}"; the fields are ${[...known].join(", ") || "none"}`);
  const entries: [string, FormValue][] = [];
  for (const field of fields) {
    const value = Object.hasOwn(given, field.name) ? given[field.name] : field.default;
    if (value === undefined) {
      if (field.required) problems.push(`"${field.name}" is required`);
      continue;
    }
    const problem = valueProblem(field, value);
    if (problem === undefined) entries.push([field.name, value as FormValue]);
    else problems.push(`"${field.name}" ${problem}`);
  }
  return problems.length > 0 ? { problems } : { content: Object.fromEntries(entries) };
}

/** Why a value does not fit a field, in words that follow its name; undefined if it does. */
export function valueProblem(field: FormField, value: unknown): string | undefined {
  switch (field.kind) {
    case "text":
      return textProblem(field, value);
    case "number":
    case "integer":
      return numberProblem(field, value);
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "choice":
      return isOption(field.options, value) ? undefined : `must be one of ${optionsText(field)}`;
    case "choices":
      return choicesProblem(field, value);
  }
}

type FieldOf<K extends FormField["kind"]> = Extract<FormField, { readonly kind: K }>;

function textProblem({ format, lengthMin, lengthMax }: FieldOf<"text">, value: unknown): string | undefined {
  if (typeof value !== "string") return "must be a text";
  const { length } = [...value];
  if (value.length > limits.formTextCharactersMax) {
    return `must have at most ${limits.formTextCharactersMax} characters`;
  }
  if (lengthMin !== undefined && length < lengthMin) return `must have at least ${lengthMin} characters`;
  if (lengthMax !== undefined && length > lengthMax) return `must have at most ${lengthMax} characters`;
  return format === undefined || formats[format].fits(value) ? undefined : `must be ${formats[format].words}`;
}

function numberProblem(field: FieldOf<"number" | "integer">, value: unknown): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return "must be a number";
  if (field.kind === "integer" && !Number.isInteger(value)) return "must be a whole number";
  if (field.min !== undefined && value < field.min) return `must be at least ${field.min}`;
  if (field.max !== undefined && value > field.max) return `must be at most ${field.max}`;
  return undefined;
}

function choicesProblem(field: FieldOf<"choices">, value: unknown): string | undefined {
  const { options, countMin = 0, countMax = Infinity } = field;
  if (!Array.isArray(value) || !value.every((one) => isOption(options, one))) {
    return `must be a list of some of ${optionsText(field)}`;
  }
  if (new Set(value).size < value.length) return "must name each choice once";
  if (value.length < countMin) return `must name at least ${countMin}`;
  return value.length > countMax ? `must name at most ${countMax}` : undefined;
}

function isOption(options: FieldOf<"choice">["options"], value: unknown): boolean {
  return options.some((option) => option.value === value);
}

function optionsText({ options }: Pick<FieldOf<"choice">, "options">): string {
  return options.map(({ value }) => value).join(", ").slice(0, 500);
}

interface Format {
  readonly words: string;
  readonly fits: (value: string) => boolean;
}

const day = /^(\d{4})-(\d{2})-(\d{2})$/;

const formats: { readonly [F in TextFormat]: Format } = {
  email: { words: "an e-mail address", fits: (value) => /^[^\s@]{1,64}@[^\s@]{1,255}$/.test(value) },
  uri: { words: "a URI with its scheme", fits: (value) => URL.canParse(value) },
  date: { words: "a date, as 2026-11-30", fits: isDay },
  "date-time": {
    words: "a date and a time with its zone, as 2026-11-30T12:00:00Z",
    fits: (value) => {
      const [, date = "", time = ""] = /^([^T]+)T(.+)$/.exec(value) ?? [];
      return isDay(date) &&
        /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/.test(time);
    },
  },
};

function isDay(value: string): boolean {
  const [, year = "", month = "", date = ""] = day.exec(value) ?? [];
  const last =
    [31, isLeap(Number(year)) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][Number(month) - 1];
  return last !== undefined && Number(date) >= 1 && Number(date) <= last;
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}
