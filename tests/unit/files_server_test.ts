// Proves AR-38 inside one process: the transport line by line, and the server's two tools. See also tests/e2e/.
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { reportError } from "../../src/cli/exit.ts";
import { createFilesServer } from "../../src/mcp/files_server.ts";
import { ServerTransport } from "../../src/mcp/server_transport.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import type { Workspace } from "../../src/tools/workspace.ts";
import { withFolder, workspaceAt } from "../support/tools.ts";

interface Answer {
  readonly id?: string | number | null;
  readonly error?: { readonly code: number; readonly message: string };
  readonly result?: {
    readonly isError?: boolean;
    readonly content?: readonly { readonly type: string; readonly text: string }[];
    readonly [key: string]: unknown;
  };
}

const encoder = new TextEncoder();
const { clock } = createSystemSeams({ log: () => {} });

/** A client that holds both ends of the server's wire in its hands. */
class Wire {
  readonly answers: Answer[] = [];
  readonly transport: ServerTransport;
  readonly ended: Promise<void>;
  /** Chunks that the server has read. */
  taken = 0;
  /** What the system does with bytes that the server writes; by default it takes them all. */
  onWrite = (bytes: Uint8Array): Promise<number> => Promise.resolve(bytes.length);
  readonly #chunks: Uint8Array[] = [];
  #isEnded = false;
  #news = Promise.withResolvers<void>();
  #text = "";

