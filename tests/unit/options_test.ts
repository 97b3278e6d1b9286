import assert from "node:assert/strict";
import { UsageError } from "../../src/cli/exit.ts";
import { nearest } from "../../actors/nearest.ts";
import { parseOptions } from "../../src/cli/options.ts";

const specs = {
  json: { kind: "flag", help: "" },
  store: { kind: "text", value: "FILE", help: "" },
  output: { kind: "text", short: "o", value: "FILE", help: "" },
  from: { kind: "number", min: 1, value: "SEQ", help: "" },
  answer: { kind: "choice", choices: ["allow", "deny"], help: "" },
} as const;

function refusal(...argv: string[]): string {
  try {
    parseOptions(argv, specs);
  } catch (error) {
    assert.ok(error instanceof UsageError);
    return `${error.code}: ${error.message}`;
  }
  return "";
}

Deno.test("options are told from arguments, wherever they stand", () => {
  const { options, args } = parseOptions(
    ["a", "--json", "--store", "s.db", "b", "-o", "-", "--from=3"],
    specs,
  );
  assert.deepEqual(options, { json: true, store: "s.db", output: "-", from: 3, answer: undefined });
  assert.deepEqual(args, ["a", "b"]);
});

Deno.test("options end at two dashes", () => {
  const { options, args } = parseOptions(["--", "--json", "-o", "--"], specs);
  assert.equal(options.json, false);
  assert.deepEqual(args, ["--json", "-o", "--"]);
});

Deno.test("options may hold anything behind an equals sign", () => {
  const { options } = parseOptions(["--store=--json", "--output=a=b"], specs);
  assert.deepEqual([options.store, options.output], ["--json", "a=b"]);
});

Deno.test("options that are unknown are refused, with the name that is near", () => {
  assert.equal(refusal("--jsno"), 'option_unknown: There is no option "--jsno": did you mean --json?');
  assert.equal(refusal("--sotre=x"), 'option_unknown: There is no option "--sotre": did you mean --store?');
  assert.match(refusal("--frobnicate"), /see --help/);
  assert.match(refusal("-x"), /^option_unknown/);
  assert.match(refusal("--__proto__"), /^option_unknown/);
  assert.match(refusal("--constructor"), /^option_unknown/);
});

Deno.test("options without their value, with one too many, or given twice are refused", () => {
  for (const argv of [["--store"], ["--store", "--json"], ["--store="], ["-o"]]) {
    assert.match(
      refusal(...argv),
      /^option_invalid: The option (--store|-o) needs a value: FILE/,
      argv.join(" "),
    );
  }
  assert.match(refusal("--json=1"), /^option_invalid: .* takes no value/);
  assert.match(refusal("--json", "--json"), /^option_repeated/);
  assert.match(refusal("-o", "a", "--output", "b"), /^option_repeated/);
});

Deno.test("options with numbers and choices take nothing else", () => {
  assert.equal(parseOptions(["--from", "12"], specs).options.from, 12);
  for (const value of ["0", "-1", "1.5", "1e3", "x", "9007199254740993"]) {
    assert.match(refusal("--from", value), /whole number of at least 1/, value);
  }
  assert.equal(parseOptions(["--answer", "deny"], specs).options.answer, "deny");
  assert.match(refusal("--answer", "yes"), /takes allow or deny, not "yes"/);
});

Deno.test("options are typed by their table", () => {
  const { options } = parseOptions([], specs);
  const answer: "allow" | "deny" | undefined = options.answer;
  const from: number | undefined = options.from;
  // @ts-expect-error A flag is never a text.
  const json: string = options.json;
  assert.deepEqual([answer, from, json], [undefined, undefined, false]);
});

Deno.test("options find the nearest name, and none if all are far", () => {
  const names = ["run", "replay", "export", "sessions", "schema"];
  assert.equal(nearest("relpay", names), "replay");
  assert.equal(nearest("session", names), "sessions");
  assert.equal(nearest("rnu", names), "run");
  assert.equal(nearest("shema", names), "schema");
  assert.equal(nearest("frobnicate", names), undefined);
  assert.equal(nearest("", names), undefined);
});
