/** `troupe serve --mcp` in real processes: on a pipe, under our own client, and under one that others wrote. */
import assert from "node:assert/strict";
import { Client, StdioClientTransport } from "../support/mcp_pipe.ts";
import { ownProgram } from "../../src/host/own_program.ts";
import { bodiesOf, callOf, entriesOf, sessionIn, writeMcpAgent } from "./mcp_stage.ts";
import { askPolicy, assertRefused, onStage, readScript, type Stage, writeAgent } from "./troupe.ts";

const self = ownProgram((name) => Deno.env.get(name));

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly structuredContent?: { readonly [name: string]: unknown } };
}

/** A server on a pipe, as the program that started it has it. */
class Pipe {
  readonly messages: Message[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #read: Promise<void>;
  #news = Promise.withResolvers<void>();
  #isOver = false;

  constructor(stage: Stage, ...args: readonly string[]) {
    this.#child = new Deno.Command(self.command, {
      args: [...self.args, "serve", "--mcp", "./agent", "--workspace", "ws", ...args],
      cwd: stage.folder,
      env: {
        ...self.env,
        TROUPE_STORE: stage.path("store.db"),
        XDG_CONFIG_HOME: stage.path("config"),
        XDG_DATA_HOME: stage.path("data"),
      },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#read = this.#readAll();
  }

  async #readAll(): Promise<void> {
    let rest = "";
    for await (const piece of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop() ?? "";
      this.messages.push(...lines.map((line) => JSON.parse(line)));
      this.#news.resolve();
      this.#news = Promise.withResolvers();
    }
    this.#isOver = true;
    this.#news.resolve();
  }

  async say(...messages: readonly object[]): Promise<void> {
    const text = messages.map((one) => `${JSON.stringify({ jsonrpc: "2.0", ...one })}\n`).join("");
    await this.#writer.write(new TextEncoder().encode(text));
  }

  async call(id: number, name: string, given: object, meta: object = {}): Promise<void> {
    await this.say({ id, method: "tools/call", params: { name, arguments: given, ...meta } });
  }

