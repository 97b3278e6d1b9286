/** Which machines run from tables, and what becomes of those that cannot. */
import assert from "node:assert/strict";
import { createActor, setup, StateMachine } from "xstate";
import { compileMachine } from "../../actors/compiled.ts";
import { compileMachines, wireMachines } from "../../actors/wiring.ts";
import { CrankDesk } from "../../src/kernel/desk.ts";

Deno.test("compiled machines are all of ours: none falls back to the interpreter", () => {
  const wired = wireMachines(new CrankDesk());
  for (const [kind, logic] of Object.entries(compileMachines(wired))) {
    assert.equal(logic instanceof StateMachine, false, kind);
  }
  for (const machine of Object.values(wired)) {
    const children = Object.entries(machine.implementations.actors as Record<string, unknown>)
      .filter(([, logic]) => logic instanceof StateMachine) as [string, StateMachineOf][];
    for (const [name, logic] of children) {
      assert.equal(compileMachine(logic) instanceof StateMachine, false, name);
    }
  }
});

type StateMachineOf = Parameters<typeof compileMachine>[0];

// A machine with nested states is beyond the tables: it is run by XState as it stands, and does the same.
Deno.test("compiled machines leave a machine that is not flat to the interpreter", () => {
  const nested = setup({ types: { events: {} as { type: "go" } } }).createMachine({
    initial: "a",
    states: { a: { initial: "b", states: { b: { on: { go: "c" } }, c: {} } } },
  });
  const logic = compileMachine(nested);
  assert.equal(logic instanceof StateMachine, true);
  const actor = createActor(logic).start();
  actor.send({ type: "go" });
  assert.deepEqual(actor.getSnapshot().value, { a: "c" });
});
