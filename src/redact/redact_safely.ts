/** The last resort of everything that makes a result safe to show: whatever throws gives the fixed refusal (DM-47). */

/** What stands in the place of a value that could not be made safe. The value goes nowhere, nor does the error. */
export const fixedRefusal = "redaction_failed: The result could not be made safe to show and was withheld";

/** A value that was made safe, or the fixed refusal. */
export type Safely<T> =
  | { readonly isSafe: true; readonly value: T }
  | { readonly isSafe: false; readonly refusal: typeof fixedRefusal };

/** Runs `redact` to its end; whatever it throws is dropped, since an error may quote what it failed on. */
export async function redactSafely<T>(redact: () => T | Promise<T>): Promise<Safely<T>> {
  try {
    return { isSafe: true, value: await redact() };
  } catch {
    return { isSafe: false, refusal: fixedRefusal };
  }
}
