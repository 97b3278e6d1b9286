/** What servers offer besides tools, by real servers: listed, read and filled in as tools, under the same gates. */
import assert from "node:assert/strict";
import type { HostEvent } from "../../src/host/host.ts";
import type { CallReport } from "../../src/turn_report.ts";
import type { Offers } from "./mcp_offers.ts";
import {
  bodiesOf,
  callOf,
  entriesOf,
  firstTurn,
  type Held,
  type Line,
  linesIn,
  nextTurn,
  onMcpStage,
  planned,
  sessionIn,
  trustAgent,
  until,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";

const offers: Offers = {
  page: 2,
  resources: ["a", "b", "c"].map((name) => ({ uri: `docs:${name}`, name })),
  templates: [{ uriTemplate: "docs:page/{n}", name: "pages" }],
  contents: {
    "docs:a": [{ uri: "docs:a", text: "alpha text" }],
    "docs:b": [{ uri: "docs:b", mimeType: "image/png", blob: btoa("\x00\xff picture") }],
    "docs:c": [{ uri: "docs:c", text: `begin ${"c".repeat(20_000)} the very end` }],
  },
  prompts: [{ name: "greet", arguments: [{ name: "who", required: true }] }],
  words: ["Ulm", "Ulan"],
};

/** Calls one tool in the held session, as `troupe call` does. */
async function call(held: Held, tool: string, given: Line = {}, hear: (event: HostEvent) => void = () => {}) {
  const fromSeq = (await held.host.readHead(held.session)).seq + 1;
  const request = { call: { tool, arguments: given as never } };
  const order = { session: held.session, request, key: `${held.session} ${fromSeq}`, fromSeq, answers: true };
  const { call, failure } = await held.host.prompt(order, (event) => {
    hear(event);
    if (event.type !== "question") return;
    const { id, shown } = event.question;
    held.host.answer(id, { decision: "allow", by: { kind: "operator", id: "local" }, shown });
  });
  return call ?? assert.fail(failure?.message ?? "no report of the call");
}

function assertSaid({ outcome, text, failure }: CallReport, said: string): void {
  assert.deepEqual([outcome, text], ["succeeded", said], failure?.message);
}

/** What the owner's journal says of the connection. */
async function heldConnection(held: Held, server = "docs"): Promise<Line[]> {
  const entries: Line[] = [];
  const root = `connection/${server}@${held.session.replace("session/", "")}`;
  for await (const page of held.host.readPages(root as never)) entries.push(...page as unknown as Line[]);
  return entries;
}

Deno.test("resources, prompts and completions of a server are called as tools of it", async () => {
  await onMcpStage(async (stage) => {
    const ledger = stage.path("ledger");
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs", ledger, offers }) },
      answers: [],
    });
    await withOwner(stage, async (held) => {
      const first = { resources: offers.resources?.slice(0, 2), next_cursor: "r:2" };
      assertSaid(await call(held, "mcp.docs.list_resources"), JSON.stringify(first));
      const rest = {
        resources: offers.resources?.slice(2),
        templates: [{ uri_template: "docs:page/{n}", name: "pages" }],
      };
      assertSaid(await call(held, "mcp.docs.list_resources", { cursor: "r:2" }), JSON.stringify(rest));
      assertSaid(await call(held, "docs__read_resource", { uri: "docs:a" }), "alpha text");
      assertSaid(
        await call(held, "mcp.docs.list_prompts"),
        JSON.stringify({ prompts: [{ name: "greet", arguments: [{ name: "who", required: true }] }] }),
      );
      assertSaid(
        await call(held, "mcp.docs.get_prompt", { name: "greet", arguments: { who: "you" } }),
        '[prompt: A prompt]\n[user]\ngreet of {"who":"you"}\n[assistant]\nembedded',
      );
      assertSaid(
        await call(held, "mcp.docs.complete_argument", { prompt: "greet", argument: "who", value: "Ula" }),
        '{"values":["Ulan","ref/prompt"]}',
      );
      const gone = await call(held, "mcp.docs.read_resource", { uri: "docs:gone" });
      assert.equal(gone.outcome, "completed_with_error");
      assert.match(
        gone.text,
        /^mcp_protocol_error: .* refused the call with error -32002: Resource not found$/,
      );
      assert.equal((await call(held, "mcp.docs.read_resource", { uri: 7 })).outcome, "invalid");
    });
    const asked = (await linesIn(ledger)).map(({ method }) => method);
    const methods = ["resources/list", "resources/list", "resources/templates/list", "resources/read"];
    const others = ["prompts/list", "prompts/get", "completion/complete", "resources/read"];
    assert.deepEqual(asked, [...methods, ...others]);
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  });
});

