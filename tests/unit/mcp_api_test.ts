/** The actor API as MCP by HTTP, over real sockets, asked by a client that others wrote, in both eras. */
import assert from "node:assert/strict";
import { z } from "zod";
import { apiMethods } from "../../schemas/api.ts";
import { mcpTools } from "../../src/api/mcp/mcp_tools.ts";
import { onHttpStage } from "../support/http_stage.ts";
import { asks, inEachEra, openMcpClient, until, waits } from "../support/mcp_client.ts";

Deno.test("MCP tools are the API's own methods: their schemas are those of the table, with the key of a command", () => {
  assert.deepEqual(
    mcpTools().map(({ name }) => name),
    ["spawn", "send", "ask", "resume", "questions", "answer", "cancel", "stop", "get", "list"],
  );
  for (const { name, inputSchema, outputSchema } of mcpTools()) {
    const { kind, params, result } = apiMethods[name as keyof typeof apiMethods];
    const key = kind === "command" ? ["key"] : [];
    const asked = z.toJSONSchema(params, { io: "input", unrepresentable: "any" });
    assert.deepEqual(
      Object.keys(inputSchema.properties ?? {}),
      [...Object.keys(asked.properties ?? {}), ...key],
      name,
    );
    assert.equal(inputSchema["additionalProperties"], false);
    assert.equal(outputSchema?.["type"], "object");
    const parts = (outputSchema?.["oneOf"] ?? [outputSchema]) as { properties: object; required: string[] }[];
    const answered = z.toJSONSchema(result, { unrepresentable: "any" });
    const own = (answered.oneOf ?? [answered]) as { properties: object }[];
    assert.deepEqual(
      parts.map(({ properties }) => Object.keys(properties)),
      own.map(({ properties }) => [...Object.keys(properties), ...key]),
      name,
    );
    assert.ok(key.length === 0 || parts.every(({ required }) => required.includes("key")), name);
  }
});

Deno.test("a client of either era spawns, asks, looks, lists and stops, and what it is told fits the schemas", () =>
  onHttpStage({ mcp: true }, (stage) =>
    inEachEra(stage, async ({ call, client }, era) => {
      const spawned = await call("spawn", { agent: "tester", name: era.replace(/\D/g, "n"), title: era });
      assert.equal(spawned.value["is_new"], true);
      assert.deepEqual(spawned.text, spawned.value);
      const { address } = spawned.value;
      const asked = await call("ask", { address, text: "Hi" });
      assert.deepEqual([asked.value["state"], asked.value["text"]], ["ended", "Hello"]);
      assert.match(String(asked.value["key"]), /^key_/);
      assert.equal((await call("send", { address, text: "More" })).value["state"], "accepted");
      assert.equal((await call("get", { address })).value["title"], era);
      const { agents } = (await call("list", { limit: 1 })).value as { agents: { address: string }[] };
      assert.deepEqual(agents.map((one) => one.address), [address]);
      assert.equal((await call("cancel", { address })).isError, false);
      assert.deepEqual((await call("stop", { address })).value["state"], "closed");
      await assert.rejects(client.callTool({ name: "export", arguments: { address } }), /Unknown tool/);
    })));

Deno.test("a key makes a repeat harmless over MCP; without one a key is minted and told", () =>
  onHttpStage({ mcp: true }, (stage) =>
    inEachEra(stage, async ({ call }, era) => {
      const first = await call("spawn", { agent: "tester", key: `k-${era}` });
      const again = await call("spawn", { agent: "tester", key: `k-${era}` });
      assert.deepEqual(again.value, first.value);
      const other = await call("spawn", { agent: "tester", title: "Other", key: `k-${era}` });
      assert.ok(other.isError);
      assert.equal(other.text["code"], "idempotency_key_reuse");
      const { address } = first.value;
      const asked = await call("ask", { address, text: "Hi" });
      const repeated = await call("ask", { address, text: "Hi", key: asked.value["key"] });
      assert.deepEqual(repeated.value, asked.value);
      const bad = await call("send", { address, text: "Hi", key: 5 });
      assert.deepEqual([bad.isError, bad.text["code"]], [true, "params_invalid"]);
    })));

Deno.test("a refusal over MCP is a tool's error with code, message, retryable, outcome and the key to send again", () =>
  onHttpStage({ mcp: true }, (stage) =>
    inEachEra(stage, async ({ call }) => {
      const { isError, text, value } = await call("ask", { address: "session/ses_0", text: "Hi" });
      assert.ok(isError);
      assert.deepEqual(value, {});
      assert.deepEqual(Object.keys(text), ["code", "message", "retryable", "outcome", "request_id", "key"]);
      assert.deepEqual([text["retryable"], text["outcome"]], [false, "not_applied"]);
      const odd = await call("spawn", { agent: "tester", odd: 1 });
      assert.deepEqual([odd.isError, odd.text["code"]], [true, "params_invalid"]);
      const denied = await call("answer", { question: "q", decision: "allow" });
      assert.equal(denied.text["code"], "scope_missing");
    })));

