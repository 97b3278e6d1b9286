/** Bounds of models and of those who serve them: part of all bounds, which are compared in `limits.ts`. */
export const modelLimits = {
  modelProvidersMax: 64,
  modelAliasesMax: 256,
  /** An answer of a model in all, however long it goes on; what comes in between is waited for as long as a call. Milliseconds. */
  modelAnswerDurationMsMax: 3_600_000,
  /** Requests that one provider is sent at once, at most. */
  providerConcurrencyMax: 256,
  /** Of an answer that is no stream: what says why a request was refused. Bytes. */
  vendorErrorBytesMax: 65_536,
  /** Of what a vendor says of a refusal, as it is passed on. */
  vendorErrorCharactersMax: 300,
  /** Of the schema of one tool as JSON, as a provider is told of it. */
  vendorSchemaCharactersMax: 32_768,
  /** Parts of one schema, once its references are written out. */
  vendorSchemaPartsMax: 2_000,
  vendorWarningsMax: 16,
} as const;
