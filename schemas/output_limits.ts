/** Bounds of answers that must have a form: part of all bounds, which are compared in `limits.ts`. */
export const outputLimits = {
  /** Of the schema of an agent's answers, as JSON. */
  outputSchemaCharactersMax: 16_384,
  /** What a model is told of an answer that does not fit, at most. */
  outputProblemsMax: 5,
} as const;