  constructor(cwd: Workspace, messageBytesMax: number = limits.mcpMessageBytesMax) {
    this.transport = new ServerTransport({
      input: { read: (buffer) => this.#read(buffer) },
      output: { write: (bytes) => this.#write(bytes) },
      messageBytesMax,
    });
    this.ended = this.transport.ended;
    void createFilesServer({ version: "1.2.3", cwd, clock }).connect(this.transport);
  }

  /** Sends bytes as they are, in one chunk. */
  put(bytes: string | Uint8Array): void {
    this.#chunks.push(typeof bytes === "string" ? encoder.encode(bytes) : bytes);
    this.#tell();
  }

  send(message: { readonly [key: string]: unknown }): void {
    this.put(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  call(id: string | number, name: string, input: { readonly [key: string]: unknown }): void {
    this.send({ id, method: "tools/call", params: { name, arguments: input } });
  }

  cancel(requestId: string | number): void {
    this.send({ method: "notifications/cancelled", params: { requestId } });
  }

  /** Ends the input and waits until the server ends. */
  async end(): Promise<readonly Answer[]> {
    this.#isEnded = true;
    this.#tell();
    await this.ended;
    return this.answers;
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await this.#news.promise;
  }

  async answerOf(id: string | number | null): Promise<Answer> {
    await this.until(() => this.answers.some((answer) => answer.id === id));
    return this.answers.find((answer) => answer.id === id) ?? {};
  }

  async #read(buffer: Uint8Array): Promise<number | null> {
    await this.until(() => this.#chunks.length > 0 || this.#isEnded);
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return null;
    this.taken++;
    buffer.set(chunk.subarray(0, buffer.length));
    if (chunk.length > buffer.length) this.#chunks.unshift(chunk.subarray(buffer.length));
    return Math.min(chunk.length, buffer.length);
  }

  async #write(bytes: Uint8Array): Promise<number> {
    const count = await this.onWrite(bytes);
    this.#text += new TextDecoder().decode(bytes.subarray(0, count));
    const lines = this.#text.split("\n");
    this.#text = lines.pop() ?? "";
    this.answers.push(...lines.map((line) => JSON.parse(line)));
    this.#tell();
    return count;
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

/** A workspace that answers no read before it is told to. */
class HeldBack {
  reads = 0;
  atOnce = 0;
  atOnceMax = 0;
  readonly workspace: Workspace;
  readonly #go = Promise.withResolvers<void>();
  readonly #begun = Promise.withResolvers<void>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(workspace: Workspace) {
    this.workspace = {
      ...workspace,
      readText: (path, bytesMax) => {
        const text = this.#read(() => workspace.readText(path, bytesMax));
        this.#running.add(text);
        return text;
      },
    };
  }

  /** Resolves once a read has begun. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Lets all reads go. */
  go(): void {
    this.#go.resolve();
  }

  /** Waits for reads that nobody else waits for. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #read<T>(work: () => Promise<T>): Promise<T> {
    this.reads++;
    this.atOnceMax = Math.max(this.atOnceMax, ++this.atOnce);
    this.#begun.resolve();
    await this.#go.promise;
    this.atOnce--;
    return await work();
  }
}

async function onWire(
  files: { readonly [path: string]: string | Uint8Array },
  play: (wire: Wire, folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(files, async (folder) => await play(new Wire(await workspaceAt(folder)), folder));
}

function textOf({ result }: Answer): string {
  return result?.content?.map(({ text }) => text).join("\n") ?? "no content";
}

function read(id: number) {
  return { id, method: "tools/call", params: { name: "read_project_file", arguments: { path: "a.txt" } } };
}

/** Until all has been done that waits for nothing outside. */
function untilQuiet(): Promise<void> {
  return new Promise((resolve) => clock.defer(resolve));
}

function idsOf(answers: readonly Answer[]): readonly unknown[] {
  return answers.map(({ id }) => id).sort((left, right) => Number(left) - Number(right));
}

Deno.test("files server offers two tools that say that they only read (AR-38)", async () => {
  await onWire({}, async (wire) => {
    wire.send({ id: "list", method: "tools/list" });
    const tools = (await wire.end())[0]?.result?.["tools"] as readonly { [key: string]: unknown }[];
    assert.deepEqual(tools.map((tool) => tool["name"]), ["read_project_file", "search_project_text"]);
    const only = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
    const schemas = tools.map((tool) => tool["inputSchema"] as { readonly [key: string]: unknown });
    for (const [index, tool] of tools.entries()) {
      assert.deepEqual(tool["annotations"], only);
      assert.deepEqual([schemas[index]?.["type"], schemas[index]?.["additionalProperties"]], [
        "object",
        false,
      ]);
      assert.ok(String(tool["title"]).length > 0 && String(tool["description"]).length > 20);
    }
    assert.deepEqual(schemas.map((schema) => [schema["required"], Object.keys(schema["properties"] ?? {})]), [
      [["path"], ["path", "offset", "limit"]],
      [["query"], ["query", "regex", "path", "limit"]],
    ]);
  });
});

Deno.test("files server gives at most the lines that are asked for, and never more than the built-in tools (AR-38)", async () => {
  const folder = `${"d".repeat(240)}/${"e".repeat(240)}`;
  const files = { "a.txt": "x 1\nx 2\nx 3\n", [`${folder}/f`]: `${"needle".repeat(20)}\n`.repeat(60) };
  await onWire(files, async (wire) => {
    wire.call(1, "search_project_text", { query: "x", limit: 2 });
    wire.call(2, "search_project_text", { query: "needle" });
    wire.call(3, "read_project_file", { path: `${folder}/f`, offset: 2, limit: 1 });
    assert.equal(
      textOf(await wire.answerOf(1)),
      "a.txt:1: x 1\na.txt:2: x 2\n[2 lines shown, there are more; narrow the search]",
    );
    const long = textOf(await wire.answerOf(2));
    assert.match(long, /^d+\/e+\/f:1: needle[^]*\n\[cut: \d{4,} more characters; ask for less\]$/);
    assert.ok(long.length <= limits.toolOutputCharactersMax && long.length > 11_900, String(long.length));
    assert.match(textOf(await wire.answerOf(3)), /^(needle)+\n\[cut: lines 2 to 2 of 60 shown; go on with/);
    await wire.end();
  });
});

Deno.test("files server takes arguments that do not fit for a tool's error, and broken requests for the protocol's", async () => {
  await onWire({ "a.txt": "x" }, async (wire) => {
    const inputs: readonly (readonly [string, { readonly [key: string]: unknown }])[] = [
      ["read_project_file", {}],
      ["read_project_file", { path: 3 }],
      ["read_project_file", { path: "a.txt", offset: 0 }],
      ["read_project_file", { path: "a.txt", offset: 2 }],
      ["read_project_file", { path: "a.txt", encoding: "latin1" }],
      ["search_project_text", {}],
      ["search_project_text", { query: "" }],
      ["search_project_text", { query: "x", limit: 51 }],
      ["search_project_text", { query: "x", limit: 1.5 }],
      ["search_project_text", { query: "x", pattern: "x" }],
    ];
    for (const [index, [tool, input]] of inputs.entries()) wire.call(index, tool, input);
    wire.send({ id: "none", method: "tools/call", params: { name: "read_project_file" } });
    const broken: readonly (readonly [number, { readonly [key: string]: unknown }])[] = [
      [-32602, { method: "tools/call", params: { name: "rm", arguments: {} } }],
      [-32602, { method: "tools/call", params: { name: "__proto__" } }],
      [-32602, { method: "tools/call", params: { arguments: {} } }],
      [-32602, { method: "tools/call", params: { name: "read_project_file", arguments: [] } }],
      [-32602, { method: "tools/call" }],
      [-32602, { method: "tools/list", params: { cursor: "2" } }],
      [-32601, { method: "resources/list" }],
    ];
    for (const [index, [, message]] of broken.entries()) wire.send({ id: `b${index}`, ...message });
    await wire.end();
    for (const id of [...inputs.keys(), "none"]) {
      const answer = await wire.answerOf(id);
      assert.equal(answer.result?.isError, true, String(id));
      assert.match(
        textOf(answer),
        /^arguments_invalid: Cannot (use these arguments|read "a.txt" from line 2): /,
      );
    }
    for (const [index, [code]] of broken.entries()) {
      assert.equal((await wire.answerOf(`b${index}`)).error?.code, code, `b${index}`);
    }
    assert.equal((await wire.answerOf("b0")).error?.message, "Unknown tool: rm");
    assert.equal(wire.answers.length, inputs.length + 1 + broken.length);
  });
});

Deno.test("files server stops a search that is canceled, and does not answer it, whatever its id (AR-38)", async () => {
  const files = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, "x\n"]));
  await withFolder(files, async (folder) => {
    for (const id of [0, 7, "", "seven"]) {
      const held = new HeldBack(await workspaceAt(folder));
      const wire = new Wire(held.workspace);
      wire.call(id, "search_project_text", { query: "nowhere" });
      await held.begun;
      const before = held.reads;
      wire.cancel(id);
      // Answered after the notice was heard of, since messages are taken in their order.
      wire.send({ id: "after", method: "ping" });
      await wire.answerOf("after");
      held.go();
      // Before the end, which would stop it as well.
      await held.idle();
      await untilQuiet();
      assert.equal(held.reads, before, "it read on");
      assert.deepEqual((await wire.end()).map((answer) => answer.id), ["after"], JSON.stringify(id));
    }
  });
});

Deno.test("files server does not begin a call that was canceled while it waited for its turn", async () => {
  await withFolder({ "a.txt": "x" }, async (folder) => {
    const held = new HeldBack(await workspaceAt(folder));
    const wire = new Wire(held.workspace);
    for (let id = 1; id <= 5; id++) wire.send(read(id));
    wire.cancel(5);
    wire.send({ id: 0, method: "ping" });
    await wire.answerOf(0);
    held.go();
    await wire.answerOf(1);
    wire.send(read(6));
    assert.deepEqual(idsOf(await wire.end()), [0, 1, 2, 3, 4, 6]);
    assert.equal(held.reads, 5);
  });
});

Deno.test("files server works on four calls at once, and reads no more requests than it may have open (I12)", async () => {
  await withFolder({ "a.txt": "x" }, async (folder) => {
    const held = new HeldBack(await workspaceAt(folder));
    const wire = new Wire(held.workspace);
    for (let id = 0; id < 1_000; id++) wire.send(read(id));
    await held.begun;
    await untilQuiet();
    assert.deepEqual([held.atOnce, wire.taken], [4, 256]);
    held.go();
    assert.deepEqual(idsOf(await wire.end()), Array.from({ length: 1_000 }, (_, id) => id));
    assert.equal(held.atOnceMax, 4);
  });
});

Deno.test("files server reads nothing while nobody takes its answers (I12)", async () => {
  await onWire({}, async (wire) => {
    const taken = Promise.withResolvers<void>();
    wire.onWrite = (bytes) => taken.promise.then(() => bytes.length);
    // Each line is refused with some 80 bytes: all answers together are more than twice what may wait.
    for (let count = 0; count < 30; count++) wire.put("x\n".repeat(1_000));
    await untilQuiet();
    assert.ok(wire.taken > 5 && wire.taken < 20, String(wire.taken));
    taken.resolve();
    assert.equal((await wire.end()).length, 30_000);
  });
});

Deno.test("files server answers what is open at the end of its input before it ends (AR-38)", async () => {
  await withFolder({ "a.txt": "alpha" }, async (folder) => {
    const held = new HeldBack(await workspaceAt(folder));
    const wire = new Wire(held.workspace);
    let isEnded = false;
    wire.ended.then(() => isEnded = true);
    for (let id = 1; id <= 9; id++) wire.send(read(id));
    const ended = wire.end();
    await held.begun;
    await untilQuiet();
    assert.deepEqual([isEnded, wire.answers.length], [false, 0]);
    held.go();
    assert.deepEqual(idsOf(await ended), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (const answer of wire.answers) assert.equal(textOf(answer), "alpha");
  });
});

Deno.test("files server takes messages however they are cut, and the last one without a line end", async () => {
  const messages = [
    {
      id: 1,
      method: "tools/call",
      params: { name: "read_project_file", arguments: { path: "\u00e9\u{1f600}.txt" } },
    },
    { id: 2, method: "ping" },
    read(3),
  ];
  const text = messages.map((message) => JSON.stringify({ jsonrpc: "2.0", ...message })).join("\r\n");
  const bytes = encoder.encode(text);
  for (const size of [1, 2, 3, 7, 64, bytes.length]) {
    await onWire({ "\u00e9\u{1f600}.txt": "found", "a.txt": "alpha" }, async (wire) => {
      for (let at = 0; at < bytes.length; at += size) wire.put(bytes.slice(at, at + size));
      await wire.end();
      assert.equal(textOf(await wire.answerOf(1)), "found", `chunks of ${size}`);
      assert.deepEqual((await wire.answerOf(2)).result, {});
      assert.equal(textOf(await wire.answerOf(3)), "alpha");
    });
  }
});

Deno.test("files server answers lines that are no message as JSON-RPC asks for, and goes on (AR-38)", async () => {
  const deep = `${"[".repeat(100)}${"]".repeat(100)}`;
  const cases: readonly (readonly [string | Uint8Array, number | undefined, (string | number | null)?])[] = [
    ["Listening on port 3000", -32700, null],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"', -32700, null],
    [new Uint8Array([0x22, 0xff, 0xfe, 0x22]), -32700, null],
    [deep, -32600, null],
    ["3", -32600, null],
    ["null", -32600, null],
    ["[]", -32600, null],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, null],
    ["{}", -32600, null],
    ['{"jsonrpc":"1.0","id":5,"method":"ping"}', -32600, 5],
    ['{"jsonrpc":"2.0","id":"six","method":7}', -32600, "six"],
    ['{"jsonrpc":"2.0","id":7}', -32600, 7],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, null],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, null],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, null],
    ['{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}', -32600, 8],
    // Notifications and answers are not answered, nor are lines without anything.
    ['{"jsonrpc":"2.0","method":"notifications/cancelled","params":3}', undefined],
    ['{"jsonrpc":"2.0","method":"notifications/cancelled"}', undefined],
    ['{"jsonrpc":"2.0","method":"notifications/unheard_of"}', undefined],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', undefined],
    ['{"jsonrpc":"2.0","id":1,"result":3}', undefined],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}', undefined],
    ["", undefined],
    ["  \t", undefined],
  ];
  for (const [line, code, id] of cases) {
    await onWire({}, async (wire) => {
      const shown = typeof line === "string" ? line : String(line);
      wire.put(line);
      wire.put("\n");
      wire.send({ id: "good", method: "ping" });
      const { error, ...rest } = (await wire.end())[0] ?? {};
      if (code === undefined) assert.deepEqual(rest, { jsonrpc: "2.0", id: "good", result: {} }, shown);
      else {
        assert.deepEqual([rest, error?.code], [{ jsonrpc: "2.0", id }, code], shown);
        assert.ok(error?.message && !error.message.includes("3000"), "the line itself came back");
      }
      assert.equal(wire.answers.length, code === undefined ? 1 : 2, shown);
    });
  }
});

