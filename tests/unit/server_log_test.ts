/** The private log of servers' last words: who may read it, how much of them it has, and what stands for secrets. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { ServerLog, type ServerLogOptions, unsearched } from "../../src/mcp/server_log.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { createWorld } from "../support/world.ts";

const secret = "s3cret-value-of-the-operator";

interface Kept {
  readonly path: string;
  readonly events: readonly string[];
  readonly lines: () => { readonly stderr: string; readonly code: number | null }[];
  readonly say: (stderr: string) => void;
}

async function withLog(changes: Partial<ServerLogOptions>, play: (kept: Kept) => void): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "troupe-log-" }));
  try {
    const known = new KnownSecrets();
    known.add({ value: secret, name: "token", source: "bound" });
    const { clock } = createWorld().seams;
    const events: string[] = [];
    const store = `${folder}/store.db`;
    const log = await ServerLog.beside({
      store,
      redactor: createDoorRedactor(known),
      clock,
      log: ({ event }) => void events.push(event),
      ...changes,
    });
    const path = `${store}.servers.log`;
    play({
      path,
      events,
      lines: () => Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line)),
      say: (stderr) => log.note({ connection: "connection/docs@ses_1", code: 7, signal: null, stderr }),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("server log is its owner's alone, and has the last 12,000 characters of each server without secrets (DM-72)", async () => {
  await withLog({}, ({ path, lines, say }) => {
    say("");
    assert.throws(() => Deno.statSync(path), Deno.errors.NotFound);
    say(`cannot log in with "${secret}"\n\u001b[2J`);
    say(`${"first\n".repeat(9_000)}last with ${secret}\n`);
    const [one, two] = lines();
    assert.equal(one?.code, 7);
    assert.match(one?.stderr ?? "", /^cannot log in with "[^"]*token[^"]*"\n\\u\{1b\}\[2J$/);
    assert.ok(two !== undefined && two.stderr.length <= limits.mcpStderrCharactersMax);
    assert.ok(two.stderr.length > limits.mcpStderrCharactersMax - 10 && two.stderr.startsWith("first\n"));
    assert.ok(!JSON.stringify(lines()).includes(secret));
    assert.equal((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
    // Whatever somebody did to it.
    Deno.chmodSync(path, 0o644);
    say("again");
    assert.equal((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
  });
});

Deno.test("server log has a fixed mark in the place of words that could not be searched for secrets (DM-72)", async () => {
  const failing: readonly ServerLogOptions["redactor"][] = [
    {
      text: () => {
        throw new Error(secret);
      },
    },
    { text: () => ({ value: secret, findings: [], isWithheld: true }) },
  ];
  for (const redactor of failing) {
    await withLog({ redactor }, ({ lines, say }) => {
      say(`a word with ${secret}`);
      assert.deepEqual(lines().map(({ stderr }) => stderr), [unsearched]);
    });
  }
});

Deno.test("server log begins a new file once it is full, keeps the one before, and never stops a server", async () => {
  await withLog({}, ({ path, lines, say, events }) => {
    Deno.writeFileSync(path, new Uint8Array(limits.mcpLogFileBytesMax));
    say("fresh");
    assert.deepEqual(lines().map(({ stderr }) => stderr), ["fresh"]);
    assert.equal(Deno.statSync(`${path}.old`).size, limits.mcpLogFileBytesMax);
    Deno.removeSync(path);
    Deno.mkdirSync(path);
    say("lost");
    say("lost");
    assert.deepEqual(events, ["server_log_unusable"]);
  });
});
