/** Answers that are too slow, too large, or not what they say: the guarded client ends each with its code. */
import assert from "node:assert/strict";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { limits } from "../../schemas/limits.ts";
import { failureOf, type Guarded, type GuardedSetup, now, withGuarded } from "../support/guarded.ts";
import { answerOf, type RawServer, type Respond, say, startRawServer } from "../support/raw_server.ts";

const allow = ["127.0.0.1"];
const mebibyte = 1_048_576;

async function withServer(
  respond: Respond,
  test: (server: RawServer, guarded: Guarded) => Promise<void>,
  setup: GuardedSetup = {},
): Promise<void> {
  const server = startRawServer(respond);
  await withGuarded({ allow, ...setup }, (guarded) => test(server, guarded));
  await server.close();
}

/** A server that gives these bytes to every request, in pieces, and then closes or waits. */
function giving(...pieces: readonly (string | Uint8Array)[]): Respond {
  return (_, connection) => say(connection, ...pieces);
}

function givingAndClosing(...pieces: readonly (string | Uint8Array)[]): Respond {
  return async (_, connection) => {
    await say(connection, ...pieces);
    connection.close();
  };
}

/** What the request or its body ends with. */
async function codeOf(respond: Respond, setup: GuardedSetup = {}): Promise<string> {
  let code = "";
  await withServer(respond, async (server, { client }) => {
    const work = client.fetch(`${server.origin}/path?secret=1`).then((response) => response.bytes());
    const error = await failureOf(work);
    assert.doesNotMatch(error.message, /secret|path/);
    assert.equal(error.wasSent, true);
    assert.equal(client.idleConnections, 0);
    code = error.code;
  }, setup);
  return code;
}

function encoded(body: Uint8Array, coding: string): readonly (string | Uint8Array)[] {
  return [`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\ncontent-encoding: ${coding}\r\n\r\n`, body];
}

Deno.test("guarded client decodes gzip, as a whole and as it comes", async () => {
  const body = gzipSync("some text ".repeat(1_000));
  await withServer(giving(...encoded(body, "gzip")), async (server, { client }) => {
    const response = await client.fetch(server.origin);
    assert.deepEqual([response.headers.get("content-encoding"), response.headers.get("content-length")], [
      null,
      null,
    ]);
    assert.equal((await response.text()).length, 10_000);
    assert.match(server.requests[0]?.head ?? "", /^accept-encoding: gzip$/m);
    assert.equal(client.idleConnections, 1);
  });
});

Deno.test("guarded client ends a compression bomb long before it is decoded (B106)", async () => {
  const bomb = gzipSync(new Uint8Array(64 * mebibyte));
  assert.ok(bomb.length < mebibyte);
  assert.equal(await codeOf(giving(...encoded(bomb, "gzip"))), "response_too_large");
  await withServer(giving(...encoded(bomb, "gzip")), async (server, { client }) => {
    const response = await client.fetch(server.origin);
    let bytes = 0;
    const reading = (async () => {
      for await (const piece of response.body ?? []) bytes += piece.length;
    })();
    const error = await failureOf(reading);
    assert.match(error.message, /times as large/);
    assert.ok(bytes <= limits.httpInflationFreeBytes + limits.httpDecodeSliceBytes * 1_032, String(bytes));
  });
  // What grows less but is too large all the same.
  const noise = crypto.getRandomValues(new Uint8Array(60_000));
  const mixed = new Uint8Array(11 * mebibyte);
  for (let at = 0; at < mixed.length; at += 4 * mebibyte) mixed.set(noise, at);
  const large = gzipSync(mixed);
  assert.equal(await codeOf(giving(...encoded(large, "gzip"))), "response_too_large");
  const brotli = brotliCompressSync(new Uint8Array(16 * mebibyte));
  assert.equal(
    await codeOf(giving(...encoded(brotli, "br"))),
    "http_protocol_error",
    "never offered, never decoded",
  );
});

