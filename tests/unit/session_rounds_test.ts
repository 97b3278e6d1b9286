/** Whether a session's turns get the rounds that its agent allows, and no others. */
import assert from "node:assert/strict";
import { sessionMachine } from "../../actors/session.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { Json } from "../../schemas/json.ts";
import { localOperator } from "../../schemas/principal.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import { startRun, toolOf } from "../support/desk.ts";
import { rootNamed } from "../support/units.ts";

interface TurnReply {
  readonly outcome: string;
  readonly steps: number;
  readonly failure?: { readonly code: string; readonly message: string };
}

/** How a turn ends whose model calls a tool in each of its rounds, and how often the model was asked. */
function endlessTurn(limits: { readonly [name: string]: Json }) {
  const run = startRun(sessionMachine, {
    address: rootNamed(1),
    agent: AgentDefinition.parse({ name: "test", model: "scripted/test", limits }),
    home: "embedded:test",
    catalog: "catalog/x",
    principal: localOperator,
    servers: [],
    mode: "default",
  });
  const catalog = sealCatalog([toolOf("look")]);
  run.send({ type: "catalog.issued", catalog, renewal: 0, servers: [] } as never);
  const command = { principal: "operator:local", key: "a" };
  run.send({ type: "session.prompt", text: "Go on for ever" } as never, { command });
  for (let rounds = 0; rounds < 100 && run.state() === "running"; rounds++) {
    run.settle("model.generate", modelAnswer("", [{ name: "look" }]));
    if (run.pending().includes("tool.call")) run.settle("tool.call", toolReturn("seen"));
  }
  const reply = run.desk.posts.find((post) => post.kind === "reply");
  const { outcome, steps, failure } = reply?.value as unknown as TurnReply;
  const asked = run.kinds().filter((kind) => kind === "model.generate").length;
  return { outcome, steps, code: failure?.code, asked, message: failure?.message ?? "" };
}

// Proves CM-93: the agent's own number, and 64 if it says none; each turn of 64 rounds is played to its end.
Deno.test("session ends a turn after the rounds that its agent allows, 64 by default", () => {
  const cases: readonly (readonly [{ readonly [name: string]: Json }, number])[] = [
    [{}, 64],
    [{ rounds_per_turn: 1 }, 1],
    [{ rounds_per_turn: 7 }, 7],
    [{ rounds_per_turn: 90 }, 90],
  ];
  for (const [limits, rounds] of cases) {
    const { message, ...ended } = endlessTurn(limits);
    assert.deepEqual(ended, {
      outcome: "failed",
      steps: rounds,
      code: "provider_round_limit_exceeded",
      asked: rounds,
    });
    assert.ok(message.includes(`${rounds} model rounds`), message);
  }
});
