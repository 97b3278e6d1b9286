/** A form that an MCP server wants a person to fill in: flat, of few kinds of fields, bounded. */
import { z } from "zod";
import { limits } from "./limits.ts";

const words = z.string().max(limits.formWordsCharactersMax);

const shared = {
  name: z.string().min(1).max(limits.formNameCharactersMax),
  title: words.optional(),
  description: words.optional(),
  required: z.boolean(),
};

const length = z.int().min(0);
const count = z.int().min(0).max(limits.formOptionsMax);
const options = z.array(z.strictObject({ value: words, title: words.optional() })).min(1).max(
  limits.formOptionsMax,
);

/** What a text must be, besides a text. */
export const TextFormat = z.enum(["email", "uri", "date", "date-time"]);
/** What a text must be. */
export type TextFormat = z.infer<typeof TextFormat>;

/** One field of a form. A default stands for what a person leaves out. */
export const FormField = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("text"),
    ...shared,
    format: TextFormat.optional(),
    lengthMin: length.optional(),
    lengthMax: length.optional(),
    default: z.string().max(limits.formTextCharactersMax).optional(),
  }),
  z.strictObject({
    kind: z.enum(["number", "integer"]),
    ...shared,
    min: z.number().optional(),
    max: z.number().optional(),
    default: z.number().optional(),
  }),
  z.strictObject({ kind: z.literal("boolean"), ...shared, default: z.boolean().optional() }),
  z.strictObject({ kind: z.literal("choice"), ...shared, options, default: words.optional() }),
  z.strictObject({
    kind: z.literal("choices"),
    ...shared,
    options,
    countMin: count.optional(),
    countMax: count.optional(),
    default: z.array(words).max(limits.formOptionsMax).optional(),
  }),
]);
/** One field of a form. */
export type FormField = z.infer<typeof FormField>;

/** The fields of a form, each name once. */
export const Form = z.array(FormField).max(limits.formFieldsMax);
/** The fields of a form. */
export type Form = z.infer<typeof Form>;

/** One value of a filled form. */
export const FormValue = z.union([
  z.string().max(limits.formTextCharactersMax),
  z.number(),
  z.boolean(),
  z.array(words).max(limits.formOptionsMax),
]);
/** One value of a filled form. */
export type FormValue = z.infer<typeof FormValue>;

/** What a person filled in, by the names of the fields. */
export const FormContent = z.record(z.string().max(limits.formNameCharactersMax), FormValue);
/** What a person filled in. */
export type FormContent = z.infer<typeof FormContent>;
