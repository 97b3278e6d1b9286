/** First character of a frame, a separator of records: what people print hardly ever has it. */
export const frameStart = "\x1e";