Deno.test("resource is told to the model within its bounds, and is there as a whole: a long text in pages, a picture as it came", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs", offers }) },
      tools: ["read_result"],
      answers: [],
    });
    await withOwner(stage, async (held) => {
      const long = await call(held, "mcp.docs.read_resource", { uri: "docs:c" });
      assert.ok(long.text.length <= 12_000 && long.text.endsWith("the very end"), long.text.slice(-100));
      const result = /the whole result is (sha256:[0-9a-f]{64})/.exec(long.text)?.[1];
      const page = await call(held, "read_result", { result: result ?? "", offset: 15_000, limit: 10_000 });
      assert.match(page.text, /^c{5006} the very end$/);
      const { text } = await call(held, "mcp.docs.read_resource", { uri: "docs:b" });
      const told =
        /^\[resource docs:b: image\/png, 10 bytes, kept as resource-1\]\n\[attachment resource-1: image\/png, 10 bytes, (sha256:[0-9a-f]{64})\]$/
          .exec(text)?.[1];
      assert.ok(told, text);
      const bytes = await held.host.readBlob(told as never);
      assert.equal(new TextDecoder("latin1").decode(bytes), "\x00\xff picture");
    });
  });
});

Deno.test("reading a resource asks a person, who sees what is read; a no sends nothing (AR-3)", async () => {
  await onMcpStage(async (stage) => {
    const ledger = stage.path("ledger");
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs", ledger, offers }, { approval_policy: "prompt" }) },
      answers: [
        { calls: [callOf("docs__read_resource", { uri: "docs:a" })] },
        { expect: "denied", text: "not read" },
        { calls: [callOf("docs__read_resource", { uri: "docs:a" })] },
        { expect: "alpha text", text: "read" },
      ],
    });
    await stage.output(...trustAgent);
    const refused = await stage.run(...firstTurn, "--answer", "deny");
    assert.match(refused.out, /\? mcp\.docs\.read_resource {2}deny by operator local/);
    assert.deepEqual(await linesIn(ledger), []);
    const asked = bodiesOf(await entriesOf(stage, sessionIn(refused)), "intent", "question.ask");
    assert.match(JSON.stringify(asked), /mcp\.docs\.read_resource[^]*docs:a/);
    const allowed = await stage.run(...nextTurn, "--answer", "allow");
    assert.match(allowed.out, /✓ mcp\.docs\.read_resource .*alpha text/);
    assert.equal((await linesIn(ledger)).length, 1);
  });
});

Deno.test("only what a server declares is offered, as its manifest and its own tools allow; the journal says what is not", async () => {
  await onMcpStage(async (stage) => {
    const own = JSON.stringify([{ name: "list_resources", inputSchema: { type: "object" } }]);
    await stage.write({ "tools.json": own });
    const limited = { tools: { exclude: ["get_prompt"] } };
    await writeMcpAgent(stage, {
      servers: {
        docs: planned(stage, { name: "docs", offers, tools: stage.path("tools.json") }, limited),
        bare: planned(stage, { name: "bare", offers: { prompts: [] } }),
        none: planned(stage, { name: "none" }),
      },
      answers: [],
    });
    await withOwner(stage, async (held) => {
      assertSaid(await call(held, "mcp.docs.list_resources"), "docs found {}");
      assertSaid(await call(held, "mcp.docs.read_resource", { uri: "docs:a" }), "alpha text");
      assertSaid(await call(held, "mcp.bare.list_prompts"), '{"prompts":[]}');
      for (const tool of ["docs.get_prompt", "bare.list_resources", "none.list_prompts"]) {
        assert.equal((await call(held, `mcp.${tool}`)).outcome, "not_found", tool);
      }
      const [listing] = bodiesOf(await heldConnection(held), "outcome", "mcp.list");
      const { rejected } = listing?.["value"] as { readonly rejected: readonly Line[] };
      assert.deepEqual(rejected.map(({ tool }) => tool), ["list_resources"]);
      assert.match(String(rejected[0]?.["reason"]), /has a tool of this name itself/);
    });
  });
});

Deno.test("server is found, says that it changed, and is lost: each is in the journal, and the next turn has what is new (AR-1, AR-40)", async () => {
  for (const announces of [true, "resources", "prompts"] as const) {
    await onMcpStage(async (stage) => {
      await stage.write({ "tools.json": "[]" });
      const plan = {
        name: "docs",
        offers,
        announces,
        started: stage.path("started"),
        tools: stage.path("tools.json"),
      };
      await writeMcpAgent(stage, { servers: { docs: planned(stage, plan) }, answers: [] });
      await withOwner(stage, async (held) => {
        // A server without tools is none the worse for it.
        assertSaid(await call(held, "mcp.docs.read_resource", { uri: "docs:a" }), "alpha text");
        await until("the notice is in the journal", async () => {
          const told = bodiesOf(await heldConnection(held), "message", "connection.stale");
          return told.some((body) => JSON.stringify(body).includes("list_changed"));
        });
        await stage.write({
          "tools.json": JSON.stringify([{ name: "fresh", inputSchema: { type: "object" } }]),
        });
        assertSaid(await call(held, "mcp.docs.fresh"), "docs found {}");
        const noted = bodiesOf(await heldConnection(held), "note", "connection.listed");
        assert.deepEqual(noted.slice(0, 2).map(({ rule, same }) => [rule, same]), [
          ["connect", undefined],
          ["list_changed", false],
        ]);
        const [started] = await linesIn(stage.path("started"));
        Deno.kill(Number(started?.["pid"]), "SIGKILL");
        await until("the loss is in the journal", async () => {
          const told = bodiesOf(await heldConnection(held), "message", "connection.stale");
          return told.some((body) => JSON.stringify(body).includes("disconnect"));
        });
      });
    });
  }
});

