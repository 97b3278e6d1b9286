/** The actor API on a pipe: what happens to a program that does not read, and to one that asks for too much at once. */
import assert from "node:assert/strict";
import { apiLimits } from "../../schemas/api_limits.ts";
import { RpcServer } from "../../src/api/rpc_server.ts";
import { openApiStage, programScopes, someProgram } from "../support/api_stage.ts";

const encoder = new TextEncoder();

function line(id: number, method: string, params: object = {}): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
}

/** A program that writes these chunks, and then nothing, or its end. */
function inputOf(chunks: readonly string[], ends: boolean) {
  const rest = [...chunks];
  const input = {
    reads: 0,
    read: (buffer: Uint8Array): Promise<number | null> => {
      const next = rest.shift();
      if (next === undefined) return ends ? Promise.resolve(null) : new Promise<null>(() => {});
      input.reads += 1;
      return Promise.resolve(encoder.encodeInto(next, buffer).written);
    },
  };
  return input;
}

Deno.test("a program that does not read its answers is not read either, until it reads again (F34)", async () => {
  const stage = await openApiStage();
  const count = 6_000;
  const input = inputOf(Array.from({ length: count }, (_, id) => line(id, "nobody")), true);
  const gate = Promise.withResolvers<void>();
  const written: string[] = [];
  const output = {
    write: async (bytes: Uint8Array) => {
      await gate.promise;
      written.push(new TextDecoder().decode(bytes));
      return bytes.length;
    },
  };
  const caller = { principal: someProgram, scopes: programScopes };
  const server = new RpcServer({ api: stage.api, caller, input, output, seams: stage.world.seams });
  const running = server.run();
  for (let turns = 0; turns < 10; turns++) await stage.world.settle();
  const { reads } = input;
  assert.ok(reads < count, `it read all ${count} requests`);
  for (let turns = 0; turns < 10; turns++) await stage.world.settle();
  assert.equal(input.reads, reads);
  gate.resolve();
  await stage.run(running);
  assert.equal(written.length, count);
});

Deno.test("more requests than may be open are refused, and told that they can be sent again (F34)", async () => {
  const stage = await openApiStage();
  const { address } = await stage.run(stage.client().spawn({ agent: "tester" }));
  const most = apiLimits.rpcRequestsMax;
  const lines = Array.from({ length: most + 2 }, (_, id) => line(id, "watch", { address }));
  const answers: { id: number; error?: { data: { code: string; retryable: boolean } }; result?: unknown }[] =
    [];
  const output = {
    write: (bytes: Uint8Array) => {
      const message = JSON.parse(new TextDecoder().decode(bytes));
      if (message.method === undefined) answers.push(message);
      return Promise.resolve(bytes.length);
    },
  };
  const caller = { principal: someProgram, scopes: programScopes };
  const input = inputOf([lines.join("")], true);
  const server = new RpcServer({ api: stage.api, caller, input, output, seams: stage.world.seams });
  await stage.run(server.run());
  const refused = answers.filter(({ error }) => error !== undefined);
  assert.deepEqual(refused.map(({ id }) => id), [most, most + 1]);
  assert.deepEqual(
    new Set(refused.map(({ error }) => [error?.data.code, error?.data.retryable].join())),
    new Set(["requests_too_many,true"]),
  );
  assert.equal(answers.length, most + 2);
});

Deno.test("a request that is given up is answered at once, while the pipe goes on", async () => {
  const stage = await openApiStage();
  const { address } = await stage.run(stage.client().spawn({ agent: "tester" }));
  const cancel = `${JSON.stringify({ jsonrpc: "2.0", method: "request/cancel", params: { id: 1 } })}\n`;
  const input = inputOf([line(1, "watch", { address }), line(2, "watch", { address }), cancel], false);
  const ended: number[] = [];
  const output = {
    write: (bytes: Uint8Array) => {
      const message = JSON.parse(new TextDecoder().decode(bytes));
      if (message.result !== undefined) ended.push(message.id);
      return Promise.resolve(bytes.length);
    },
  };
  const caller = { principal: someProgram, scopes: programScopes };
  const server = new RpcServer({ api: stage.api, caller, input, output, seams: stage.world.seams });
  const running = server.run();
  for (let turns = 0; turns < 10; turns++) await stage.world.settle();
  assert.deepEqual(ended, [1]);
  server.drain();
  await stage.run(running);
  assert.deepEqual(ended, [1, 2]);
});
