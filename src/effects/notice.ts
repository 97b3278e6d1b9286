/** How another session's answer reads to a model: as data from elsewhere, never as the user's own words. */

/** One message for the model about an answer that came from another session. */
export function describeNotice(
  message: { readonly type: string; readonly [field: string]: unknown },
): string {
  const from = typeof message["from"] === "string" ? message["from"] : "another session";
  const outcome = typeof message["outcome"] === "string" ? message["outcome"] : "unknown";
  const text = typeof message["text"] === "string" ? message["text"] : "";
  return `[answer from ${from}, outcome ${outcome}]\n${text}`;
}
