/** Real processes of both eras, and one client that finds out which is which without losing them. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import type { McpEra } from "../../schemas/mcp_revision.ts";
import { type McpClient, type McpClientOptions, McpFault, openMcpClient } from "../../src/mcp/client.ts";
import { startChild } from "../../src/processes/child.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { childEnv, until, within } from "../support/child_stage.ts";
import { createWorld } from "../support/world.ts";

const system = createSystemSeams({ log: () => {} });
const script = new URL("../support/modern_stdio.ts", import.meta.url).pathname;
const never = new AbortController().signal;

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly [key: string]: unknown };
}

interface Scene {
  open(options?: Partial<McpClientOptions>): Promise<McpClient>;
  /** What the server got, in order. */
  said(): readonly Message[];
}

/** Plays with a server in one mode; whatever was started has ended at the end. */
async function withServer(
  mode: readonly string[],
  eras: readonly McpEra[],
  play: (scene: Scene) => Promise<void>,
  clock = system.clock,
): Promise<void> {
  const [name = "", ...words] = mode;
  const folder = await Deno.makeTempDir({ prefix: "troupe-modern-" });
  const ledger = `${folder}/ledger`;
  await Deno.writeTextFile(ledger, "");
  const args = ["run", "-A", "--quiet", "--no-config", script, name, ledger, ...words];
  const child = startChild({
    command: Deno.execPath(),
    args,
    cwd: folder,
    env: { ...childEnv, HOME: folder },
    clock,
  });
  const opened: McpClient[] = [];
  const tries = eras.map((era) => ({ era }));
  const open = async (options: Partial<McpClientOptions> = {}) => {
    const client = await openMcpClient({
      child,
      clock,
      connectMs: 30_000,
      signal: never,
      eras: tries,
      ...options,
    });
    opened.push(client);
    return client;
  };
  const said = () =>
    Deno.readTextFileSync(ledger).split("\n").filter(Boolean).map((line) => JSON.parse(line) as Message);
  try {
    await play({ open, said });
  } finally {
    child.kill();
    for (const client of opened) await client.close();
    await child.close();
    await Deno.remove(folder, { recursive: true });
  }
}

function call(client: McpClient, tool: string, signal = never) {
  const idleMs = limits.mcpCallIdleMs;
  return client.call({
    tool,
    arguments: { a: 1 },
    key: "session/s#1.0",
    signal,
    idleMs,
    onProgress: () => {},
  });
}

