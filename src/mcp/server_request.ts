/** Reads what a server asks of a person: parsed once, bounded, with nothing invisible in it, and no secret asked for. */
import { valueProblem } from "../../actors/form.ts";
import type { RequestGate, ServerRequest } from "../../schemas/call_pause.ts";
import { failure } from "../../schemas/failure.ts";
import { FormField, TextFormat } from "../../schemas/form.ts";
import { limits } from "../../schemas/limits.ts";
import { isSensitiveName } from "../redact/field_names.ts";
import { isRecord } from "./json_bounds.ts";
import { oneLine, plainText, withoutUnseen } from "./plain_text.ts";

/** The method by which a server asks a person. */
export const elicitMethod = "elicitation/create";

/** A request that a person can be asked about, or why nobody is. */
export function readElicitation(key: string, params: unknown, gate: RequestGate): ServerRequest {
  const given = isRecord(params) ? params : {};
  const message = plainText(textIn(given["message"]), limits.formMessageCharactersMax);
  const read = given["mode"] === "url" ? readPage(key, message, given) : readForm(key, message, given);
  if ("problem" in read) return invalid(key, read.problem);
  if (read.kind === "refused") return read;
  const request = read.kind === "form" ? { ...read, gate } : read;
  const { length } = new TextEncoder().encode(JSON.stringify(request));
  return length <= limits.formBytesMax
    ? request
    : invalid(key, `it has ${length} bytes, and at most ${limits.formBytesMax} can be shown`);
}

interface Problem {
  readonly problem: string;
}

function invalid(key: string, why: string): ServerRequest {
  const message = `what the server asks for cannot be shown to a person: ${why}`;
  return { kind: "refused", key, why: failure("mcp_input_invalid", message) };
}

type Given = { readonly [name: string]: unknown };

function readPage(key: string, message: string, { url }: Given): ServerRequest | Problem {
  const page = URL.parse(textIn(url));
  if (page === null || (page.protocol !== "https:" && page.protocol !== "http:")) {
    return { problem: "its url is not one of http or https" };
  }
  // As it would be opened: a name in foreign letters is shown by its code.
  if (page.href.length > limits.formUrlCharactersMax) return { problem: "its url is too long" };
  return { kind: "url", key, message, url: oneLine(page.href, limits.formUrlCharactersMax) };
}

function readForm(key: string, message: string, { requestedSchema: schema }: Given): ServerRequest | Problem {
  if (!isRecord(schema) || !isRecord(schema["properties"])) return { problem: "it has no form" };
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const properties = Object.entries(schema["properties"]);
  if (properties.length > limits.formFieldsMax) {
    return { problem: `it has ${properties.length} fields, and at most ${limits.formFieldsMax} are asked` };
  }
  const fields: FormField[] = [];
  for (const [name, property] of properties) {
    const title = isRecord(property) ? textIn(property["title"]) : "";
    if (isSensitiveName(name) || isSensitiveName(title)) return secretField(key, name);
    const field = readField(name, property, required.has(name));
    if ("problem" in field) return field;
    fields.push(field);
  }
  return { kind: "form", key, gate: "prompt", message, fields };
}

/** MCP forbids servers to ask for secrets by a form; one that does is told no, whatever a person would have said. */
function secretField(key: string, name: string): ServerRequest {
  const shown = oneLine(name, limits.formNameCharactersMax);
  const message = `its form asks for a secret ("${shown}"), and secrets are never given by a form`;
  return { kind: "refused", key, why: failure("mcp_input_refused", message) };
}

/** A field; its name and its choices go back to the server as they came, so nothing in them may be invisible. */
function readField(name: string, property: unknown, required: boolean): FormField | Problem {
  const shown = oneLine(name, limits.formNameCharactersMax);
  const wrong = (why: string): Problem => ({ problem: `its field "${shown}" ${why}` });
  if (!isPlain(name)) return wrong("has a name that cannot be shown as it is");
  if (!isRecord(property)) return wrong("is no schema");
  const shared = {
    name,
    required,
    ...wordsIn("title", property["title"]),
    ...wordsIn("description", property["description"]),
  };
  const kind = kindOf(property);
  if (kind === undefined) return wrong("is of a kind that forms do not have");
  const parsed = FormField.safeParse({ ...shared, ...kind });
  if (!parsed.success) return wrong("does not fit the bounds of a form");
  const field = parsed.data;
  if ("options" in field && !field.options.every(({ value }) => isPlain(value))) {
    return wrong("has a choice that cannot be shown as it is");
  }
  return withDefault(field, property["default"]);
}

/** A default that does not fit its own field, or cannot be shown as it is, is none. */
function withDefault(field: FormField, value: unknown): FormField {
  if (value === undefined || valueProblem(field, value) !== undefined) return field;
  if (typeof value === "string" && withoutUnseen(value) !== value) return field;
  return FormField.safeParse({ ...field, default: value }).data ?? field;
}

/** What a field is, in our words; undefined if it is nothing that a form has. */
function kindOf(property: Given): { readonly [field: string]: unknown } | undefined {
  const { type, minLength, maxLength, minimum, maximum, minItems, maxItems, items } = property;
  switch (type) {
    case "string": {
      const options = optionsOf(property);
      if (options !== undefined) return { kind: "choice", options };
      const format = TextFormat.safeParse(property["format"]).data;
      return { kind: "text", ...some({ format, lengthMin: minLength, lengthMax: maxLength }) };
    }
    case "number":
    case "integer":
      return { kind: type, ...some({ min: minimum, max: maximum }) };
    case "boolean":
      return { kind: "boolean" };
    case "array": {
      const options = isRecord(items) ? optionsOf(items) : undefined;
      return options === undefined
        ? undefined
        : { kind: "choices", options, ...some({ countMin: minItems, countMax: maxItems }) };
    }
    default:
      return undefined;
  }
}

/** The choices of a field, in any of the three ways that servers write them. */
function optionsOf({ enum: values, enumNames, oneOf, anyOf }: Given) {
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, index) => ({ value, ...wordsIn("title", names[index]) }));
  }
  const titled = Array.isArray(oneOf) ? oneOf : anyOf;
  if (!Array.isArray(titled)) return undefined;
  return titled.map((one) => isRecord(one) ? { value: one["const"], ...wordsIn("title", one["title"]) } : {});
}

/** Those that are set. */
function some(values: { readonly [name: string]: unknown }): { readonly [name: string]: unknown } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function wordsIn(name: string, value: unknown): { readonly [name: string]: string } {
  const words = oneLine(textIn(value), limits.formWordsCharactersMax);
  return words === "" ? {} : { [name]: words };
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** True if a text is shown as it is: on one line, with nothing invisible in it. */
function isPlain(text: string): boolean {
  return oneLine(text, Infinity) === text;
}
