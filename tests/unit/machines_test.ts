/** Whether machines that all runtimes of a process share ask only the desk whose crank is under way. */
import assert from "node:assert/strict";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import { throughJson } from "../../src/canonical.ts";
import { CrankDesk, openDesk } from "../../src/kernel/desk.ts";
import { LiveRoot } from "../../src/kernel/live_root.ts";
import { machinesOf } from "../../src/kernel/machines.ts";
import { machineCode } from "../../src/machine_code.ts";
import { sourceOf, toolOf } from "../support/desk.ts";

function catalogOn(desk: CrankDesk, name: string): LiveRoot {
  return new LiveRoot(`catalog/${name}`, "catalog", machinesOf().catalog, desk);
}

function created(name: string): Json {
  const input = {
    address: `catalog/${name}`,
    coreRevision: "core-1",
    agent: AgentDefinition.parse({ name: "clerk", model: "scripted/script.yaml" }),
    policy: HostPolicy.parse({}),
    sources: [sourceOf("mcp", [toolOf(name)])],
  };
  return throughJson({ machine: "catalog", code: machineCode, input }) as Json;
}

Deno.test("machines are made once for a wiring, and each desk hears of its own roots alone", () => {
  assert.equal(machinesOf(), machinesOf());
  const names = ["ses_ONE", "ses_TWO"] as const;
  const desks = names.map(() => new CrankDesk());
  const roots = names.map((name, index) => catalogOn(desks[index] as CrankDesk, name));
  const records = roots.map((root, index) =>
    root.deliver({ kind: "created", seq: index + 1, at: 1, epoch: 1, body: created(names[index] as string) })
  );
  records.forEach(({ seq, writes, fault }, index) => {
    assert.equal(fault, undefined);
    assert.deepEqual(writes.map(({ kind }) => kind), ["ask"]);
    assert.equal(seq, index + 1);
    assert.deepEqual([...roots[index]?.ports.keys() ?? []], [`${index + 1}.0`]);
    assert.ok(JSON.stringify(writes[0]).includes(`"${names[index]}"`));
  });
});

Deno.test("machine that is started outside of a crank asks nobody", () => {
  const desk = new CrankDesk();
  desk.begin(new Map(), 7);
  const record = desk.end();
  assert.equal(openDesk.book({ port: "timer.set", effect: "idempotent", args: {} } as never), "1.0");
  openDesk.post({ kind: "note", type: "test", body: null } as never);
  openDesk.cancel("7.0");
  assert.deepEqual([record.writes, record.cancels], [[], []]);
  assert.equal(openDesk.mayGoOn(), true);
});
