/** Whether a form is filled with its defaults, and what does not fit is named and never sent. */
import assert from "node:assert/strict";
import { fillForm } from "../../actors/form.ts";
import { Form, type FormField } from "../../schemas/form.ts";

const options = [{ value: "r" }, { value: "w", title: "Writer" }];
const fields: readonly FormField[] = Form.parse([
  { kind: "text", name: "name", required: true, lengthMin: 2, lengthMax: 4 },
  { kind: "text", name: "mail", required: false, format: "email" },
  { kind: "text", name: "site", required: false, format: "uri" },
  { kind: "text", name: "day", required: false, format: "date" },
  { kind: "text", name: "at", required: false, format: "date-time" },
  { kind: "integer", name: "days", required: true, min: 1, max: 30, default: 3 },
  { kind: "number", name: "share", required: false, default: 0.5 },
  { kind: "boolean", name: "sure", required: false, default: false },
  { kind: "choice", name: "role", required: false, options, default: "r" },
  { kind: "choices", name: "more", required: false, options, countMin: 1, countMax: 1, default: ["w"] },
]);
const defaults = { days: 3, share: 0.5, sure: false, role: "r", more: ["w"] };

Deno.test("form is filled with its defaults, of every kind, where nothing was given (CM-34)", () => {
  assert.deepEqual(fillForm(fields, { name: "Ada" }), { content: { name: "Ada", ...defaults } });
  const given = {
    name: "\u{1f600}\u{1f600}",
    mail: "ada@example.org",
    site: "https://example.org",
    day: "2028-02-29",
    at: "2026-11-30T12:00:00+01:00",
    days: 30,
    share: -1,
    sure: true,
    role: "w",
    more: ["r"],
  };
  assert.deepEqual(fillForm(fields, given), { content: given });
});

Deno.test("form names every field that does not fit, and none of the values (CM-34)", () => {
  const cases: readonly (readonly [name: string, values: readonly unknown[], why: RegExp])[] = [
    ["name", [undefined], /^"name" is required$/],
    ["name", ["A"], /at least 2 characters/],
    ["name", ["Ada L"], /at most 4 characters/],
    ["name", [7, null, ["Ada"]], /must be a text/],
    ["mail", ["ada", "a b@c", "@x"], /e-mail address/],
    ["site", ["example.org", ""], /URI with its scheme/],
    ["day", ["2026-02-29", "2026-13-01", "30.11.2026", "2026-11-30T12:00:00Z"], /a date, as/],
    ["at", ["2026-11-30", "2026-11-30T12:00:00", "2026-11-30T24:00:00Z"], /a date and a time/],
    ["days", [0], /at least 1/],
    ["days", [31], /at most 30/],
    ["days", [1.5], /whole number/],
    ["share", ["0.5", Infinity, NaN], /must be a number/],
    ["sure", ["true", 1], /true or false/],
    ["role", ["admin", 1], /must be one of r, w/],
    ["more", ["r", ["admin"], [1]], /must be a list of some of r, w/],
    ["more", [[]], /at least 1/],
    ["more", [["r", "w"]], /at most 1/],
    ["more", [["r", "r"]], /each choice once/],
    ["nick", ["hunter2"], /there is no field "nick"/],
  ];
  for (const [name, values, why] of cases) {
    for (const value of values) {
      const given = Object.fromEntries(
        Object.entries({ name: "Ada", [name]: value }).filter(([, one]) => one !== undefined),
      );
      const filled = fillForm(fields, given);
      assert.ok("problems" in filled, `${name} ${JSON.stringify(value)}`);
      assert.equal(filled.problems.length, 1, filled.problems.join());
      assert.match(filled.problems[0] ?? "", why);
      assert.ok(!filled.problems[0]?.includes("hunter2"));
    }
  }
  const filled = fillForm(fields, { days: 0, role: "x" });
  assert.ok("problems" in filled && filled.problems.length === 3);
  // A name that every object has is a field only if the form has it.
  assert.ok("problems" in fillForm([{ kind: "text", name: "toString", required: true }], {}));
});
