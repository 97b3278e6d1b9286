/** `troupe serve --stdio` in real processes: lines on a pipe, and the client of `src/client.ts` over one. */
import assert from "node:assert/strict";
import { ActorApiError, type ActorClient, spawnTroupe } from "../../src/client.ts";
import type { WatchEvent } from "../../schemas/api_view.ts";
import { ownProgram } from "../../src/host/own_program.ts";

/** A folder with an agent, `greeter`, and how a runtime is started there. */
interface Place {
  readonly folder: string;
  readonly env: { readonly [name: string]: string };
  client(...args: readonly string[]): Promise<ActorClient>;
  /** Gives lines to a runtime, ends its input, and reads what it wrote. */
  say(lines: readonly unknown[], ...args: readonly string[]): Promise<Said>;
}

interface Said {
  readonly code: number;
  readonly answers: readonly Answer[];
  readonly err: string;
}

interface Answer {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly id: unknown; readonly event: WatchEvent };
  readonly result?: Record<string, unknown>;
  readonly error?: {
    readonly code: number;
    readonly data: { readonly code: string; readonly outcome: string };
  };
}

const self = ownProgram((name) => Deno.env.get(name));

async function atPlace(script: string, test: (place: Place) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/script.yaml`, script);
    await Deno.writeTextFile(`${folder}/agent.yaml`, "name: greeter\nmodel: scripted/script.yaml\n");
    const env = {
      ...Deno.env.toObject(),
      ...self.env,
      TROUPE_STORE: `${folder}/store.db`,
      XDG_CONFIG_HOME: `${folder}/config`,
      XDG_DATA_HOME: `${folder}/data`,
    };
    const say = async (lines: readonly unknown[], ...args: readonly string[]) => {
      const child = new Deno.Command(self.command, {
        args: [...self.args, "serve", "--stdio", ".", ...args],
        cwd: folder,
        env,
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const writer = child.stdin.getWriter();
      const texts = lines.map((line) => typeof line === "string" ? line : JSON.stringify(line));
      await writer.write(new TextEncoder().encode(texts.join("\n"))).catch(() => {});
      await writer.close().catch(() => {});
      const { code, stdout, stderr } = await child.output();
      const text = new TextDecoder().decode(stdout).trim();
      const answers = text === "" ? [] : text.split("\n").map((line) => JSON.parse(line) as Answer);
      return { code, answers, err: new TextDecoder().decode(stderr) };
    };
    const client = (...args: readonly string[]) =>
      spawnTroupe({ command: self.command, before: self.args, args: [".", ...args], cwd: folder, env });
    await test({ folder, env, client, say });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const hello = "answers:\n  - text: Hello\n  - text: Again\n";

function request(id: unknown, method: string, params: object, key?: string) {
  const meta = key === undefined ? {} : { _meta: { idempotency_key: key } };
  return { jsonrpc: "2.0", id, method, params: { ...params, ...meta } };
}

Deno.test("garbage, batches and broken requests are answered, notifications are not, and the rest goes on", () =>
  atPlace(hello, async ({ say }) => {
    const { code, answers, err } = await say([
      "garbage",
      [request(1, "list", {})],
      { id: 7, method: "list" },
      { jsonrpc: "2.0", method: "spawn", params: { agent: "greeter", _meta: { idempotency_key: "n" } } },
      { jsonrpc: "2.0", method: "nobody" },
      { jsonrpc: "2.0", id: 2, result: {} },
      "",
      request("a", "nobody", {}),
      request("b", "spawn", { agent: "greeter" }),
      request("c", "spawn", { agent: "greeter", odd: 1 }, "k"),
      request("d", "list", { _meta: { odd: 1 } }),
      request("e", "answer", { question: "q", decision: "allow" }, "k"),
      request("f", "get", { address: "session/nobody" }),
      request("g", "list", {}),
    ]);
    assert.equal(code, 0);
    const found = answers.map(({ id, error, result }) => [id, error?.code, error?.data.code ?? result]);
    assert.deepEqual(
      new Map(found.map(([id, ...rest]) => [`${id}${id === null ? rest[0] : ""}`, rest])),
      new Map<string, unknown[]>([
        ["null-32700", [-32700, "json_invalid"]],
        ["null-32600", [-32600, "request_invalid"]],
        ["7", [-32600, "request_invalid"]],
        ["a", [-32601, "method_unknown"]],
        ["b", [-32602, "idempotency_key_missing"]],
        ["c", [-32602, "params_invalid"]],
        ["d", [-32602, "params_invalid"]],
        ["e", [-32000, "scope_missing"]],
        ["f", [-32000, "agent_not_found"]],
        ["g", [undefined, { agents: [] }]],
      ]),
    );
    assert.equal(answers.length, 10);
    assert.match(err, /api\.notification_ignored/);
  }));

Deno.test("a client over a pipe spawns, asks, watches, exports and stops, and finds it all in the next runtime", () =>
  atPlace(hello, async ({ client }) => {
    const first = await client();
    const { address } = await first.spawn({ agent: "greeter", name: "one" });
    const follow = first.watch({ address, view: "transcript" });
    const told: string[] = [];
    const watching = (async () => {
      for await (const event of follow) {
        if (event.type === "transcript") told.push(event.item.type);
        if (told.includes("turn")) return;
      }
    })();
    const turn = await first.ask({ address, text: "Hi" }, { key: "a" });
    assert.equal(turn.state === "ended" && turn.text, "Hello");
    await watching;
    assert.deepEqual(told, ["prompt", "answer", "turn"]);
    const error = await first.get({ address: "session/nobody" }).catch((error) => error);
    assert.ok(error instanceof ActorApiError);
    assert.deepEqual([error.code, error.outcome], ["agent_not_found", "not_applied"]);
    await first.close();
    const second = await client();
    try {
      assert.deepEqual(await second.spawn({ agent: "greeter", name: "one" }), { address, is_new: false });
      assert.deepEqual(await second.ask({ address, text: "Hi" }, { key: "a" }), turn);
      assert.equal((await second.get({ address })).owner, "program:stdio");
      let text = "";
      for await (const piece of second.export({ address })) text += piece.text;
      assert.match(text.split("\n")[0] ?? "", /"address":"session\/ses_/);
      const asked = Array.from({ length: 100 }, () => second.get({ address }));
      assert.equal((await Promise.all(asked)).length, 100);
      assert.deepEqual(await second.stop({ address }), { address, state: "closed" });
    } finally {
      await second.close();
    }
  }));

Deno.test("a watch that is given up is answered, one that ends says how much came, and an open id is not taken twice", () =>
  atPlace(hello, async ({ say }) => {
    const { answers } = await say([request(1, "spawn", { agent: "greeter" }, "k")]);
    const address = String(answers[0]?.result?.["address"]);
    const said = await say([
      request("w", "watch", { address }),
      request("w", "list", {}),
      { jsonrpc: "2.0", method: "request/cancel", params: { id: "w" } },
      request("x", "watch", { address, follow: false }),
    ]);
    assert.equal(said.code, 0);
    const events = said.answers.filter(({ method, params }) =>
      method === "watch/event" && params?.id === "x"
    );
    const ends = said.answers.filter(({ id, result }) => id === "x" && result !== undefined);
    assert.deepEqual(ends.map(({ result }) => result), [{ events: events.length }]);
    assert.deepEqual(events.map(({ params }) => params?.event.seq), events.map((_, at) => at + 1));
    const ofWatch = said.answers.filter(({ id }) => id === "w");
    assert.deepEqual(ofWatch.map(({ error }) => error?.data.code), ["request_invalid", undefined]);
  }));

Deno.test("a program's rights are what whoever starts it gives, and approvals only if it speaks for the operator", () =>
  atPlace(hello, async ({ client, say }) => {
    for (
      const [args, why] of [
        [["--scopes", "approvals:decide"], /for persons only/],
        [["--scopes", "sessions:rule"], /there is no "sessions:rule"/],
        [["--principal", "operator:local"], /takes program:ID or agent:ID/],
        [["--operator", "--principal", "program:x"], /leave --principal out/],
      ] as const
    ) {
      const refused = await say([], ...args);
      assert.deepEqual([refused.code, refused.answers], [2, []]);
      assert.match(refused.err, why);
    }
    const poor = await client("--principal", "program:poor", "--scopes", "sessions:read");
    const code = (error: unknown) => error instanceof ActorApiError && error.code;
    assert.equal(await poor.spawn({ agent: "greeter" }).catch(code), "scope_missing");
    await poor.close();
    assert.equal(code(await poor.list({}).catch((error) => error)), "connection_lost");
    const operator = await client("--operator");
    const unknown = operator.answer({ question: "que_nobody", decision: "allow" as never });
    assert.notEqual(await unknown.catch(code), "scope_missing");
    await operator.close();
  }));

Deno.test("a line without an end is refused, and the runtime ends: where the next one begins cannot be told", () =>
  atPlace(hello, async ({ say }) => {
    const { code, answers, err } = await say([request(1, "list", {}), "x".repeat(1_048_577)]);
    assert.equal(code, 3);
    const codes = answers.map(({ error }) => error?.data.code);
    assert.deepEqual(codes.toSorted(), ["line_too_long", undefined]);
    assert.match(err, /line_too_long/);
  }));

Deno.test({
  name:
    "SIGTERM drains: what comes then is refused, a second one hurries, the ask is told that its turn goes on",
  ignore: Deno.build.os === "windows",
  fn: () =>
    atPlace(
      "answers:\n  - { text: Late, fail: { code: model_rate_limited, retry_after_ms: 60000, times: 1 } }\n",
      async ({ folder, env }) => {
        const child = new Deno.Command(self.command, {
          args: [...self.args, "serve", "--stdio", "."],
          cwd: folder,
          env,
          stdin: "piped",
          stdout: "piped",
        }).spawn();
        const writer = child.stdin.getWriter();
        const say = (line: object) => writer.write(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
        const answers = answersOf(child.stdout);
        await say(request(1, "spawn", { agent: "greeter" }, "s"));
        const address = (await answers.next()).value?.result?.["address"];
        await say(request("ask", "ask", { address, text: "Hi" }, "a"));
        await say(request(2, "watch", { address, view: "transcript" }));
        assert.equal((await answers.next()).value?.params?.event.type, "transcript");
        child.kill("SIGTERM");
        const ended = (await answers.next()).value;
        assert.deepEqual(ended?.result, { events: 1 });
        await say(request(3, "list", {}));
        assert.equal((await answers.next()).value?.error?.data.code, "draining");
        child.kill("SIGTERM");
        assert.deepEqual((await answers.next()).value?.result, { state: "running", address });
        assert.equal((await child.status).code, 0);
        await answers.return(undefined);
        await writer.close().catch(() => {});
      },
    ),
});

async function* answersOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Answer, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as Answer;
  }
}
