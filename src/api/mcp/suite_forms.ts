/** Forms that the protocol's own test suite wants to be asked: every kind of field, with and without a default. */

const titled = [
  { const: "first", title: "The first" },
  { const: "second", title: "The second" },
  { const: "third", title: "The third" },
];
const plain = ["first", "second", "third"];

/** A form with one field for a text. */
export function textForm(field: string): object {
  return { type: "object", properties: { [field]: { type: "string" } }, required: [field] };
}

/** A form with one field for a yes or no. */
export const consentForm = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };

/** A default in every kind of field (SEP-1034); the suite knows these values. */
export const defaultsForm = {
  type: "object",
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
  required: [],
};

/** Every kind of choice (SEP-1330). */
export const choicesForm = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: plain },
    titledSingle: { type: "string", oneOf: titled },
    legacyEnum: { type: "string", enum: plain, enumNames: ["The first", "The second", "The third"] },
    untitledMulti: { type: "array", minItems: 1, maxItems: 3, items: { type: "string", enum: plain } },
    titledMulti: { type: "array", minItems: 1, maxItems: 3, items: { anyOf: titled } },
  },
  required: [],
};
