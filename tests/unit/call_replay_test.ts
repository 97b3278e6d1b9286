/** Whether a replay sees a call whose entry is in no catalog that the session was issued, whoever wrote the entries. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { CallReplay } from "../../src/effects/call_replay.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import { openStage, settled } from "../support/stage.ts";

interface CallBody {
  readonly args: {
    readonly entry: { readonly catalog: string; readonly name: string; readonly hash: string };
  };
}

Deno.test("replay names the call whose entry is not the one of a recorded catalog (DM-8)", async () => {
  const stage = await openStage({
    answers: [{ calls: [{ tool: "look" }] }, { text: "Done" }],
    tools: [{ name: "look" }],
  });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go on"));
  await settled(stage.world, report);
  const entries = await stage.entries(session);
  const call = entries.find(({ kind, type }) => kind === "intent" && type === "tool.call");
  const divergenceOf = async (change: Partial<CallBody["args"]["entry"]>, isIssued = true) => {
    const check = new CallReplay({
      address: session,
      loadShelved: (hash) => loadShelved(stage.runtime.journal, hash),
    });
    for (const entry of entries) {
      if (entry.type === "catalog.issued" && !isIssued) continue;
      await settled(
        stage.world,
        Promise.resolve(check.take(entry === call ? changed(entry, change) : entry)),
      );
    }
    return check.divergence;
  };
  assert.ok((call?.body as unknown as CallBody).args.entry.hash.startsWith("sha256:"));
  assert.equal(await divergenceOf({}), undefined);
  const other = `sha256:${"e".repeat(64)}`;
  const problems: readonly (readonly [Partial<CallBody["args"]["entry"]>, boolean, RegExp])[] = [
    [{ name: "send" }, true, /no such entry/],
    [{ hash: other }, true, /not the one/],
    [{ catalog: other }, true, /never issued/],
    [{}, false, /never issued/],
    [{ name: 1 as never }, true, /names no entry/],
  ];
  for (const [change, isIssued, expected] of problems) {
    const divergence = await divergenceOf(change, isIssued);
    assert.match(String(divergence?.got), expected);
    assert.deepEqual([divergence?.seq, divergence?.address], [call?.seq, session]);
    assert.match(divergence?.what ?? "", /catalog_mismatch/);
  }
});

function changed(entry: Entry, change: Partial<CallBody["args"]["entry"]>): Entry {
  const body = entry.body as unknown as CallBody;
  const args = { ...body.args, entry: { ...body.args.entry, ...change } };
  return { ...entry, body: { ...body, args } as never };
}
