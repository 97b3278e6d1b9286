/** The rules of the house are themselves checked: each finds its violation and lets the good twin pass. */
import assert from "node:assert/strict";
import plugin from "../../.house/lint_plugin.ts";

interface Case {
  readonly rule: string;
  readonly file: string;
  /** One violation each. */
  readonly bad: readonly string[];
  /** What looks alike and is allowed. */
  readonly good: readonly string[];
}

function many(count: number, line: string): string {
  return Array.from({ length: count }, () => line).join("\n");
}

const cases: readonly Case[] = [
  {
    rule: "no-ambient",
    file: "src/kernel/crank.ts",
    bad: [
      "export const at = Date.now();",
      'export const at = Date["now"]();',
      "export const now = Date.now;",
      "export const { now } = Date;",
      "export const { random: chance } = globalThis.Math;",
      "export const at = new Date();",
      "export const at = Date();",
      "export const at = performance.now();",
      "export const chance = Math.random();",
      "export const id = crypto.randomUUID();",
      "export const id = globalThis.crypto.randomUUID();",
      "crypto.getRandomValues(bytes);",
      "setTimeout(run, 1);",
      "globalThis.setTimeout(run, 1);",
      "later(setTimeout);",
      "export const seams = { setTimeout };",
      "setInterval(run, 1);",
      "export const signal = AbortSignal.timeout(5);",
      'console.log("x");',
      'globalThis.console?.log("x");',
      'import { setTimeout as sleep } from "node:timers/promises";',
      'await fetch("http://example.test");',
      "export const socket = new WebSocket(url);",
      "export const socket = await Deno.connect({ port });",
      "export const listener = Deno.listen({ port });",
      "Deno.serve(answer);",
      'new Deno.Command("ls");',
      'import { spawn } from "node:child_process";',
      'export const net = await import("node:net");',
    ],
    good: [
      "export const at = seams.clock.now();",
      "export const date = new Date(at);",
      "export const options = { fetch: 1, setTimeout: 2, console: 3 };",
      "client.fetch(1); world.setTimeout(2); logger.console.log(3);",
      "export interface World { readonly fetch: typeof fetch; readonly socket: WebSocket }",
      'export const digest = await crypto.subtle.digest("SHA-256", bytes);',
      "export const size = Math.max(1, 2);",
      '// Date.now() and fetch("x") in a comment\nexport const text = "Date.now()";',
      'import { join } from "node:path";',
    ],
  },
  {
    rule: "no-machine-timer",
    file: "actors/turn.ts",
    bad: [
      "export const machine = createMachine({ after: { 1000: 'late' } });",
      "setup({ delays: {} });",
      "raise({ type: 'late' }, { delay: 1000 });",
      "export const logic = fromPromise(load);",
      "export const logic = fromCallback(listen);",
      "export const logic = fromObservable(watch);",
      "export async function load() {}",
      "export const machine = createMachine({ entry: async () => {} });",
      "for (const it of items) await it;",
      "export function load(): Promise<void> {}",
      "export const args = Deno.args;",
      "export function due(at: Date) {}",
      "export const at = Date.now();",
      "createMachine({ invoke: { src: otherMachine } });",
      "createMachine({ invoke: [{ src: fromTransition(step, 0) }] });",
      "createMachine({ invoke: { src: `port` } });",
      "spawn(invocationMachine, { id });",
      "enqueue.spawnChild(invocationMachine);",
      "spawnChild(({ context }) => context.logic);",
    ],
    good: [
      'createMachine({ invoke: { src: "port", onDone: "settled" } });',
      'createMachine({ invoke: [{ src: "port" }] });',
      'spawn("invocation", { id });',
      'enqueue.spawnChild("invocation" as const);',
      "export const picture = { src: image };",
      "export const rule = { delay: 3 };",
      "export function afterAttempt(next: Next) { return next.after; }",
    ],
  },
  {
    rule: "no-any-cast",
    file: "src/runtime.ts",
    bad: ["export const a = b as any;", "export const a = <any> b;", "export const a = b!;", "b!.c();"],
    good: ["export const a = b as unknown;", "export const a = !b;", "if (a != b) c();"],
  },
  {
    rule: "no-private-keyword",
    file: "src/runtime.ts",
    bad: [
      "class A { private x = 1; }",
      "class A { private x() {} }",
      "class A { constructor(private readonly x: number) {} }",
    ],
    good: ["class A { #x = 1; #y() {} protected z = 1; }"],
  },
  {
    rule: "no-default-export",
    file: "src/runtime.ts",
    bad: ["export default 1;", "export default function run() {}", "const a = 1;\nexport { a as default };"],
    good: ["export const a = 1;", "const b = 1;\nexport { b as c };"],
  },
  {
    rule: "top-level-function",
    file: "actors/batch.ts",
    bad: [
      "const plan = () => 1;",
      "export const plan = function () {};",
      "export const plan = (a: number) => a;",
    ],
    good: [
      "export function plan() { const inner = () => 1; return inner; }",
      "export const plans = [1].map((it) => it);",
      "export const table = { plan: () => 1 };",
    ],
  },
  {
    rule: "function-lines",
    file: "src/kernel/crank.ts",
    bad: [
      `export function crank() {\n${many(69, "  run();")}\n}`,
      `export const table = {\n  crank: () => {\n${many(69, "    run();")}\n  },\n};`,
      `class A {\n  crank() {\n${many(69, "    run();")}\n  }\n}`,
    ],
    good: [
      `export function crank() {\n${many(68, "  run();")}\n}`,
      `export const table = {\n${many(100, "  // A table may be long.")}\n};`,
    ],
  },
  {
    rule: "parameter-count",
    file: "src/kernel/crank.ts",
    bad: ["export function crank(a, b, c, d, e) {}", "each((a, b, c, d, ...e) => 1);"],
    good: ["export function crank(a, b, c, { d, e, f }) {}", "function crank(this: A, a, b, c, d) {}"],
  },
];

