/** How long a vendor asks to be left alone, wherever it says so. */

const unitsMs: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** In milliseconds; undefined if nothing is said. Headers win over the text of the answer. */
export function retryHintMs(headers: Headers, body: string, nowMs: number): number | undefined {
  const ms = positive(headers.get("retry-after-ms"));
  if (ms !== undefined) return ms;
  const said = headers.get("retry-after");
  const seconds = positive(said);
  if (seconds !== undefined) return seconds * 1_000;
  const dateMs = said === null ? NaN : Date.parse(said);
  if (!Number.isNaN(dateMs)) return Math.max(0, dateMs - nowMs);
  return hintIn(body);
}

function positive(text: string | null): number | undefined {
  return text !== null && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

/** Google says `"retryDelay": "34s"`, OpenAI `try again in 1m3.5s`. */
function hintIn(body: string): number | undefined {
  const [, span] = /"retryDelay"\s*:\s*"([\dhms.]{1,20})"|try again in ([\dhms.]{1,20})/i.exec(body)
    ?.filter((one) => one !== undefined) ?? [];
  const parts = [...(span ?? "").matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)];
  if (parts.length === 0) return undefined;
  return parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (unitsMs[unit] ?? 0), 0);
}
