/** Lines and tails of byte streams, however the streams are cut. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { LineSplitter, LineTooLongError } from "../../src/processes/lines.ts";
import { Tail } from "../../src/processes/tail.ts";

const encoder = new TextEncoder();

function bytesOf(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Cuts bytes into chunks, in turn as long as `sizes` say. */
function* cut(bytes: Uint8Array, sizes: readonly number[]): Iterable<Uint8Array> {
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    yield bytes.subarray(start, start + size);
    start += size;
  }
}

/** What a splitter gives for chunks: lines and rest as numbers, so that they can be compared. */
function split(
  chunks: Iterable<Uint8Array>,
  maxBytes: number,
): { lines: number[][]; rest: number[] | string } {
  const splitter = new LineSplitter(maxBytes);
  const lines: Uint8Array[] = [];
  try {
    for (const chunk of chunks) {
      // One buffer for all reads, as many readers have it: what is kept must not be in it.
      const buffer = chunk.slice();
      for (const line of splitter.push(buffer)) lines.push(line.slice());
      buffer.fill(0xee);
    }
  } catch (error) {
    assert.ok(error instanceof LineTooLongError, String(error));
    lines.push(...error.lines);
    return { lines: lines.map((line) => [...line]), rest: error.code };
  }
  return { lines: lines.map((line) => [...line]), rest: [...splitter.rest()] };
}

/** What lines are, said in another way: by the text of the bytes. */
function splitText(bytes: Uint8Array): { lines: number[][]; rest: number[] } {
  const parts = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("").split("\n");
  const rest = parts.pop() ?? "";
  const codes = (text: string) => Array.from(text, (character) => character.charCodeAt(0));
  return { lines: parts.map((part) => codes(part.replace(/\r$/, ""))), rest: codes(rest) };
}

/** Bytes with many line ends in them, and sizes of cuts. */
const streams = fc.tuple(
  fc.uint8Array({ maxLength: 200 }).chain((bytes) =>
    fc.array(fc.constantFrom(10, 13, 65, 0, 0xc3), { maxLength: 60 }).map((ends) =>
      Uint8Array.from([...ends, ...bytes, ...ends])
    )
  ),
  fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 }),
);

Deno.test("lines are the same for any cutting of any bytes", () => {
  fc.assert(fc.property(streams, ([bytes, sizes]) => {
    assert.deepEqual(split(cut(bytes, sizes), 1_000), splitText(bytes));
  }));
});

Deno.test("lines are refused at the same place for any cutting of any bytes", () => {
  fc.assert(fc.property(streams, fc.integer({ min: 0, max: 12 }), ([bytes, sizes], maxBytes) => {
    const whole = split([bytes], maxBytes);
    assert.deepEqual(split(cut(bytes, sizes), maxBytes), whole);
    const { lines } = splitText(bytes);
    const bad = lines.findIndex((line) => line.length > maxBytes);
    assert.deepEqual(whole.lines, bad < 0 ? lines : lines.slice(0, bad));
    if (bad >= 0) assert.equal(whole.rest, "line_too_long");
  }));
});

Deno.test("lines end with LF or CRLF, and a CR alone ends nothing", () => {
  const { lines, rest } = split(cut(bytesOf("a\r\n\r\n\nb\rc\n\r\r\nend\r"), [1]), 10);
  assert.deepEqual(
    lines.map((line) => String.fromCharCode(...line)),
    ["a", "", "", "b\rc", "\r"],
  );
  assert.deepEqual(rest, [...bytesOf("end\r")]);
});

Deno.test("a line of 9 MB arrives whole, in whatever chunks it comes", () => {
  const text = "0123456789abcde".repeat(600_000);
  const bytes = bytesOf(`first\r\n${text}\r\nlast\nrest`);
  for (const sizes of [[65_536], [1, 65_536, 7, 300_001], [4_095], [9_000_000]]) {
    const splitter = new LineSplitter(16 * 1_048_576);
    const lines = [...cut(bytes, sizes)].flatMap((chunk) => splitter.push(chunk));
    assert.deepEqual(lines.map((line) => line.length), [5, 9_000_000, 4], sizes.join());
    assert.ok(new TextDecoder().decode(lines[1]) === text, sizes.join());
    assert.equal(new TextDecoder().decode(splitter.rest()), "rest");
  }
});