/** What one rule finds; other rules may find something too. */
function found(rule: string, file: string, source: string): readonly string[] {
  return Deno.lint.runPlugin(plugin, file, source)
    .filter((diagnostic) => diagnostic.id === `house/${rule}`)
    .map((diagnostic) => diagnostic.message);
}

for (const { rule, file, bad, good } of cases) {
  Deno.test(`house rule ${rule} finds each violation`, () => {
    for (const source of bad) assert.notEqual(found(rule, file, source).length, 0, `not found: ${source}`);
  });

  Deno.test(`house rule ${rule} lets the good twins pass`, () => {
    for (const source of good) assert.deepEqual(found(rule, file, source), [], source);
  });
}

Deno.test("house rules are all tried here", () => {
  assert.deepEqual(cases.map(({ rule }) => rule).sort(), Object.keys(plugin.rules).sort());
});

Deno.test("house rule no-ambient knows the places where time and the outside come in", () => {
  const clock = "export const at = Date.now();";
  const outside = 'await fetch("http://example.test");';
  assert.deepEqual(found("no-ambient", "src/seams.ts", clock), []);
  assert.deepEqual(found("no-ambient", "tests/tour_test.ts", clock), []);
  for (const file of ["main.ts", "schemas/ids.ts", "actors/turn.ts", "src/effects/tool_call.ts"]) {
    assert.equal(found("no-ambient", file, clock).length, 1, file);
  }
  for (const folder of ["effects", "mcp", "processes", "door"]) {
    assert.deepEqual(found("no-ambient", `src/${folder}/client.ts`, outside), []);
  }
  for (const file of ["main.ts", "src/seams.ts", "src/journal/store.ts", "src/mcp.ts"]) {
    assert.equal(found("no-ambient", file, outside).length, 1, file);
  }
});

Deno.test("house rule no-machine-timer leaves what is not a machine alone", () => {
  assert.deepEqual(found("no-machine-timer", "src/runtime.ts", "export async function run() {}"), []);
});

Deno.test("house rules give tests what only tests may do", () => {
  assert.deepEqual(found("no-any-cast", "tests/tour_test.ts", "export const a = b!;"), []);
  assert.equal(found("no-any-cast", "tests/tour_test.ts", "export const a = b as any;").length, 1);
  const long = `export function tour() {\n${many(80, "  run();")}\n}`;
  assert.deepEqual(found("function-lines", "tests/tour_test.ts", long), []);
});

Deno.test("house rules read the path that the linter gives, absolute or not", () => {
  const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
  const source = "export const at = Date.now();";
  assert.equal(found("no-ambient", `${root}src/runtime.ts`, source).length, 1);
  assert.deepEqual(found("no-ambient", `${root}src/seams.ts`, source), []);
  assert.deepEqual(found("no-default-export", `${root}.house/lint_plugin.ts`, "export default 1;"), []);
});
