/** What the YAML reader accepts, what it refuses, and whether it knows where things stand. */
import assert from "node:assert/strict";
import { parseYaml, stringifyYaml, YamlError, type YamlErrorCode, type YamlPath } from "../../src/yaml.ts";

function read(text: string): unknown {
  return parseYaml(text, { file: "agent.yaml" }).value;
}

function refusalOf(text: string): YamlError {
  try {
    read(text);
  } catch (error) {
    assert.ok(error instanceof YamlError, `${String(error)} for ${JSON.stringify(text.slice(0, 80))}`);
    return error;
  }
  assert.fail(`accepted: ${JSON.stringify(text.slice(0, 80))}`);
}

function refuses(code: YamlErrorCode, texts: readonly string[]): void {
  for (const text of texts) assert.equal(refusalOf(text).code, code, JSON.stringify(text.slice(0, 80)));
}

Deno.test("yaml reads the core schema", () => {
  const vectors: readonly (readonly [string, unknown])[] = [
    ["", null],
    ["# only a comment\n", null],
    ["---\n", null],
    ["\uFEFFa: 1", { a: 1 }],
    ["a: 1\r\nb: 2\r\n", { a: 1, b: 2 }],
    ["a:", { a: null }],
    ["[~, null, Null, NULL]", [null, null, null, null]],
    ["[true, True, FALSE]", [true, true, false]],
    ["[0, -12, +7, 0x1F, 0.5, 1e3, -1.5E-2]", [0, -12, 7, 31, 0.5, 1000, -0.015]],
    ["[yes, no, on, off, y, n]", ["yes", "no", "on", "off", "y", "n"]],
    ["2024-01-02", "2024-01-02"],
    ["[1.2.3, 0.1.0, 127.0.0.1, --x]", ["1.2.3", "0.1.0", "127.0.0.1", "--x"]],
    ["url: http://127.0.0.1:8080/#top", { url: "http://127.0.0.1:8080/#top" }],
    ["on: push", { on: "push" }],
    ["'1': a\n\"true\": b", { 1: "a", true: "b" }],
  ];
  for (const [text, value] of vectors) assert.deepEqual(read(text), value, JSON.stringify(text));
});

Deno.test("yaml reads every shape of a collection and of a text", () => {
  const text = [
    "flow: { a: 1, 'b c': [x, \"y\", {}], d, }",
    "list:",
    "- one # comment",
    "-   - nested",
    "    - again",
    "- key: value",
    "  more: |",
    "    # not a comment",
    "      indented",
    "",
    "    end",
    "# comment at the margin",
    "folded: >-",
    "  a",
    "  b",
    "plain: several",
    "  lines no",
    'quoted: "tab\\t \\u00e9',
    '  folded"',
    "multi: [a,",
    "  # comment",
    "  b c",
    "  d]",
    "",
  ].join("\n");
  assert.deepEqual(read(text), {
    flow: { a: 1, "b c": ["x", "y", {}], d: null },
    list: ["one", ["nested", "again"], { key: "value", more: "# not a comment\n  indented\n\nend\n" }],
    folded: "a b",
    plain: "several lines no",
    quoted: "tab\t é folded",
    multi: ["a", "b c d"],
  });
});

Deno.test("yaml refuses unquoted scalars on which libraries differ, and takes them in quotes", () => {
  const scalars = [
    "0777",
    "00",
    "08",
    "-010",
    "01.5",
    "0o777",
    "0b11",
    "0O7",
    "0B1",
    "-0x1F",
    "1_000",
    "0x_1",
  ];
  const more = [
    "1_0.5",
    "12:30",
    "1:2:3",
    "190:20:30.15",
    "-.5",
    ".inf",
    "-.INF",
    ".NaN",
    "=",
    "9007199254740992",
  ];
  for (const scalar of [...scalars, ...more, "1e999"]) {
    refuses("yaml_scalar_ambiguous", [
      scalar,
      `a: ${scalar}`,
      `- ${scalar}`,
      `[${scalar}, 1]`,
      `{a: ${scalar}}`,
    ]);
    assert.deepEqual(read(`a: "${scalar}"\nb: '${scalar}' # ${scalar}\nc: |\n  ${scalar}\n`), {
      a: scalar,
      b: scalar,
      c: `${scalar}\n`,
    });
    assert.deepEqual(read(`say ${scalar} twice`), `say ${scalar} twice`);
  }
});

