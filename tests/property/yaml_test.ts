/** YAML: what we write we read back, and any text is read or refused with a place inside it. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { parseYaml, stringifyYaml, YamlError, type YamlPath } from "../../src/yaml.ts";

const awkward = fc.constantFrom(
  ...[
    "",
    " ",
    "0777",
    "1_000",
    "12:30",
    "~",
    "null",
    "yes",
    "a: b",
    "- a",
    "#",
    "a #b",
    "<<",
    "*a",
    "&a",
    "!t",
    "|",
  ],
  ...[
    "---",
    "a\n",
    "a\n\n",
    "\na",
    " a\nb",
    "a\n \nb",
    "'",
    '"',
    "\\",
    "\t",
    "\r\n",
    "\u2028",
    "\uFEFF",
    "é",
    "\x85",
  ],
);
const text = fc.oneof(fc.string({ unit: "grapheme", maxLength: 12 }), awkward);
const key = text.filter((it) => it !== "__proto__");

/** Without the negative zero, which JSON does not keep. */
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((it) => it + 0);

const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(
      text,
      number,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(key, tie("tree"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

/** Pieces of which nearly every arrangement is nearly YAML. */
const piece = fc.constantFrom(
  ...[
    "a",
    "b: ",
    "c:",
    "- ",
    "\n",
    "\n  ",
    "\n    ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ":",
    '"',
    "'",
    "'y'",
    " # c",
    "|",
    ">-",
  ],
  ...[
    "1",
    "true",
    "~",
    "?",
    "x y",
    "\n- ",
    "\n  - ",
    "\nk: ",
    "\\",
    "---",
    "\n---\n",
    "{p: q}",
    "\t",
    "é",
    "*a",
    "!t ",
  ],
);

function pathsOf(value: unknown): readonly YamlPath[] {
  if (typeof value !== "object" || value === null) return [[]];
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item, index) => [index, item] as const)
    : Object.entries(value);
  return [[], ...entries.flatMap(([step, inner]) => pathsOf(inner).map((path) => [step, ...path]))];
}

Deno.test("yaml reads back what it writes", () => {
  fc.assert(
    fc.property(tree, (value) => {
      const written = stringifyYaml(value);
      assert.deepEqual(parseYaml(written, { file: "f" }).value, value, written);
    }),
    { numRuns: 300 },
  );
});

Deno.test("yaml reads any text or refuses it with a place inside it", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      const source = pieces.join("");
      const lines = source.split("\n");
      try {
        const document = parseYaml(source, { file: "f" });
        for (const path of pathsOf(document.value)) {
          const { line, column } = document.at(path);
          assert.ok(line >= 1 && column >= 1 && column <= (lines[line - 1] ?? "").length + 1, source);
        }
      } catch (error) {
        assert.ok(error instanceof YamlError, `${error} for ${JSON.stringify(source)}`);
        assert.ok(error.line >= 1 && error.line <= lines.length + 1 && error.column >= 1, error.message);
      }
    }),
    { numRuns: 2_000 },
  );
});
