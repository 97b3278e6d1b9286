/** `troupe mcp-server files` in real processes: what goes over the wire, line by line (AR-38). */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { version } from "../../src/version.ts";
import { Client, type JSONRPCMessage, type Transport } from "../../src/mcp/sdk_v1.ts";
import { assertRefused, onStage } from "./troupe.ts";

const main = new URL("../../main.ts", import.meta.url).pathname;
/** Longest wait for anything, in milliseconds: only a broken build comes near it. */
const patienceMs = 30_000;

interface Answer {
  readonly jsonrpc?: string;
  readonly id?: string | number | null;
  readonly error?: { readonly code: number };
  readonly result?: {
    readonly isError?: boolean;
    readonly content?: readonly { readonly text: string }[];
    readonly protocolVersion?: string;
    readonly serverInfo?: unknown;
    readonly tools?: readonly { readonly name: string }[];
  };
}

/** A server in a process of its own, and the client's end of its pipes. */
class Served {
  readonly lines: string[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #out: Promise<void>;
  readonly #err: Promise<string>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #news = Promise.withResolvers<void>();
  #isOver = false;

  constructor(...args: readonly string[]) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", main, "mcp-server", "files", ...args],
      env: { NO_COLOR: "", TROUPE_DEBUG: "" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#reader = this.#child.stdout.getReader();
    this.#out = this.#read();
    this.#err = new Response(this.#child.stderr).text();
  }

  async put(text: string): Promise<void> {
    await this.#writer.write(new TextEncoder().encode(text));
  }

  async send(...messages: readonly { readonly [key: string]: unknown }[]): Promise<void> {
    await this.put(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
  }

  /** Calls a tool and waits for what it gives. */
  async call(name: string, input: { readonly [key: string]: unknown }): Promise<readonly [boolean, string]> {
    const id = `call ${this.lines.length}`;
    await this.send(callOf(id, name, input));
    const { result } = await this.answerOf(id);
    return [result?.isError === true, result?.content?.[0]?.text ?? ""];
  }

  get answers(): readonly Answer[] {
    return this.lines.map((line) => JSON.parse(line));
  }

  async answerOf(id: string | number): Promise<Answer> {
    for (;;) {
      const found = this.answers.find((answer) => answer.id === id);
      if (found !== undefined) return found;
      assert.ok(!this.#isOver, `ended without an answer to ${id}`);
      await this.#news.promise;
    }
  }

  /** Ends the server's input; it must end by itself. */
  async end(): Promise<{ readonly code: number; readonly err: string }> {
    await this.#writer.close().catch(() => {});
    return await this.ended();
  }

  async ended(): Promise<{ readonly code: number; readonly err: string }> {
    const { code } = await this.#child.status;
    await this.#out;
    return { code, err: await this.#err };
  }

  /** Reads no more of what the server writes. */
  async leave(): Promise<void> {
    await this.#reader.cancel();
  }

  /** Ends the process if it still runs. */
  async kill(): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await this.end();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    for (let read = await this.#reader.read(); !read.done; read = await this.#reader.read()) {
      const lines = (text + decoder.decode(read.value, { stream: true })).split("\n");
      text = lines.pop() ?? "";
      this.lines.push(...lines);
      this.#tell();
    }
    this.#isOver = true;
    if (text !== "") this.lines.push(text);
    this.#tell();
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

function callOf(id: string | number, name: string, input: { readonly [key: string]: unknown }) {
  return { id, method: "tools/call", params: { name, arguments: input } };
}

/** Plays with a server over the folder `ws` of a stage; beside it lies `secret.txt`. */
async function onServer(play: (server: Served, folder: string) => Promise<void>): Promise<void> {
  await onStage(async (stage) => {
    await stage.write({
      "secret.txt": "hunter2\n",
      "ws/README.md": "# Project\n\nalpha 1\nalpha 2\nbeta 3\n",
      "ws/src/main.ts": "const alpha = 4;\n",
      "ws/src/deep/a.ts": "alphabet();\n",
    });
    await Deno.writeFile(stage.path("ws/image.png"), new Uint8Array([0x89, 0x50, 0, 1]));
    await Deno.symlink("../secret.txt", stage.path("ws/link.txt"));
    await Deno.symlink("..", stage.path("ws/up"));
    const server = new Served("--root", stage.path("ws"));
    const late = setTimeout(() => server.kill(), patienceMs);
    try {
      await play(server, stage.folder);
    } finally {
      clearTimeout(late);
      await server.kill();
    }
  });
}

function hello(protocolVersion: string) {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } };
  return { id: 0, method: "initialize", params };
}

Deno.test("files server shakes hands in the client's revision, or offers the newest that it knows (AR-38)", async () => {
  for (
    const [asked, agreed] of [["2024-11-05", "2024-11-05"], ["2025-11-25", "2025-11-25"], [
      "2099-01-01",
      "2025-11-25",
    ]]
  ) {
    await onServer(async (server) => {
      await server.send(hello(asked ?? ""), { method: "notifications/initialized" }, {
        id: 1,
        method: "tools/list",
      });
      const { result } = await server.answerOf(0);
      assert.deepEqual([result?.protocolVersion, result?.serverInfo], [agreed, {
        name: "troupe-files",
        version,
      }]);
      const { tools } = (await server.answerOf(1)).result ?? {};
      assert.deepEqual(tools?.map(({ name }) => name), ["read_project_file", "search_project_text"]);
      assert.deepEqual(await server.end(), { code: 0, err: "" });
      assert.equal(server.lines.length, 2);
    });
  }
});

Deno.test("files server reads files by lines, and searches plain and by pattern, also below a folder (AR-38)", async () => {
  await onServer(async (server, folder) => {
    const read = "read_project_file";
    const search = "search_project_text";
    assert.deepEqual(await server.call(read, { path: "src/main.ts" }), [false, "const alpha = 4;\n"]);
    assert.deepEqual(await server.call(read, { path: `${folder}/ws/src/main.ts` }), [
      false,
      "const alpha = 4;\n",
    ]);
    assert.deepEqual(await server.call(read, { path: "README.md", offset: 3, limit: 2 }), [
      false,
      "alpha 1\nalpha 2\n[cut: lines 3 to 4 of 5 shown; go on with offset 5]",
    ]);
    const note = "[files skipped: 1 not text]";
    assert.deepEqual(await server.call(search, { query: "alpha" }), [
      false,
      `README.md:3: alpha 1\nREADME.md:4: alpha 2\nsrc/deep/a.ts:1: alphabet();\nsrc/main.ts:1: const alpha = 4;\n${note}`,
    ]);
    assert.deepEqual(await server.call(search, { query: "alpha \\d" }), [false, `[nothing found]\n${note}`]);
    assert.deepEqual(await server.call(search, { query: "^(alpha|beta) [13]$", regex: true }), [
      false,
      `README.md:3: alpha 1\nREADME.md:5: beta 3\n${note}`,
    ]);
    assert.deepEqual(await server.call(search, { query: "alpha", path: "src/deep" }), [
      false,
      "src/deep/a.ts:1: alphabet();",
    ]);
    assert.deepEqual(await server.call(search, { query: "alpha", path: "README.md", limit: 1 }), [
      false,
      "README.md:3: alpha 1\n[1 lines shown, there are more; narrow the search]",
    ]);
  });
});

Deno.test("files server refuses all that is outside its root, in words and not as a protocol error (AR-38)", async () => {
  await onServer(async (server, folder) => {
    const outside = [
      "../secret.txt",
      "src/../../secret.txt",
      `${folder}/secret.txt`,
      "/etc/passwd",
      "link.txt",
    ];
    outside.push("up/secret.txt", "up/ws/README.md/../../secret.txt");
    for (const path of outside) {
      for (
        const [tool, input] of [["read_project_file", { path }], ["search_project_text", {
          query: "h",
          path,
        }]] as const
      ) {
        const [isError, text] = await server.call(tool, input);
        assert.match(text, /^path_outside_root: Cannot open "[^"]*": it is outside the workspace; /, path);
        assert.ok(isError && !text.includes(folder), path);
      }
    }
    for (
      const [path, code] of [
        ["gone.txt", "path_not_found"],
        ["src", "path_not_file"],
        ["image.png", "file_not_text"],
        ["a\0b", "path_invalid"],
      ]
    ) {
      const [isError, text] = await server.call("read_project_file", { path });
      assert.ok(isError && text.startsWith(`${code}: Cannot `), text);
    }
    assert.deepEqual(await server.call("search_project_text", { query: "hunter2" }), [
      false,
      "[nothing found]\n[files skipped: 1 not text]",
    ]);
    const [isError, text] = await server.call("search_project_text", { query: "(a)\\1", regex: true });
    assert.ok(isError && text.startsWith("pattern_invalid: "), text);
    assert.ok(!server.lines.join("\n").includes("hunter2\\n"));
  });
});

Deno.test("files server tells wrong arguments from an unknown tool, and goes on after lines of garbage (AR-38)", async () => {
  await onServer(async (server) => {
    const [isError, text] = await server.call("read_project_file", { file: "README.md" });
    assert.ok(isError);
    assert.match(text, /^arguments_invalid: Cannot use these arguments: .*"file".*at path/);
    await server.send(callOf("no tool", "write_project_file", { path: "x" }));
    assert.equal((await server.answerOf("no tool")).error?.code, -32602);
    await server.put('npm warn something\n{"jsonrpc":"2.0","id":3\n\n[]\n');
    await server.send({ id: "good", method: "ping" });
    assert.deepEqual((await server.answerOf("good")).result, {});
    assert.deepEqual(server.answers.slice(2, -1).map(({ id, error }) => [id, error?.code]), [
      [null, -32700],
      [null, -32700],
      [null, -32600],
    ]);
    assert.deepEqual(await server.end(), { code: 0, err: "" });
  });
});

Deno.test("files server answers 100 calls at once, each under its own id, and then ends with its input (AR-38)", async () => {
  await onServer(async (server) => {
    const messages = Array.from(
      { length: 100 },
      (_, id) => callOf(id, "read_project_file", { path: "README.md", offset: id % 5 + 1, limit: 1 }),
    );
    await server.send(hello("2025-11-25"), ...messages.slice(1));
    await server.send({ ...messages[0], id: 100 });
    assert.deepEqual(await server.end(), { code: 0, err: "" });
    assert.equal(server.lines.length, 101);
    const lines = ["# Project", "", "alpha 1", "alpha 2", "beta 3"];
    for (let id = 1; id <= 100; id++) {
      const { result } = await server.answerOf(id);
      assert.equal(result?.content?.[0]?.text.split("\n")[0], lines[id % 5], String(id));
    }
  });
});

Deno.test("files server leaves a canceled search alone, and ends without it (AR-38)", async () => {
  await onServer(async (server, folder) => {
    // To be searched by a pattern that is nowhere: that takes seconds.
    const line = `${"ab ".repeat(3_000)}\n`;
    const text = line.repeat(220);
    await Promise.all(
      Array.from({ length: 10 }, (_, index) => Deno.writeTextFile(`${folder}/ws/large${index}.txt`, text)),
    );
    const slow = { query: "(a|b|c)* (a|b)*(b|c)*x", regex: true };
    for (const id of [1, 2, 3, 4]) await server.send(callOf(id, "search_project_text", slow));
    await server.send({ id: "begun", method: "ping" });
    await server.answerOf("begun");
    for (const requestId of [1, 2, 3, 4]) {
      await server.send({
        method: "notifications/cancelled",
        params: { requestId, reason: "changed my mind" },
      });
    }
    assert.deepEqual(await server.call("read_project_file", { path: "src/main.ts" }), [
      false,
      "const alpha = 4;\n",
    ]);
    assert.equal((await server.end()).code, 0);
    assert.deepEqual(server.answers.map(({ id }) => id), ["begun", "call 1"]);
  });
});

Deno.test("files server ends at a message that is too large with exit code 3 and one line", async () => {
  await onServer(async (server) => {
    await server.send({ id: 1, method: "ping" });
    await server.answerOf(1);
    // It ends while it is written to, so the rest finds no reader.
    await server.put("x".repeat(limits.mcpMessageBytesMax + 1)).catch(() => {});
    const { code, err } = await server.ended();
    assert.equal(code, 3);
    assert.match(err, new RegExp(`^troupe: .*${limits.mcpMessageBytesMax} bytes.*\\[line_too_long\\]\\n$`));
    assert.equal(server.lines.length, 1);
  });
});

Deno.test("files server ends when its client reads no more", async () => {
  await onServer(async (server) => {
    await server.send({ id: 1, method: "ping" });
    await server.answerOf(1);
    await server.leave();
    // The system may take an answer more before it lets the server know that nobody reads.
    const asking = (async () => {
      for (let id = 2;; id++) await server.send({ id, method: "ping" });
    })().catch(() => {});
    assert.deepEqual(await server.ended(), { code: 0, err: "" });
    await asking;
  });
});

Deno.test("files server serves the client of the SDK (AR-38)", async () => {
  await onServer(async (server) => {
    const transport: Transport = {
      start: () => Promise.resolve(),
      send: async (message: JSONRPCMessage) => {
        await server.send({ ...message });
        if ("id" in message && message.id !== undefined) {
          const answer = await server.answerOf(message.id);
          transport.onmessage?.(answer as JSONRPCMessage);
        }
      },
      close: async () => {
        await server.end();
        transport.onclose?.();
      },
    };
    const client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
    assert.deepEqual(client.getServerVersion(), { name: "troupe-files", version });
    const { tools } = await client.listTools();
    for (const { annotations } of tools) assert.equal(annotations?.readOnlyHint, true);
    const found = await client.callTool({ name: "search_project_text", arguments: { query: "beta" } });
    assert.deepEqual([found.isError, found.content], [
      false,
      [{ type: "text", text: "README.md:5: beta 3\n[files skipped: 1 not text]" }],
    ]);
    await client.close();
    assert.deepEqual(await server.ended(), { code: 0, err: "" });
  });
});

Deno.test("files server is not started over what is no folder, nor under a name that nothing has", async () => {
  await onStage(async (stage) => {
    await stage.write({ "file": "" });
    const cases: readonly (readonly [readonly string[], string, string])[] = [
      [["files", "--root", "gone"], "root_invalid", 'Cannot serve "gone": there is no such folder'],
      [["files", "--root", "file"], "root_invalid", 'Cannot serve "file": it is not a folder'],
      [["files", "--root", "file/below"], "root_invalid", "there is no such folder"],
      [["files", "--root"], "option_invalid", "needs a value"],
      [["files", "more"], "argument_unexpected", '"more"'],
      [[], "argument_missing", "known: files"],
      [["fils"], "server_unknown", 'no MCP server "fils"; known: files'],
    ];
    const ended = await Promise.all(cases.map(([args]) => stage.run("mcp-server", ...args)));
    for (const [index, [args, code, part]] of cases.entries()) {
      const one = ended[index];
      assert.ok(one);
      assertRefused(one, 2, code, part);
      assert.deepEqual([one.out, one.err.split("\n").length], ["", 2], args.join(" "));
    }
    const help = await stage.output("mcp-server", "--help");
    const snippet = /^ {2}\{\n(?: {4}.*\n)+ {2}\}$/m.exec(help)?.[0] ?? "";
    assert.deepEqual(JSON.parse(snippet).mcpServers.files.args.slice(0, 3), [
      "mcp-server",
      "files",
      "--root",
    ]);
    // Without a root it is the working folder; without input it ends at once.
    assert.deepEqual(await stage.run("mcp-server", "files"), { code: 0, out: "", err: "" });
  });
});

const hasScript = Deno.build.os === "linux" &&
  new Deno.Command("sh", { args: ["-c", "command -v script"] }).outputSync().success;

Deno.test({
  name: "files server tells a person who starts it by hand what it is",
  ignore: !hasScript,
  fn: async () => {
    const command = `"${Deno.execPath()}" run -A --quiet "${main}" mcp-server files`;
    const child = new Deno.Command("script", {
      args: ["-qec", command, "/dev/null"],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const writer = child.stdin.getWriter();
    let shown = "";
    const reading = (async () => {
      for await (const bytes of child.stdout) {
        shown += new TextDecoder().decode(bytes);
        // Ctrl-D, once it is there.
        if (shown.includes("Ctrl-D")) await writer.write(new Uint8Array([4])).catch(() => {});
      }
    })();
    const late = setTimeout(() => child.kill("SIGKILL"), patienceMs);
    const { code } = await child.status;
    clearTimeout(late);
    await reading;
    await writer.close().catch(() => {});
    assert.equal(code, 0, shown);
    assert.match(shown, /^This is an MCP server: give it to a client .*\r?\n/);
  },
});