  async until(isIt: (message: Message) => boolean): Promise<Message> {
    while (true) {
      const found = this.messages.find(isIt);
      if (found !== undefined) return found;
      if (this.#isOver) assert.fail(`It ended without it: ${JSON.stringify(this.messages)}`);
      await this.#news.promise;
    }
  }

  /** Ends its input, or asks it to end, and waits until it has. */
  async end(signal?: Deno.Signal): Promise<number> {
    if (signal === undefined) await this.#writer.close();
    else this.#child.kill(signal);
    const { code } = await this.#child.status;
    await this.#read;
    if (signal !== undefined) await this.#writer.close().catch(() => {});
    return code;
  }
}

const hello = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

Deno.test("the end of its input, or SIGTERM, ends an MCP server on a pipe once what it accepted is answered", () =>
  onStage(async (stage) => {
    await writeAgent(stage, readScript);
    const pipe = new Pipe(stage);
    await pipe.say(hello, { method: "notifications/initialized" });
    await pipe.call(2, "spawn", { agent: "tester", name: "one" });
    const spawned = await pipe.until(({ id }) => id === 2);
    const address = spawned.result?.structuredContent?.["address"];
    await pipe.call(3, "ask", { address, text: "Hi", key: "a" });
    assert.equal(await pipe.end(), 0);
    const asked = pipe.messages.find(({ id }) => id === 3);
    assert.equal(asked?.result?.structuredContent?.["text"], "finished");

    // Under a policy that asks, the turn waits for a person: asked again to end, it says how far it is.
    await stage.write(askPolicy);
    const next = new Pipe(stage);
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const uri = `troupe://${String(address)}`;
    const listened = { resourceSubscriptions: [uri] };
    await next.say({ id: 1, method: "server/discover", params: { _meta } });
    await next.until(({ id }) => id === 1);
    await next.say({ id: 2, method: "subscriptions/listen", params: { _meta, notifications: listened } });
    await next.until(({ method }) => method === "notifications/subscriptions/acknowledged");
    await next.call(3, "spawn", { agent: "tester", name: "two" }, { _meta });
    const two = (await next.until(({ id }) => id === 3)).result?.structuredContent?.["address"];
    await next.call(4, "ask", { address: two, text: "Hi", key: "b" }, { _meta });
    await next.call(5, "ask", { address, text: "More", key: "c" }, { _meta });
    await next.until(({ method }) => method === "notifications/resources/updated");
    await next.call(6, "stop", { address: two, key: "d" }, { _meta });
    await next.until(({ id }) => id === 6);
    await next.call(7, "cancel", { address, key: "e" }, { _meta });
    await next.until(({ id }) => id === 7);
    assert.equal(await next.end("SIGTERM"), 0);
  }));

Deno.test("troupe mcp check sees the tools of troupe serve --mcp, and a governed call begins an agent there", () =>
  onStage(async (stage) => {
    await stage.write({
      "inner/agent.yaml": "name: tester\nmodel: scripted/script.yaml\n",
      "inner/script.yaml": "answers:\n  - text: Hello\n",
    });
    const places = ["--workspace", stage.path("ws"), "--store", stage.path("inner.db")];
    const served = ["serve", "--mcp", stage.path("inner"), ...places];
    const server = { command: "troupe", args: served };
    await writeMcpAgent(stage, {
      servers: { crew: { ...server, approval_policy: "auto", protocol: "2026-07-28" } },
      answers: [
        { calls: [callOf("crew__spawn", { agent: "tester", title: "Begun by another", key: "one" })] },
        { calls: [callOf("crew__list")] },
        { text: "done" },
      ],
    });
    const place = ["--agent", "agent", "--workspace", "ws", "--answer", "allow"];
    const checked = await stage.output("mcp", "check", "crew", ...place);
    assert.match(checked, /protocol +2026-07-28/);
    for (const tool of ["spawn", "ask", "answer", "cancel"]) {
      assert.match(checked, new RegExp(`^${tool} +ok`, "m"));
    }
    const run = await stage.run("run", "agent", "go", "--workspace", "ws", "--answer", "allow");
    assert.equal(run.code, 0, run.err);
    const results = bodiesOf(await entriesOf(stage, sessionIn(run)), "outcome", "mcp.call");
    assert.match(JSON.stringify(results[0]), /is_new.*true/);
    assert.match(JSON.stringify(results[1]), /Begun by another/);
  }));

Deno.test("serve refuses two languages on one pipe, and --http without MCP", () =>
  onStage(async (stage) => {
    assertRefused(await stage.run("serve", "demo", "--mcp", "--stdio"), 2, "options_conflict", "--mcp");
    assertRefused(await stage.run("serve", "demo", "--http"), 2, "option_invalid", "--mcp");
    const { out } = await stage.run("serve", "--help");
    assert.match(out, /--mcp +speak MCP/);
    assert.doesNotMatch(out, /suite-features/);
  }));

Deno.test({
  name: "README's entry for an MCP host starts a server whose tools a client lists and calls",
  // The client leaves a timer behind, by which it would have killed the server.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    onStage(async (stage) => {
      const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));
      const [, section = ""] = readme.split("\n## From another program\n");
      const [, entry = ""] = /```json\n([^]*?)```/.exec(section.split("\n## ")[0] ?? "") ?? [];
      const { mcpServers: { troupe } } = JSON.parse(entry);
      assert.equal(troupe.command, "troupe");
      const client = new Client({ name: "other", version: "1" });
      await client.connect(
        new StdioClientTransport({
          command: self.command,
          args: [...self.args, ...troupe.args, "--workspace", stage.folder],
          cwd: stage.folder,
          stderr: "ignore",
          env: {
            ...self.env,
            PATH: Deno.env.get("PATH") ?? "",
            TROUPE_STORE: stage.path("store.db"),
            XDG_CONFIG_HOME: stage.path("config"),
            XDG_DATA_HOME: stage.path("data"),
          },
        }),
      );
      assert.ok((await client.listTools()).tools.some(({ name }) => name === "ask"));
      const spawned = await client.callTool({ name: "spawn", arguments: { agent: "demo", name: "look" } });
      const { address } = spawned.structuredContent as { readonly address: string };
      const turn = await client.callTool({ name: "ask", arguments: { address, text: "Look around" } });
      assert.equal((turn.structuredContent as { readonly outcome: string }).outcome, "completed");
      const { resources: [session] } = await client.listResources();
      assert.equal(session?.uri, `troupe://${address}`);
      await client.close();
    }),
});