Deno.test("guarded client refuses layers of encoding and codings that it did not offer (B107)", async () => {
  const body = gzipSync("x");
  for (
    const coding of [
      "gzip, gzip",
      Array(6).fill("gzip").join(", "),
      Array(5_000).fill("gzip").join(","),
      "zstd",
      "evil",
    ]
  ) {
    assert.equal(await codeOf(giving(...encoded(body, coding))), "http_protocol_error", coding.slice(0, 20));
  }
  const twice =
    `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx`;
  assert.equal(await codeOf(giving(twice)), "http_protocol_error");
});

Deno.test("guarded client ends a body that is too large, told or not", async () => {
  const told = `HTTP/1.1 200 OK\r\ncontent-length: ${limits.httpBodyBytesMax + 1}\r\n\r\n`;
  assert.equal(await codeOf(giving(told)), "response_too_large");
  const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
  const endless: Respond = async (_, connection) => {
    await say(connection, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    for (let at = 0; at < 400; at++) await say(connection, piece);
  };
  assert.equal(await codeOf(endless), "response_too_large");
  assert.equal(
    await codeOf(giving(answerOf("12345")), { bounds: { bodyBytesMax: 4 } }),
    "response_too_large",
  );
});

Deno.test("guarded client ends a head that is too large or has too many headers (B108)", async () => {
  const flood: Respond = async (_, connection) => {
    await say(connection, "HTTP/1.1 200 OK\r\n");
    for (let at = 0; at < 320; at++) await say(connection, `x-${at}: ${"y".repeat(65_536)}\r\n`);
  };
  assert.equal(await codeOf(flood), "response_too_large");
  const many = Array.from({ length: 10_000 }, () => "a:\r\n").join("");
  assert.equal(await codeOf(givingAndClosing(`HTTP/1.1 200 OK\r\n${many}\r\n`)), "response_too_large");
  const inTrailer = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ${
    "y".repeat(limits.httpHeadBytesMax)
  }`;
  assert.equal(await codeOf(givingAndClosing(inTrailer)), "response_too_large");
});

Deno.test("guarded client never takes half an answer for the whole (B109)", async () => {
  const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  const cut = [
    "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
    `${chunked}5\r\nhel`,
    `${chunked}5\r\nhello\r\n`,
  ];
  for (
    const text of [...cut, `${chunked}5\r\nhello\r\n0\r\n`, "HTTP/1.1 200 OK\r\ncontent-le", "", chunked]
  ) {
    assert.equal(await codeOf(givingAndClosing(text)), "http_connection_lost", JSON.stringify(text));
  }
  const half = gzipSync("some text ".repeat(1_000)).subarray(0, 40);
  assert.equal(await codeOf(giving(...encoded(half, "gzip"))), "http_protocol_error");
  const whole = answerOf('{"a":1}');
  for (let cutAt = 1; cutAt < whole.length; cutAt++) {
    assert.equal(
      await codeOf(givingAndClosing(whole.slice(0, cutAt))),
      "http_connection_lost",
      String(cutAt),
    );
  }
});

Deno.test("guarded client refuses an answer that can be read in two ways (B109)", async () => {
  const ok = "HTTP/1.1 200 OK\r\n";
  const broken = {
    "longer than it says": `${answerOf("abc")}defg`,
    "two answers to one request": answerOf("abc") + answerOf("planted"),
    "two lengths": `${ok}content-length: 4\r\ncontent-length: 3\r\n\r\nabcd`,
    "a list of lengths": `${ok}content-length: 3, 3\r\n\r\nabc`,
    "length and chunks": `${ok}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
    "another coding": `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    "chunks of HTTP/1.0": "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "a negative length": `${ok}content-length: -3\r\n\r\nabc`,
    "a signed length": `${ok}content-length: +3\r\n\r\nabc`,
    "a bad chunk size": `${ok}transfer-encoding: chunked\r\n\r\nxyz\r\nabc\r\n0\r\n\r\n`,
    "a signed chunk size": `${ok}transfer-encoding: chunked\r\n\r\n+3\r\nabc\r\n0\r\n\r\n`,
    "a huge chunk size": `${ok}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc`,
    "a chunk longer than it says": `${ok}transfer-encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n`,
    "a bare line feed after a chunk size": `${ok}transfer-encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n`,
    "an endless chunk line": `${ok}transfer-encoding: chunked\r\n\r\n3;${
      "x".repeat(limits.httpChunkLineBytesMax)
    }\r\nabc`,
    "a folded header": `${ok}x: a\r\n b\r\ncontent-length: 0\r\n\r\n`,
    "a space before the colon": `${ok}content-length : 0\r\n\r\n`,
    "no colon": `${ok}nonsense\r\n\r\n`,
    "a bare line feed in a head": `${ok}a: b\ncontent-length: 0\r\n\r\n`,
    "a bare carriage return in a head": `${ok}a: b\rc: d\r\ncontent-length: 0\r\n\r\n`,
    "a NUL in a header": `${ok}a: b\u0000\r\ncontent-length: 0\r\n\r\n`,
    "no HTTP": "SSH-2.0-OpenSSH_9.9\r\n\r\n",
    "another version": "HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n",
    "no status": "HTTP/1.1 OK\r\ncontent-length: 0\r\n\r\n",
    "a status of none": "HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n",
    "an upgrade that nobody asked for": "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
    "announcements without end": "HTTP/1.1 100 Continue\r\n\r\n".repeat(limits.httpInformationalMax + 1),
    "a proper gzip with more behind it": `${ok}content-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc`,
  };
  for (const [what, text] of Object.entries(broken)) {
    assert.equal(await codeOf(giving(text)), "http_protocol_error", what);
  }
});

Deno.test("guarded client gives a server its time for each phase, and no more (B95)", async () => {
  const silent: Respond = () => {};
  const dripping = giving("HTTP/1.1 200 OK\r\nx: y");
  const standing = giving("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
  const cases = [
    { respond: silent, ms: limits.httpHeadersMs, words: /no answer came within 60000 ms/ },
    { respond: dripping, ms: limits.httpHeadersMs, words: /no answer came within 60000 ms/ },
    { respond: standing, ms: limits.httpIdleMs, words: /stood still within 60000 ms/ },
  ];
  for (const { respond, ms, words } of cases) {
    await withServer(respond, async (server, { client, world }) => {
      const asked = client.fetch(server.origin);
      await server.nextRequest();
      const reader = respond === standing ? (await asked).body?.getReader() : undefined;
      await reader?.read();
      const failed = failureOf(reader ? reader.read() : asked);
      const ended = server.nextEnd();
      // What was sent is known to be sent when the loop has been around.
      for (let turns = 0; turns < 10; turns++) await world.settle();
      await world.advance(ms - 1);
      assert.equal(
        await Promise.race([ended.then(() => "ended"), world.settle().then(() => "open")]),
        "open",
      );
      await world.advance(1);
      const error = await now(world, failed);
      assert.deepEqual([error.code, error.retryable, error.wasSent], ["http_timed_out", true, true]);
      assert.match(error.message, words);
      await ended;
    });
  }
});

Deno.test("guarded client counts no time in which nobody reads, but ends an answer that drips for ever", async () => {
  let drip = (): Promise<void> => Promise.resolve();
  const respond: Respond = (_, connection) => {
    drip = () => say(connection, "1\r\nx\r\n");
    return say(connection, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  };
  await withServer(respond, async (server, { client, world }) => {
    const response = await client.fetch(server.origin);
    const reader = response.body!.getReader();
    await world.advance(limits.httpIdleMs * 2);
    let ms = limits.httpIdleMs * 2;
    for (; ms + 50_000 < limits.httpTotalMs; ms += 50_000) {
      await drip();
      assert.equal((await reader.read()).value?.length, 1);
      await world.advance(50_000);
    }
    const rest = failureOf(reader.read());
    await world.advance(limits.httpTotalMs - ms);
    assert.match((await now(world, rest)).message, /it was not over within 600000 ms/);
    await server.nextEnd();
  });
});

Deno.test("guarded client gives up a connection that does not come about, and says that nothing was sent", async () => {
  await withGuarded({ allow }, async ({ client }) => {
    const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = closed.addr as Deno.NetAddr;
    closed.close();
    const error = await failureOf(client.fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "x" }));
    assert.deepEqual([error.code, error.retryable, error.wasSent], ["http_connect_failed", true, false]);
    assert.deepEqual(error.failure, { code: error.code, message: error.message, retryable: true });
  });
});