Deno.test("a line of the longest length passes with any end, and one byte more is refused at that byte", () => {
  for (const end of ["\n", "\r\n"]) {
    for (const size of [1, 3, 100]) {
      const { lines } = split(cut(bytesOf(`${"x".repeat(8)}${end}`), [size]), 8);
      assert.deepEqual(lines.map((line) => line.length), [8]);
    }
  }
  const splitter = new LineSplitter(8);
  for (let byte = 0; byte < 8; byte++) assert.deepEqual(splitter.push(bytesOf("x")), []);
  assert.throws(() => splitter.push(bytesOf("x")), {
    name: "LineTooLongError",
    message: /more than 8 bytes/,
  });
  // A CR may begin the end of the line; what follows shows that it did not.
  const doubtful = new LineSplitter(8);
  assert.deepEqual(doubtful.push(bytesOf("xxxxxxxx\r")), []);
  assert.throws(() => doubtful.push(bytesOf("\r\n")), { code: "line_too_long" });
});

Deno.test("lines after one that was too long are refused for ever, and those before it are told once", () => {
  const splitter = new LineSplitter(4);
  const refusal = (error: LineTooLongError) => error.lines.map((line) => new TextDecoder().decode(line));
  assert.throws(() => splitter.push(bytesOf("a\nbb\nccccc\nd\n")), (error: LineTooLongError) => {
    assert.deepEqual(refusal(error), ["a", "bb"]);
    return true;
  });
  for (const text of ["e\n", "", "\n"]) {
    assert.throws(() => splitter.push(bytesOf(text)), (error: LineTooLongError) => {
      assert.deepEqual([error.code, refusal(error)], ["line_too_long", []]);
      return true;
    });
  }
  assert.equal(splitter.rest().length, 0);
});

Deno.test("a line that comes one byte at a time takes no more room than the limit", () => {
  const splitter = new LineSplitter(1_048_576);
  const byte = bytesOf("x");
  for (let count = 0; count < 1_000_000; count++) splitter.push(byte);
  const [line] = splitter.push(bytesOf("\n"));
  assert.equal(line?.length, 1_000_000);
  // The limit, and a CR.
  assert.ok((line?.buffer.byteLength ?? Infinity) <= 1_048_577);
});

Deno.test("tail of any pushes is the tail of the whole", () => {
  const pushes = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 });
  fc.assert(fc.property(pushes, fc.integer({ min: 0, max: 50 }), (chunks, maxBytes) => {
    const tail = new Tail(maxBytes);
    for (const chunk of chunks) tail.push(chunk);
    const all = Uint8Array.from(chunks.flatMap((chunk) => [...chunk]));
    const last = all.subarray(Math.max(0, all.length - maxBytes));
    const isContinuation = (byte: number | undefined) => byte !== undefined && byte >= 0x80 && byte < 0xc0;
    let start = 0;
    if (all.length > maxBytes) { while (start < 3 && isContinuation(last[start])) start += 1; }
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    assert.equal(tail.text(), decoder.decode(last.subarray(start)));
  }));
});

Deno.test("tail of text begins at a whole character", () => {
  fc.assert(fc.property(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }),
    fc.integer({ min: 4, max: 40 }),
    (text, maxBytes) => {
      const tail = new Tail(maxBytes);
      for (const chunk of cut(bytesOf(text), [1, 5, 2])) tail.push(chunk);
      assert.ok(text.endsWith(tail.text()), tail.text());
      // At most three bytes of a cut character are missing.
      assert.ok(bytesOf(tail.text()).length >= Math.min(bytesOf(text).length, maxBytes) - 3);
    },
  ));
});

Deno.test("tail shows bytes that are no text, and can be read again and again while more comes", () => {
  const tail = new Tail(6);
  assert.equal(tail.text(), "");
  tail.push(Uint8Array.of(0xff, 65));
  assert.equal(tail.text(), "\ufffdA");
  tail.push(bytesOf("bcdefgh"));
  assert.equal(tail.text(), "cdefgh");
  tail.push(bytesOf("é"));
  assert.equal(tail.text(), "efghé");
  tail.push(bytesOf("\ufeffend"));
  assert.equal(tail.text(), "\ufeffend");
});
