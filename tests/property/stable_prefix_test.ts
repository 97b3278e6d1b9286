/** Whether each request to a vendor begins with all of the one before, byte for byte, so that the vendor may keep it. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { ModelMessage } from "../../schemas/model.ts";
import { withOutput } from "../../src/effects/output_order.ts";
import { requestMessages } from "../../src/effects/request_messages.ts";
import { scriptedCapabilities } from "../../src/model/scripted.ts";
import { chatWire } from "../support/vendors/chat_wire.ts";
import { geminiWire } from "../support/vendors/gemini_wire.ts";
import { messagesWire } from "../support/vendors/messages_wire.ts";
import { responsesWire } from "../support/vendors/responses_wire.ts";
import { ask, heard, inTurn, withVendor } from "../support/vendors/vendor_server.ts";

const tools = ["look", "9.look", "files.read"].map((name) => ({
  name,
  description: `Does ${name}`,
  inputSchema: { type: "object", properties: { at: { type: "string" } } },
}));

/** One step of a conversation: what the model said, and what it was told then. A call may have lost its result. */
const step = fc.record({
  text: fc.constantFrom("", "Let me look", "ä\ud83d\ude00"),
  calls: fc.array(
    fc.record({ tool: fc.nat(2), id: fc.constantFrom("a", "b", "call.1"), lost: fc.boolean() }),
    {
      maxLength: 3,
    },
  ),
  said: fc.constantFrom("Go on", "News: done"),
});

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function messagesOf({ text, calls, said }: Step): readonly ModelMessage[] {
  const made = calls.map(({ tool, id }) => ({
    callId: id,
    name: tools[tool]?.name ?? "",
    arguments: { at: id },
  }));
  const results = calls.flatMap(({ tool, id, lost }): ModelMessage[] =>
    lost
      ? []
      : [{ role: "tool", callId: id, name: tools[tool]?.name ?? "", text: `saw ${id}`, isError: false }]
  );
  const user: readonly ModelMessage[] = calls.length === 0 ? [{ role: "user", text: said }] : [];
  return [
    { role: "assistant", text: text === "" && calls.length === 0 ? "." : text, calls: made },
    ...results,
    ...user,
  ];
}

/** What grows of a body, and all the rest. The marks of what may be kept move on. */
function partsOf(
  body: { readonly [field: string]: unknown },
): { readonly grown: string; readonly rest: string } {
  const plain = JSON.parse(JSON.stringify(body, (key, value) => key === "cache_control" ? undefined : value));
  const field = ["messages", "input", "contents"].find((name) => name in plain) ?? "";
  const { [field]: grown, ...rest } = plain;
  return { grown: JSON.stringify(grown).slice(0, -1), rest: JSON.stringify(rest) };
}

Deno.test("request of each step begins with the request of the step before, byte for byte, in every vendor's words", async () => {
  for (const wire of [chatWire, responsesWire, messagesWire, geminiWire]) {
    await withVendor(wire, inTurn(wire, []), async ({ server, provider }) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 6 }), async (steps) => {
          const from = server.asked.length;
          const told: ModelMessage[] = [{ role: "system", text: "Be brief" }, {
            role: "user",
            text: "Begin",
          }];
          for (const one of steps) {
            const bare = ask({ messages: [...requestMessages(told)], tools });
            await heard(provider, withOutput(bare, { type: "object" }, scriptedCapabilities));
            told.push(...messagesOf(one));
          }
          const bodies = server.asked.slice(from).map(({ body }) => partsOf(body as never));
          assert.equal(bodies.length, steps.length);
          for (const [index, { grown, rest }] of bodies.entries()) {
            const before = bodies[index - 1];
            if (before === undefined) continue;
            assert.ok(grown.startsWith(before.grown), `${wire.kind} ${index}:\n${before.grown}\n${grown}`);
            assert.equal(rest, before.rest, wire.kind);
          }
        }),
        { numRuns: 6, seed: 9 },
      );
    });
  }
});

Deno.test("Anthropic is told up to where it may keep a request, unless the configuration says no; no other vendor is", async () => {
  const messages: ModelMessage[] = [{ role: "system", text: "Be brief" }, { role: "user", text: "Begin" }];
  const marksOf = async (wire: typeof messagesWire, setup = {}) => {
    let marks = "";
    await withVendor(wire, inTurn(wire, []), async ({ server, provider }) => {
      await heard(provider, ask({ messages, tools }));
      const body = server.asked[0]?.body as { tools?: unknown[]; system?: unknown; messages?: unknown[] };
      const has = (part: unknown) =>
        (JSON.stringify(part) ?? "").split('"cache_control":{"type":"ephemeral"}').length - 1;
      marks = [
        has(body.tools),
        has(body.tools?.at(-1)),
        has(body.system),
        has(body.messages?.at(-1)),
        has(body),
      ].join();
    }, setup);
    return marks;
  };
  assert.equal(await marksOf(messagesWire), "1,1,1,1,3");
  const off = { settings: { capabilities: { prompt_caching: false } } };
  assert.equal(await marksOf(messagesWire, off), "0,0,0,0,0");
  for (const wire of [chatWire, responsesWire, geminiWire]) {
    assert.match(await marksOf(wire), /,0$/, wire.kind);
  }
});
