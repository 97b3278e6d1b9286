/** A TypeScript program that has the runtime inside: the client of `src/client.ts` on a real store. */
import assert from "node:assert/strict";
import { openTroupe } from "../../src/client.ts";

Deno.test("a program opens a store, spawns an agent, asks it, and finds both again after it was closed", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const script = `${folder}/script.yaml`;
    await Deno.writeTextFile(script, "answers:\n  - text: Hello\n");
    await Deno.writeTextFile(
      `${folder}/agent.yaml`,
      "name: greeter\nmodel: scripted/script.yaml\n",
    );
    const options = { store: `${folder}/store.db`, agents: [folder], workspace: folder, script };
    const first = await openTroupe(options);
    const { address } = await first.spawn({ agent: "greeter", name: "one", labels: { run: "7" } });
    const turn = await first.ask({ address, text: "Hi" }, { key: "k1" });
    assert.equal(turn.state === "ended" && turn.text, "Hello");
    await first.close();
    const second = await openTroupe(options);
    try {
      const { agents } = await second.list({ labels: { run: "7" } });
      assert.deepEqual(agents.map(({ address, name }) => ({ address, name })), [{ address, name: "one" }]);
      assert.deepEqual(await second.ask({ address, text: "Hi" }, { key: "k1" }), turn);
      assert.deepEqual(await second.spawn({ agent: "greeter", name: "one" }), { address, is_new: false });
      let exported = "";
      for await (const { text } of second.export({ address })) exported += text;
      assert.match(exported.split("\n")[0] ?? "", /"address":"session\/ses_/);
      assert.equal((await second.budget({ address })).spent.model_calls, 1);
      assert.equal((await second.tree({ address })).actors[0]?.address, address);
    } finally {
      await second.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