Deno.test("files server ends at a message that is too long, with exit code 3 and the bound in words", async () => {
  await withFolder({}, async (folder) => {
    const wire = new Wire(await workspaceAt(folder), 1_000);
    wire.put(`${" ".repeat(963)}${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}`.slice(-1_000));
    wire.put("\n");
    assert.deepEqual((await wire.answerOf(1)).result, {});
    wire.put("x".repeat(1_001));
    const error = await wire.ended.then(() => undefined, (error: unknown) => error);
    const { exit, code, message } = reportError(error);
    assert.deepEqual([exit, code], [3, "line_too_long"]);
    assert.match(message, /1000 bytes/);
  });
});

Deno.test("files server ends quietly when nobody reads on, and with the error when the system refuses", async () => {
  const files = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, "x\n"]));
  await withFolder(files, async (folder) => {
    for (const error of [new Deno.errors.BrokenPipe("gone"), new Error("disk full")]) {
      const held = new HeldBack(await workspaceAt(folder));
      const wire = new Wire(held.workspace);
      wire.onWrite = () => Promise.reject(error);
      wire.call(1, "search_project_text", { query: "nowhere" });
      await held.begun;
      const before = held.reads;
      wire.send({ id: 2, method: "ping" });
      // The input is still open, and a call is under way: it is stopped as if it were canceled.
      if (error instanceof Deno.errors.BrokenPipe) await wire.ended;
      else await assert.rejects(wire.ended, /disk full/);
      held.go();
      await held.idle();
      await untilQuiet();
      assert.deepEqual([wire.answers, held.reads], [[], before]);
    }
  });
});

Deno.test("files server writes whole lines, however little the system takes at once", async () => {
  await onWire({ "a.txt": "alpha\n".repeat(20) }, async (wire) => {
    wire.onWrite = (bytes) => Promise.resolve(Math.min(bytes.length, 3));
    for (let id = 0; id < 20; id++) wire.send(read(id));
    for (const answer of await wire.end()) assert.equal(textOf(answer), "alpha\n".repeat(20));
    assert.equal(wire.answers.length, 20);
  });
});

Deno.test("files server answers twice to a client that uses an id twice at once", async () => {
  await onWire({ "a.txt": "alpha" }, async (wire) => {
    wire.send(read(1));
    wire.send(read(1));
    assert.deepEqual((await wire.end()).map((answer) => [answer.id, textOf(answer)]), [[1, "alpha"], [
      1,
      "alpha",
    ]]);
  });
});