for (const code of ["-32022", "-32601", "-32602"]) {
  Deno.test(`mcp process of the modern era that refuses a handshake with error ${code} is spoken to on, without another start`, async () => {
    await withServer(["modern", code], ["legacy", "modern"], async ({ open, said }) => {
      const client = await within("opening", () => open());
      assert.deepEqual([client.greeting.era, client.greeting.protocolVersion], ["modern", "2026-07-28"]);
      assert.equal((await client.list(never)).length, 1);
      const result = await call(client, "echo");
      assert.ok(result.status === "returned" && /\{\\"a\\":1\}/.test(JSON.stringify(result.result)));
      const messages = said();
      assert.deepEqual(messages.map(({ method }) => method), [
        "initialize",
        "server/discover",
        "tools/list",
        "tools/call",
      ]);
      // One process, so no number stands for two requests.
      assert.equal(new Set(messages.map(({ id }) => id)).size, 4);
      for (const { params } of messages.slice(1)) {
        const meta = params?.["_meta"] as { readonly [key: string]: unknown };
        assert.equal(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert.deepEqual(meta["io.modelcontextprotocol/clientCapabilities"], {});
      }
    });
  });
}

Deno.test("mcp process of the legacy era is asked nothing before its handshake", async () => {
  await withServer(["dies"], ["legacy", "modern"], async ({ open, said }) => {
    const client = await within("opening", () => open());
    assert.deepEqual([client.greeting.era, client.greeting.protocolVersion], ["legacy", "2025-06-18"]);
    assert.equal((await call(client, "echo")).status, "returned");
    assert.deepEqual(said().map(({ method }) => method), [
      "initialize",
      "notifications/initialized",
      "tools/call",
    ]);
  });
});

Deno.test("mcp process that refuses a handshake and says nothing else has as long as any handshake", async () => {
  const world = createWorld();
  await withServer(["mute", "-32601"], ["legacy", "modern"], async ({ open, said }) => {
    const opening = open().then(
      () => "opened",
      (error) => error instanceof McpFault ? error.failure.message : "",
    );
    await until("it was asked", () => said().length === 2);
    await world.advance(30_000);
    assert.match(await within("giving up", () => opening), /refused the handshake with error -32601: no/);
  }, world.seams.clock);
});

Deno.test("mcp process that speaks no era says why in the words of its handshake", async () => {
  await withServer(["refuses", "-32601"], ["legacy", "modern"], async ({ open, said }) => {
    await assert.rejects(open, (error) => {
      assert.ok(error instanceof McpFault);
      assert.equal(error.failure.code, "mcp_connect_failed");
      assert.match(error.failure.message, /refused the handshake with error -32601: no/);
      return true;
    });
    assert.deepEqual(said().map(({ method }) => method), ["initialize", "server/discover"]);
  });
});

Deno.test("mcp process that refuses a handshake for a reason of its own is not asked of what era it is", async () => {
  await withServer(["refuses", "-32000"], ["legacy", "modern"], async ({ open, said }) => {
    await assert.rejects(open, McpFault);
    assert.deepEqual(said().map(({ method }) => method), ["initialize"]);
  });
});

Deno.test("mcp call to a process of the modern era is canceled by a message that says all there is to know", async () => {
  await withServer(["modern"], ["modern"], async ({ open, said }) => {
    const client = await within("opening", () => open());
    const abort = new AbortController();
    const calling = call(client, "wait", abort.signal);
    await until("it was called", () => said().length === 2);
    abort.abort();
    await until("it was canceled", () => said().length === 3);
    const [, called, canceled] = said();
    assert.equal(canceled?.method, "notifications/cancelled");
    assert.equal(canceled?.params?.["requestId"], called?.id);
    assert.ok("io.modelcontextprotocol/protocolVersion" in (canceled?.params?.["_meta"] as object));
    assert.equal((await calling).status, "lost");
  });
});

Deno.test("mcp revision of the legacy era that a manifest asks for is offered, and no other is taken (CM-65)", async () => {
  await withServer(["legacy"], ["legacy"], async ({ open, said }) => {
    const client = await within("opening", () => open({ revision: "2025-06-18" }));
    assert.equal(client.greeting.protocolVersion, "2025-06-18");
    assert.equal(said()[0]?.params?.["protocolVersion"], "2025-06-18");
  });
  await withServer(["legacy"], ["legacy"], async ({ open, said }) => {
    await assert.rejects(() => open({ revision: "2024-11-05" }), (error) => {
      assert.ok(error instanceof McpFault);
      assert.match(error.failure.message, /answers with revision 2025-06-18, not with 2024-11-05/);
      return true;
    });
    assert.equal(said()[0]?.params?.["protocolVersion"], "2024-11-05");
  });
});

Deno.test("mcp capabilities that we declare are told in every request of the modern era, and in the handshake of the other", async () => {
  const capabilities = { elicitation: { form: {} } };
  await withServer(["modern"], ["modern"], async ({ open, said }) => {
    await within("opening", () => open({ capabilities }));
    const meta = said()[0]?.params?.["_meta"] as { readonly [key: string]: unknown };
    assert.deepEqual(meta["io.modelcontextprotocol/clientCapabilities"], capabilities);
  });
  await withServer(["legacy"], ["legacy"], async ({ open, said }) => {
    await within("opening", () => open({ capabilities }));
    assert.deepEqual(said()[0]?.params?.["capabilities"], capabilities);
  });
});
