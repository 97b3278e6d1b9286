/** What holds for every pattern that is understood: it says what V8 says, only sooner. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { compilePattern } from "../../schemas/pattern.ts";

const atom = fc.constantFrom(
  "a",
  "b",
  ".",
  "[ab]",
  "[^a]",
  "\\w",
  "\\d",
  "\\b",
  "\\B",
  "^",
  "$",
  "\\.",
  "(?:)",
  "😀",
);
const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
  part: fc.oneof(
    { depthSize: "small" },
    atom,
    fc.tuple(fc.constantFrom("(", "(?:", "(?=", "(?!", "(?<n>"), tie("pattern")).map(([open, inner]) =>
      `${open}${inner})`
    ),
    fc.tuple(tie("part"), fc.constantFrom("*", "+", "?", "*?", "{2}", "{1,}", "{0,2}")).map(([part, times]) =>
      `${/^(?:\\[bB]|[$^]|\(\?[=!])/.test(part) || /[*+?}]$/.test(part) ? `(?:${part})` : part}${times}`
    ),
  ),
  pattern: fc.array(fc.array(tie("part"), { maxLength: 3 }), { minLength: 1, maxLength: 2 }).map((options) =>
    options.map((parts) => parts.join("")).join("|")
  ),
}));
const text = fc.string({ unit: fc.constantFrom("a", "b", ".", "1", " ", "\n", "😀"), maxLength: 8 });

Deno.test("pattern matches exactly where V8 does", () => {
  fc.assert(
    fc.property(pattern, text, (source, sample) => {
      let regex: RegExp;
      try {
        regex = new RegExp(source, "u");
      } catch {
        return; // Two groups of one name.
      }
      const matches = compilePattern(source);
      assert.ok(matches, source);
      // V8 15.0 looks between the halves of a character for a place without a border of words, or without something
      // behind it; the language does not.
      if (/\\B|\(\?!/.test(source) && sample.includes("😀")) return;
      assert.equal(
        matches(sample, { stepsLeft: 1_000_000 }),
        regex.test(sample),
        `${source} on ${JSON.stringify(sample)}`,
      );
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("pattern never takes long, whatever it is and whatever it meets", () => {
  fc.assert(fc.property(pattern, (source) => {
    const budget = { stepsLeft: 100_000 };
    compilePattern(`^(?:${source})+$`)?.(`${"a".repeat(1_000)}!`, budget);
    assert.ok(budget.stepsLeft > -200_000, `${source} spent ${100_000 - budget.stepsLeft}`);
  }));
});
