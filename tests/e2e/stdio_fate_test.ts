/** What a runtime on a pipe does when the program that started it is killed: real processes, ended by SIGKILL. */
import assert from "node:assert/strict";
import { type ActorClient, spawnTroupe } from "../../src/client.ts";
import { ownProgram } from "../../src/host/own_program.ts";

const self = ownProgram((name) => Deno.env.get(name));

/** Longest wait for anything, in milliseconds: only a broken build comes near it. */
const patienceMs = 60_000;

/** A program that begins two agents on a pipe, asks a third, and says their addresses once all are at work. */
const program = `
import { spawnTroupe } from ${JSON.stringify(new URL("../../src/client.ts", import.meta.url).href)};
const [command, before] = JSON.parse(Deno.args[0]);
const client = await spawnTroupe({ command, before, args: ["."] });
const begin = async (fate) =>
  (await client.spawn({ agent: "patient", prompt: "Go", on_parent_exit: fate })).address;
const found = [await begin("stop"), await begin("detach")];
const { address } = await client.spawn({ agent: "patient" });
const asking = client.ask({ address, text: "Hi" }, { key: "a" });
for await (const { item } of client.watch({ address, view: "transcript" })) if (item.type === "prompt") break;
console.log(JSON.stringify([...found, address]));
await asking;
`;

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes("\n")) break;
  }
  return text.split("\n")[0] ?? "";
}

Deno.test({
  name:
    "a parent that is killed ends its runtime: agents that stop with it stop, detached ones and its ask go on",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      // Busy for a while at each model's first attempt, so that every turn is open when the parent dies.
      const answer =
        "  - { text: Hello, fail: { code: model_rate_limited, retry_after_ms: 3000, times: 1 } }\n";
      await Deno.writeTextFile(`${folder}/script.yaml`, `answers:\n${answer}`);
      await Deno.writeTextFile(`${folder}/agent.yaml`, "name: patient\nmodel: scripted/script.yaml\n");
      await Deno.writeTextFile(`${folder}/program.js`, program);
      const env = {
        ...Deno.env.toObject(),
        ...self.env,
        TROUPE_STORE: `${folder}/store.db`,
        XDG_CONFIG_HOME: `${folder}/config`,
        XDG_DATA_HOME: `${folder}/data`,
      };
      const [, , , config] = self.args.slice(1);
      const parent = new Deno.Command(self.command, {
        args: [
          "run",
          "-A",
          "--quiet",
          "--config",
          String(config),
          "program.js",
          JSON.stringify([self.command, self.args]),
        ],
        cwd: folder,
        env,
        stdout: "piped",
      }).spawn();
      const [stops, stays, asked] = JSON.parse(await firstLine(parent.stdout)) as [string, string, string];
      parent.kill("SIGKILL");
      await parent.status;
      // The store is free once the runtime has noticed: until then the next one is refused.
      const next = await reopened(() =>
        spawnTroupe({ command: self.command, before: self.args, args: ["."], cwd: folder, env })
      );
      try {
        const prompted = await next.ask({ address: stops, text: "Still there?" });
        assert.equal(prompted.state === "ended" && prompted.failure?.code, "session_closed");
        const turn = await next.ask({ address: asked, text: "Hi" }, { key: "a" });
        assert.equal(turn.state === "ended" && turn.text, "Hello");
        assert.equal(turn.state === "ended" && turn.turn, 1);
        const going: string[] = [];
        for await (const event of next.watch({ address: stays, view: "transcript" })) {
          if (event.type === "transcript" && event.item.type === "answer") going.push(event.item.text);
          if (going.length > 0) break;
        }
        assert.deepEqual(going, ["Hello"]);
        assert.match((await next.get({ address: stays })).address, /^session/);
      } finally {
        await next.close();
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** A runtime, as soon as it may have the store. */
async function reopened(open: () => Promise<ActorClient>): Promise<ActorClient> {
  for (const end = Date.now() + patienceMs;;) {
    const client = await open();
    try {
      await client.list({});
      return client;
    } catch (error) {
      await client.close();
      if (Date.now() > end || !String(error).includes("store_in_use")) throw error;
    }
  }
}
