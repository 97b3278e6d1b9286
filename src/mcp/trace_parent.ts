/** Which trace a call belongs to, in the words of W3C Trace Context: read off its place in the journal, and nothing else. */

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** A root with a minted id, and a place in its stream. */
const place = /^[a-z]+\/[a-z]{3}_([0-7][0-9A-HJKMNP-TV-Z]{25})#([0-9]{1,14})\.([0-9]{1,5})$/;

/**
 * `traceparent` of a call, by its key `<root>#<seq>.<n>`: the trace is the session, by the 128 bits of its id, and the
 * span is the entry that the call stands in. Every attempt has the same one, and so has a replay. Undefined for a root
 * without a minted id.
 */
export function traceParentOf(key: string): string | undefined {
  const [, id, seq = "", n = ""] = place.exec(key) ?? [];
  if (id === undefined) return undefined;
  const trace = [...id].reduce((bits, digit) => bits * 32n + BigInt(digits.indexOf(digit)), 0n);
  const span = BigInt(seq) * 65_536n + BigInt(n);
  return `00-${hex(trace, 32)}-${hex(span, 16)}-01`;
}

function hex(value: bigint, characters: number): string {
  return value.toString(16).padStart(characters, "0").slice(-characters);
}