Deno.test("what a server logs is shown with the call that runs, with its level and without secrets; the rest is in the log of the server", async () => {
  await onMcpStage(async (stage) => {
    const logs = [{ level: "notice", logger: "db", data: "opened for ${TOKEN}" }, {
      level: "shout",
      data: "x",
    }];
    const logsInCalls = [{ level: "warning", logger: "db", data: { full: "\u202e99%", token: "${TOKEN}" } }];
    const plan = planned(stage, { name: "docs", offers, logs, logsInCalls }, {
      env: { TOKEN: "${PATH}" },
    });
    await writeMcpAgent(stage, { servers: { docs: plan }, answers: [] });
    const path = Deno.env.get("PATH") ?? "";
    let session = "";
    await withOwner(stage, async (held) => {
      session = held.session;
      const notices: string[] = [];
      const said = await call(held, "mcp.docs.read_resource", { uri: "docs:a" }, (event) => {
        if (event.type === "progress" && event.progress.type === "tool") notices.push(event.progress.message);
      });
      assertSaid(said, "alpha text");
      const shown = notices.filter((notice) => notice.startsWith("[warning] "));
      assert.deepEqual(shown, ['[warning] db: {"full":"\\u{202e}99%","token":"[redacted]"}']);
    });
    const entries = await entriesOf(stage, `connection/docs@${session.replace("session/", "")}`);
    const [closed] = bodiesOf(entries, "outcome", "mcp.close").map(({ value }) => value as Line);
    assert.equal(closed?.["log"], "[notice] db: opened for [redacted]");
    assert.ok(!JSON.stringify(entries).includes(path));
    // What the model is told of the call is the result alone.
    const outcomes = JSON.stringify(bodiesOf(await entriesOf(stage, session), "outcome", "mcp.call"));
    assert.ok(outcomes.includes("alpha text") && !outcomes.includes("99%"), outcomes);
  });
});

Deno.test("results are held against what a server says of them, never errors; a picture is kept, one with a secret is not", async () => {
  await onMcpStage(async (stage) => {
    const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const names = ["good", "bad", "error", "image", "link"];
    const tools = [
      ...names.map((name) => ({ name, inputSchema: { type: "object" }, outputSchema })),
      { name: "broken", inputSchema: { type: "object" }, outputSchema: { $ref: "#/gone" } },
    ];
    await stage.write({ "tools.json": JSON.stringify(tools) });
    const path = Deno.env.get("PATH") ?? "";
    const image = { type: "image", mimeType: "image/png", data: btoa("\x89PNG") };
    const link = { type: "resource_link", uri: "docs:a", name: "a" };
    const results = {
      good: { content: [{ type: "text", text: '{"n":1}' }], structuredContent: { n: 1 } },
      bad: { content: [{ type: "text", text: "one" }], structuredContent: { n: "1" } },
      error: { content: [{ type: "text", text: "no such n" }], structuredContent: { x: 1 }, isError: true },
      image: { content: [image, { ...image, data: btoa(`x ${path} y`) }], structuredContent: { n: 1 } },
      link: { content: [link, { type: "resource", resource: { uri: "docs:b", text: "embedded" } }] },
      broken: { content: [], structuredContent: { any: "thing" } },
    };
    const plan = { name: "docs", tools: stage.path("tools.json"), results };
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, plan, { env: { TOKEN: "${PATH}" } }) },
      answers: [],
    });
    await withOwner(stage, async (held) => {
      assertSaid(await call(held, "mcp.docs.good"), '{"n":1}');
      const misfit = "[The structured content is not what the server says that the tool gives: ";
      assertSaid(await call(held, "mcp.docs.bad"), `{"n":"1"}\none\n${misfit}result.n: must be number]`);
      const { outcome, text } = await call(held, "mcp.docs.error");
      assert.deepEqual([outcome, text], ["completed_with_error", "no such n"]);
      assertSaid(await call(held, "mcp.docs.broken"), '{"any":"thing"}');
      assertSaid(
        await call(held, "mcp.docs.link"),
        `[resource link docs:a: a]\nembedded\n${misfit}there is none]`,
      );
      const pictured = await call(held, "mcp.docs.image");
      const digest = /^\{"n":1\}\n\[attachment image-1: image\/png, 4 bytes, (sha256:[0-9a-f]{64})\]$/.exec(
        pictured.text,
      )?.[1];
      assert.ok(digest, pictured.text);
      assert.deepEqual(await held.host.readBlob(digest as never), new Uint8Array([0x89, 0x50, 0x4e, 0x47]));
      const [listing] = bodiesOf(await heldConnection(held), "outcome", "mcp.list");
      const { unchecked } = listing?.["value"] as { readonly unchecked: readonly Line[] };
      assert.deepEqual(unchecked.map(({ tool }) => tool), ["broken"]);
    });
  });
});