Deno.test("yaml refuses anchors, aliases, merge keys and tags (B105)", () => {
  const bomb = ["a: &a [x, x]", ...[..."bcdefgh"].map((key, i) => `${key}: &${key} [${"*abcdefg"[i + 1]}]`)];
  refuses("yaml_alias_refused", [
    "a: &x 1",
    "a: *x",
    "- &x\n  a: 1",
    "[*x]",
    "{a: &x 1}",
    "&x : 1",
    "a: &a [*a]",
    "pattern: *.ts",
    bomb.join("\n"),
  ]);
  refuses("yaml_merge_refused", ["<<: {a: 1}", "a: 1\n<<: [{}]", "{<<: {}}", "<<: {}\n".repeat(10_000)]);
  refuses("yaml_tag_refused", ["!!js/function x", "a: !!binary aGk=", "- !x y", "[!!str 1]", "!<tag:x> y"]);
  assert.deepEqual(read('"<<": x\nb: "*y"\nc: a & b * c !'), { "<<": "x", b: "*y", c: "a & b * c !" });
});

Deno.test("yaml refuses what is too deep or too large before it can hurt (B105)", () => {
  assert.deepEqual(read("[".repeat(32) + "]".repeat(32)), JSON.parse("[".repeat(32) + "]".repeat(32)));
  const blocks = Array.from({ length: 33 }, (_, depth) => `${" ".repeat(depth)}a:\n`).join("");
  refuses("yaml_too_deep", [
    "[".repeat(33) + "]".repeat(33),
    "[".repeat(500_000),
    "- ".repeat(500_000),
    "{a: ".repeat(200_000),
    blocks,
  ]);
  refuses("yaml_too_large", ["x".repeat(1_048_577), "é".repeat(524_289)]);
  assert.throws(() => parseYaml("abc", { file: "f", bytesMax: 2 }), { code: "yaml_too_large" });
  assert.throws(() => parseYaml("x".repeat(1_048_577), { file: "f", bytesMax: 2e9 }), {
    code: "yaml_too_large",
  });
});

Deno.test("yaml refuses tabs, other line ends and a second document", () => {
  refuses("yaml_tab_refused", [
    "a:\n\tb: 1",
    "\ta: 1",
    "a:\t1",
    "a:\n  - b\n\t- c",
    "[a,\tb]",
    "a: 1\n\t\nb: 2",
  ]);
  refuses("yaml_syntax", ["a: 1 # x\rb: 2", "a: x\u2028b: y", "a: x\x85b: y"]);
  refuses("yaml_documents_refused", ["a: 1\n---\nb: 2", "---\n---", "a: 1\n...", "%YAML 1.2\n---\na: 1"]);
  assert.deepEqual(read("---\na: 'x\ty'\nb: |\n  \tz\n"), { a: "x\ty", b: "\tz\n" });
});

Deno.test("yaml refuses keys that are no strings, stand twice or reach the prototype", () => {
  refuses("yaml_key_refused", ["1: a", "true: a", "~: a", "null: a", ": a", "1.5: a", "0777: a", "{1: a}"]);
  refuses("yaml_key_refused", ["? a\n: b", "[a]: b", "{a: 1}: b", "a: {{ x }}", "{[a]: b}", '"\\x41": a']);
  refuses("yaml_key_refused", ["__proto__: {}", '"__proto__": 1', "{__proto__: 1}", '"\\u005f_proto__": 1']);
  refuses("yaml_key_duplicate", ["a: 1\nb: 2\na: 3", "{a: 1, a: 2}", 'a: 1\n"a": 2', '"\\u0061": 1\na: 2']);
});

