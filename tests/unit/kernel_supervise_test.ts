/** Crashed roots whose supervisor is itself out of service (K23). */
import assert from "node:assert/strict";
import { quarantine } from "../../src/kernel/poison.ts";
import { openPuppet } from "../support/puppet.ts";

const supervisor = "supervisor/main";
const breaking = { do: "throw" } as const;

Deno.test("kernel lets a broken root go on at once if its supervisor is out of service (K23)", async () => {
  const puppet = await openPuppet();
  quarantine(puppet.kernel, supervisor, "planted by a test");
  await puppet.act(breaking);
  await puppet.stage.world.settle();
  await puppet.tell({ type: "puppet.act", acts: [], n: 1 });
  await puppet.stage.world.settle();
  assert.deepEqual(puppet.heard().map((one) => one["n"]), [1]);
});

Deno.test("kernel lets roots go on that waited for a supervisor which goes out of service (K23)", async () => {
  const puppet = await openPuppet();
  await puppet.act(breaking);
  await puppet.stage.world.settle();
  await puppet.tell({ type: "puppet.act", acts: [], n: 1 });
  await puppet.stage.world.settle();
  assert.deepEqual(puppet.heard(), [], "held until the supervisor has waited");
  quarantine(puppet.kernel, supervisor, "planted by a test");
  await puppet.stage.world.settle();
  assert.deepEqual(puppet.heard().map((one) => one["n"]), [1]);
});

Deno.test("kernel refuses to start a root anew that has a journal, and says so to its supervisor (K23)", async () => {
  const puppet = await openPuppet();
  const perform = puppet.kernel.performers["child.start"];
  const result = await perform({
    root: supervisor,
    id: "2.0",
    key: "",
    attempt: 1,
    request: { port: "child.start", effect: "idempotent", args: { child: puppet.root, mode: "clean" } },
    signal: new AbortController().signal,
    report: () => {},
  });
  assert.equal(result.status === "failed" && result.failure.code, "clean_start_refused");
});
