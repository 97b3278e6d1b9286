/** Whether "always" is offered only where one rule says exactly what would be allowed. */
import assert from "node:assert/strict";
import { offersFor, runsAnything } from "../../actors/policy/offer.ts";
import { ruleKey } from "../../actors/policy/rule_key.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { toolOf } from "../support/desk.ts";
import { entryFor, sealedEntry } from "../support/tools.ts";

function offersAlways(callArguments: JsonObject, changes: Partial<ToolDefinition> = {}): boolean {
  const entry = sealedEntry(entryFor(toolOf("act", { sideEffects: true, ...changes })));
  const offers = offersFor(entry, ruleKey(entry, callArguments));
  assert.deepEqual(offers.slice(0, 2), ["allow", "deny"]);
  return offers.includes("always_allow_for_session");
}

const terminal = { capability: "terminal.exec" };

Deno.test("always is not offered for interpreters and wrappers, however they are written (B20)", () => {
  const programs =
    ("sh bash zsh dash env busybox python python3 python3.12 node node18 deno perl ruby xargs sudo timeout nice " +
      "nohup stdbuf setsid eval find ssh docker").split(" ");
  for (const program of programs) {
    for (const name of [program, `/usr/bin/${program}`, program.toUpperCase(), `${program}.exe`]) {
      assert.ok(!offersAlways({ argv: [name, "-c", "true"] }), name);
      assert.ok(!offersAlways({ command: `${name} -c true` }), name);
      assert.ok(!offersAlways({ command: name, args: ["-c", "true"] }, terminal), name);
    }
  }
  for (const command of ["A=1 B=2 sh x", "'sh' x", "s''h x", "\\sh x", "C:\\bin\\python.exe x", "  bash"]) {
    assert.ok(!offersAlways({ command }), command);
  }
});

Deno.test("always is not offered for a command line of more than one plain command (B20)", () => {
  const lines = [
    "git status; rm x",
    "a && b",
    "a | b",
    "a > b",
    "a $(b)",
    "a `b`",
    "a\nb",
    "a ${b}",
    "a &",
    "a \\b",
  ];
  for (const command of lines) assert.ok(!offersAlways({ command }), command);
});

Deno.test("always is not offered where it cannot be told what a terminal would run (B20)", () => {
  for (
    const callArguments of [{}, { command: "" }, { argv: [] }, { argv: [1] }, { command: { run: "git" } }]
  ) {
    assert.ok(!offersAlways(callArguments as JsonObject, terminal), JSON.stringify(callArguments));
  }
  assert.ok(!offersAlways({ text: "x" }, { capability: "terminal.exec:build" }));
});

Deno.test("always is offered for plain programs and for tools that run none", () => {
  assert.ok(offersAlways({ argv: ["git", "status"] }, terminal));
  assert.ok(offersAlways({ command: "git status --short" }));
  assert.ok(offersAlways({ path: "sh", text: "python -c 1" }));
  assert.ok(!runsAnything(entryFor(toolOf("act")), { path: "/bin/sh" }));
});

Deno.test("always is not offered where no exact rule can be made", () => {
  assert.ok(!offersAlways({ text: "x".repeat(600) }));
  assert.ok(offersAlways({ text: "x".repeat(600) }, { sideEffects: false }));
  // The entries of an earlier release's catalog have no hash to bind an answer to.
  assert.deepEqual(offersFor({}, "act"), ["allow", "deny"]);
});

Deno.test("rule of a tool that takes a command is exact, whatever it says of its side effects (DM-38)", () => {
  const entry = sealedEntry(entryFor(toolOf("act", { sideEffects: false })));
  assert.equal(ruleKey(entry, { argv: ["git", "log"] }), 'act {"argv":["git","log"]}');
  assert.equal(ruleKey(entry, { argv: ["sh", "x"] }), "");
  assert.equal(ruleKey(entry, { path: "a" }), "act");
});