Deno.test("what is another's is not there, over MCP as anywhere: tools, resources and sessions", () =>
  onHttpStage({ mcp: true }, (stage) =>
    inEachEra(stage, async ({ call, client }, era) => {
      const { value: { address } } = await call("spawn", { agent: "tester" });
      const uri = `troupe://${String(address)}`;
      assert.equal((await client.readResource({ uri })).contents.length, 1);
      const other = await openMcpClient(stage, era, "p2");
      const guess = String(address).slice(0, -4) + "0000";
      const told = async (at: unknown) => {
        const { text: { request_id: _, ...rest } } = await other.call("get", { address: at });
        return rest;
      };
      assert.deepEqual(await told(address), await told(guess));
      const refusals = [uri, `troupe://${guess}`, "troupe://nobody", "file:///etc/passwd"].map((one) =>
        other.client.readResource({ uri: one }).then(() => "read", (error) => [error.code, error.data])
      );
      const [first, ...rest] = await Promise.all(refusals);
      assert.deepEqual((first as unknown[])[1], { uri });
      for (const one of rest) assert.deepEqual((one as unknown[])[0], (first as unknown[])[0]);
      assert.deepEqual((await other.client.listResources()).resources, []);
      await other.close();
    })));

Deno.test("progress of an ask tells what the agent does, in order, before the answer", () =>
  onHttpStage({ mcp: true, script: asks }, (stage) =>
    inEachEra(stage, async ({ call }) => {
      const { value: { address } } = await call("spawn", { agent: "tester" });
      const told: { readonly progress: number; readonly message?: string | undefined }[] = [];
      const onprogress = (one: { progress: number; message?: string | undefined }) => void told.push(one);
      const { value } = await call("ask", { address, text: "Read it" }, { onprogress });
      assert.equal(value["text"], "Alpha");
      const messages = told.map(({ message }) => message);
      assert.deepEqual(messages.slice(0, 2), ["The prompt is accepted", "Calls read_file"]);
      assert.ok(messages.includes("read_file: succeeded"), messages.join());
      const steps = told.map(({ progress }) => progress);
      assert.deepEqual(steps, [...steps].sort((left, right) => left - right));
    })));

Deno.test("an ask that is canceled over MCP leaves its turn alone: its key tells the end", () =>
  onHttpStage(
    { mcp: true, script: asks, config: waits },
    (stage) =>
      inEachEra(stage, async ({ call }, era) => {
        const { value: { address } } = await call("spawn", { agent: "tester" });
        const key = `a-${era}`;
        const leave = new AbortController();
        const left = call("ask", { address, text: "Read it", key }, { signal: leave.signal });
        const question = await until(async () => {
          const { questions } = (await call("questions", { address })).value;
          return (questions as { id: string; shown: string }[])[0];
        });
        leave.abort();
        await assert.rejects(left);
        const running = await call("ask", { address, text: "Read it", key, wait_ms: 0 });
        assert.deepEqual([running.value["state"], running.value["key"]], ["running", key]);
        const operator = await openMcpClient(stage, era, "operator");
        const { id, shown } = question;
        const answered = await operator.call("answer", { question: id, decision: "allow", shown });
        assert.equal(answered.value["decision"], "allow", JSON.stringify(answered.text));
        await operator.close();
        const ended = await call("ask", { address, text: "Read it", key });
        assert.equal(ended.value["text"], "Alpha");
      }),
  ));

Deno.test("sessions are resources: listed in pages, read as transcripts, by a template", () =>
  onHttpStage({ mcp: true }, (stage) =>
    inEachEra(stage, async ({ call, client }) => {
      const { value: { address } } = await call("spawn", { agent: "tester", title: "Of note" });
      await call("ask", { address, text: "Hi" });
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), ["troupe://session/{id}"]);
      const { resources } = await client.listResources();
      const listed = resources.find(({ uri }) => uri === `troupe://${String(address)}`);
      assert.equal(listed?.title, "Of note");
      const { contents: [content] } = await client.readResource({ uri: listed.uri });
      const lines = String((content as { text?: string }).text).split("\n").map((line) => JSON.parse(line));
      assert.deepEqual(lines.map(({ type, text }) => [type, text]), [
        ["prompt", "Hi"],
        ["answer", "Hello"],
        ["turn", undefined],
      ]);
      await assert.rejects(client.listResources({ cursor: "session/ses_0" }));
    })));

Deno.test("whoever subscribed to a session is told that it has gone on, and nobody else is", () =>
  onHttpStage({ mcp: true }, async (stage) => {
    for (const era of ["2025-11-25", "2026-07-28"] as const) {
      const owner = await openMcpClient(stage, era);
      const other = await openMcpClient(stage, era, "p2");
      const { value: { address } } = await owner.call("spawn", { agent: "tester" });
      const uri = `troupe://${String(address)}`;
      const told = Promise.withResolvers<string>();
      owner.client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
        told.resolve(params.uri);
      });
      const heard: string[] = [];
      other.client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
        heard.push(params.uri);
      });
      if (era === "2025-11-25") {
        await owner.client.subscribeResource({ uri });
        await assert.rejects(other.client.subscribeResource({ uri }));
      } else {
        await owner.client.listen({ resourceSubscriptions: [uri] });
        await other.client.listen({ resourceSubscriptions: [uri] });
      }
      await owner.call("ask", { address, text: "Hi" });
      assert.equal(await told.promise, uri);
      await other.call("list");
      assert.deepEqual(heard, []);
      await owner.close();
      await other.close();
    }
  }));