Deno.test("yaml refuses text that has no one reading, and says where", () => {
  const vectors: readonly (readonly [string, string])[] = [
    ["a: b: c", "1:4"],
    ["a: - b", "1:4"],
    ["a:\n  b: 1\n c: 2", "3:2"],
    ["- a\nb: 1", "2:1"],
    ["a: 1\n- b", "2:1"],
    ["a: [1, 2\nb: 3", "2:2"],
    ["a: [1, 2", "1:4"],
    ["a: {b: 1", "1:4"],
    ["a: [1,, 2]", "1:7"],
    ["a: [b: c]", "1:6"],
    ['a: "open', "1:4"],
    ["a: 'b' c", "1:8"],
    ['a: "b\nc"', "2:1"],
    ["a: @b", "1:4"],
    ["a: `b`", "1:4"],
    ["a: |x\n  b", "1:5"],
    ['a: "\\q"', "1:6"],
    ["a: b\x00c", "1:5"],
  ];
  for (const [text, where] of vectors) {
    const error = refusalOf(text);
    assert.equal(error.code, "yaml_syntax", text);
    assert.equal(`${error.line}:${error.column}`, where, `${text} ${error.message}`);
  }
  // js-yaml takes the second item into the first one's list; nobody else does.
  refuses("yaml_reading_differs", ["- -\n- x\n"]);
});

Deno.test("yaml refusals carry the file, the place and what to do", () => {
  const error = refusalOf("name: x\nmode: 0777\n");
  assert.match(
    error.message,
    /^Cannot read "agent\.yaml": agent\.yaml:2:7: the unquoted 0777 is .*put it in quotes/,
  );
  assert.deepEqual([error.name, error.file, error.line, error.column], ["YamlError", "agent.yaml", 2, 7]);
});

Deno.test("yaml knows the place of every key and value", () => {
  const text = [
    "# comment", //                     1
    "name: x", //                       2
    '"quoted key": [1, {a: "b"},', //   3
    "  c]", //                          4
    "list:", //                         5
    "  - one", //                       6
    "  - text: |", //                   7
    "      key: no key", //             8
    "    after: >", //                  9
    "      - no item", //              10
    "", //                             11
    "  -", //                          12
    "    deep: 'two", //               13
    "      lines'", //                 14
    "    next: 2 # comment", //        15
    "empty:", //                       16
    "same:", //                        17
    "- a", //                          18
    "- - b", //                        19
    "", //                             20
  ].join("\n");
  const document = parseYaml(text, { file: "f" });
  const places: readonly (readonly [YamlPath, string, string])[] = [
    [[], "2:1", "2:1"],
    [["name"], "2:7", "2:1"],
    [["quoted key"], "3:15", "3:1"],
    [["quoted key", 0], "3:16", "3:16"],
    [["quoted key", 1, "a"], "3:23", "3:20"],
    [["quoted key", 2], "4:3", "4:3"],
    [["list", 0], "6:5", "6:5"],
    [["list", 1], "7:5", "7:5"],
    [["list", 1, "text"], "7:11", "7:5"],
    [["list", 1, "after"], "9:12", "9:5"],
    [["list", 2, "deep"], "13:11", "13:5"],
    [["list", 2, "next"], "15:11", "15:5"],
    [["empty"], "16:1", "16:1"],
    [["same", 0], "18:3", "18:3"],
    [["same", 1, 0], "19:5", "19:5"],
    [["list", 2, "missing", 3], "13:5", "13:5"],
    [["missing"], "2:1", "2:1"],
  ];
  for (const [path, value, key] of places) {
    const at = document.at(path);
    const keyAt = document.keyAt(path);
    const shown = JSON.stringify(path);
    assert.equal(`${at.line}:${at.column}`, value, `value ${shown}`);
    assert.equal(`${keyAt.line}:${keyAt.column}`, key, `key ${shown}`);
  }
});

Deno.test("yaml writes what every reader reads alike", () => {
  const text = stringifyYaml({
    name: "two words",
    mode: "0777",
    time: "12:30",
    on: "yes",
    "a key": [1, [], {}, [["x"]], { a: null, b: true }],
    script: "line 1\n  line 2\n",
    left: undefined,
  });
  assert.equal(
    text,
    [
      "name: two words",
      'mode: "0777"',
      'time: "12:30"',
      '"on": "yes"',
      "a key:",
      "  - 1",
      "  - []",
      "  - {}",
      "  - - - x",
      "  - a: null",
      "    b: true",
      "script: |",
      "  line 1",
      "    line 2",
      "",
    ].join("\n"),
  );
  assert.deepEqual(stringifyYaml("a\nb\n"), '"a\\nb\\n"\n');
});

Deno.test("yaml refuses to write what JSON has no word for", () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  for (const value of [undefined, NaN, Infinity, 1n, new Date(0), new Map(), () => 1, [undefined], cycle]) {
    assert.throws(() => stringifyYaml(value), TypeError);
  }
});
