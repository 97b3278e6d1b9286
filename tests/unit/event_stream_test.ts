/** Streams of server-sent events: the same events wherever the bytes are cut. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { readEvents, type ServerEvent } from "../../src/mcp/event_stream.ts";

async function eventsOf(chunks: readonly Uint8Array[]): Promise<readonly Partial<ServerEvent>[]> {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const found: ServerEvent[] = [];
  for await (const event of readEvents(stream)) found.push(event);
  return found;
}

/** A stream with everything in it that an event may have, and what must come of it. */
const written = [
  ": a comment\n",
  "data: one\n\n",
  ": more words\ndata: a\n: between\ndata: b\ndata:  c\n\n",
  "\n\n\n",
  "event: message\r\nid: 7\r\nretry: 250\r\ndata:crlf \u2028 \u00fc\r\n\r\n",
  "unknown: field\ndata\n\n",
  "id: 8\n\n",
  "data: never ends",
].join("");
const none = { type: "", id: undefined, retryMs: undefined };
const expected = [
  { ...none, data: "one" },
  { ...none, data: "a\nb\n c" },
  { type: "message", data: "crlf \u2028 \u00fc", id: "7", retryMs: 250 },
  { ...none, data: "" },
  { ...none, data: "", id: "8" },
];

Deno.test("events are split at blank lines, without comments, their lines of data joined, wherever the bytes are cut (CM-72)", async () => {
  const bytes = new TextEncoder().encode(written);
  assert.deepEqual(await eventsOf([bytes]), expected);
  assert.deepEqual(await eventsOf([...bytes].map((byte) => Uint8Array.of(byte))), expected);
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 12 });
  await fc.assert(fc.asyncProperty(cuts, async (places) => {
    const sorted = [0, ...places.sort((left, right) => left - right), bytes.length];
    const chunks = sorted.slice(1).map((end, at) => bytes.slice(sorted[at], end));
    assert.deepEqual(await eventsOf(chunks), expected);
  }));
});
