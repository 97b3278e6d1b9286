import assert from "node:assert/strict";
import { junitXml } from "../../src/cli/junit.ts";

const hostile = `<b> & "c" 'd' ]]> \u0000\u001b\ud800 \r\n\t\u{1f600}`;
/** What XML 1.0 cannot say is told as what it is: unknown. */
const told = `<b> & "c" 'd' ]]> \ufffd\ufffd\ufffd \r\n\t\u{1f600}`;

/** What a reader of XML makes of a value: entities, and line ends, of which a bare one would become another. */
function read(text: string): string {
  assert.doesNotMatch(text, /[<>\r]|&(?!(?:amp|lt|gt|quot|#\d+);)/);
  const named: { readonly [name: string]: string } = { amp: "&", lt: "<", gt: ">", quot: '"' };
  return text.replace(
    /&(?:#(\d+)|(\w+));/g,
    (_, code, name) => code ? String.fromCodePoint(+code) : named[name] ?? "",
  );
}

function attribute(text: string, element: string, name: string): string {
  const [, value = ""] = new RegExp(`<${element} [^>]*?\\b${name}="([^"]*)"`).exec(text) ?? [];
  assert.doesNotMatch(value, /[\n\t]/);
  return read(value);
}

Deno.test("junit report gives every text back as it was, whatever is in it", () => {
  const text = junitXml(hostile, [{
    name: hostile,
    durationMs: 1_234,
    cases: [
      { name: hostile, failure: { message: hostile, text: hostile } },
      { name: "second", error: { message: hostile, type: "fixture_altered" } },
      { name: "third" },
    ],
  }]);
  assert.match(text, /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites /);
  assert.equal(attribute(text, "testsuites", "name"), told);
  assert.equal(attribute(text, "testsuite", "name"), told);
  assert.equal(attribute(text, "testcase", "classname"), told);
  assert.equal(attribute(text, "failure", "message"), told);
  assert.equal(attribute(text, "error", "message"), told);
  assert.equal(read(/<failure [^>]*>([^<]*)<\/failure>/.exec(text)?.[1] ?? ""), told);
  assert.match(text, /<testcase classname=".*" name="third"\/>/);
});

Deno.test("junit report counts checks of all suites", () => {
  const failure = { message: "m", text: "t" };
  const text = junitXml("all", [
    { name: "one", durationMs: 500, cases: [{ name: "a" }, { name: "b", failure }] },
    { name: "two", durationMs: 250, cases: [{ name: "c" }] },
    { name: "none", durationMs: 0, cases: [] },
  ]);
  assert.match(text, /<testsuites name="all" tests="3" failures="1" errors="0" time="0\.750">/);
  assert.match(text, /<testsuite name="one" tests="2" failures="1" errors="0" time="0\.500">/);
  assert.match(text, /<testsuite name="none" tests="0" failures="0" errors="0" time="0\.000">/);
});
