/** The actor API as MCP on a pipe, whose end comes while an agent is still at work: in virtual time. */
import assert from "node:assert/strict";
import { apiLimits } from "../../schemas/api_limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import { McpPipe } from "../../src/api/mcp/mcp_pipe.ts";
import { openApiStage, programScopes } from "../support/api_stage.ts";
import { eras } from "../support/mcp_client.ts";

const encoder = new TextEncoder();

interface Answer {
  readonly id?: number;
  readonly result?: { readonly structuredContent?: { readonly state: string; readonly key: string } };
}

/** What a program says that asks an agent, by the rules of either era. */
function asking(era: (typeof eras)[number], address: string): string {
  const client = { name: "raw", version: "1" };
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": era,
    "io.modelcontextprotocol/clientInfo": client,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const call = { name: "ask", arguments: { address, text: "Pay", key: `k-${era}` } };
  const isModern = era === "2026-07-28";
  const hello = { protocolVersion: era, capabilities: {}, clientInfo: client };
  const listened = { notifications: { resourceSubscriptions: [`troupe://${address}`] } };
  const messages = isModern
    ? [
      { id: 1, method: "server/discover", params: { _meta } },
      { id: 2, method: "subscriptions/listen", params: { ...listened, _meta } },
      { id: 3, method: "tools/call", params: { ...call, _meta } },
    ]
    : [
      { id: 1, method: "initialize", params: hello },
      { method: "notifications/initialized" },
      { id: 3, method: "tools/call", params: call },
    ];
  return messages.map((one) => `${JSON.stringify({ jsonrpc: "2.0", ...one })}\n`).join("");
}

for (const era of eras) {
  for (const way of ["the end of input", "being asked twice"] as const) {
    Deno.test(`${way} ends an MCP server of ${era} in time: an ask is told that its turn goes on`, async () => {
      const work = Promise.withResolvers<string>();
      const stage = await openApiStage({
        tools: [{ name: "pay", work: () => work.promise }],
        answers: [{ calls: [{ tool: "pay" }] }, { text: "Paid" }],
      });
      const { world } = stage;
      const address = await stage.session();
      const caller = { principal: localOperator, scopes: programScopes };
      const rest = [asking(era, address)];
      const ended = Promise.withResolvers<null>();
      const answers: Answer[] = [];
      const pipe = new McpPipe({
        api: stage.api,
        seams: world.seams,
        caller,
        input: {
          read: (buffer) => {
            const next = rest.shift();
            if (next === undefined) return ended.promise;
            return Promise.resolve(encoder.encodeInto(next, buffer).written);
          },
        },
        output: {
          write: (bytes) => {
            answers.push(JSON.parse(new TextDecoder().decode(bytes)));
            return Promise.resolve(bytes.length);
          },
        },
      });
      const running = pipe.run();
      for (let turns = 0; turns < 50; turns++) await world.settle();
      const told = () => answers.find(({ id }) => id === 3)?.result?.structuredContent;
      if (way === "the end of input") {
        ended.resolve(null);
        for (let turns = 0; turns < 50; turns++) await world.settle();
        assert.equal(told(), undefined);
        await world.advance(apiLimits.drainMs);
      } else {
        pipe.drain();
        for (let turns = 0; turns < 50; turns++) await world.settle();
        assert.equal(told(), undefined);
        pipe.drain();
      }
      await stage.run(running);
      assert.deepEqual([told()?.state, told()?.key], ["running", `k-${era}`]);
      work.resolve("paid");
      const turn = await stage.run(stage.client(caller).ask({ address, text: "Pay" }, { key: `k-${era}` }));
      assert.equal(turn.state === "ended" && turn.text, "Paid");
    });
  }
}
