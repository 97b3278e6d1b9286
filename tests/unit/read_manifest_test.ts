/** What a manifest may say of the place of a server, and how it is refused: at its line, with what to write instead. */
import assert from "node:assert/strict";
import { ConfigError } from "../../src/config_file.ts";
import { readManifest } from "../../src/host/read_manifest.ts";

const head = "# The documents.\ntransport: streamable_http\n";

async function refusalOf(text: string): Promise<ConfigError> {
  const error = await readManifest(text, "mcp/docs.yaml").then(() => undefined, (reason: unknown) => reason);
  assert.ok(error instanceof ConfigError, `accepted, or another error: ${text}\n${error}`);
  return error;
}

Deno.test("manifest names an endpoint by https, or by http on this machine, without login, fragment and length (GA-8)", async () => {
  const longest = `https://docs.example/${"x".repeat(512 - "https://docs.example/".length)}`;
  const good = [
    ...[
      "https://docs.example/mcp",
      "https://docs.example:8443/mcp?tenant=a",
      "https://10.0.0.5/mcp",
      longest,
    ],
    ...["http://localhost:8000/mcp", "http://127.0.0.1/mcp", "http://127.9.8.7:1/", "http://[::1]:8000/mcp"],
  ];
  for (const url of good) {
    const manifest = await readManifest(`${head}url: "${url}"\n`, "mcp/docs.yaml");
    assert.equal(manifest.transport === "streamable_http" && manifest.url, url);
  }
  const refused: readonly (readonly [url: string, why: RegExp])[] = [
    ["http://docs.example/mcp", /must be https: plain http is for a server on this machine/],
    ["http://10.0.0.5/mcp", /must be https/],
    ["http://localhost.docs.example/mcp", /must be https/],
    ["http://127.0.0.1.docs.example/mcp", /must be https/],
    ["http://[::ffff:7f00:1]/mcp", /must be https/],
    ["not a url", /must be an http or https URL/],
    ["ftp://docs.example/mcp", /must be an http or https URL/],
    ["https://ada@docs.example/mcp", /no user name and no password/],
    ["https://ada:pass@docs.example/mcp", /no user name and no password/],
    ["https://docs.example/mcp#top", /must have no fragment/],
    ["https://docs.example/mcp#", /must have no fragment/],
    [`${longest}x`, /at most 512 characters/],
  ];
  for (const [url, why] of refused) {
    const { code, message, line, column } = await refusalOf(`${head}url: "${url}"\n`);
    assert.deepEqual([code, line, column], ["config_invalid", 3, 6], url);
    assert.match(message, why, url);
    assert.ok(message.startsWith('Cannot read "mcp/docs.yaml": mcp/docs.yaml:3:6: "url" '), message);
    // It may hold a secret in the wrong place.
    assert.ok(!message.includes(url));
  }
});

Deno.test("manifest of a server by WebSocket is refused as a transport that nobody speaks, at its line (LC-24)", async () => {
  const texts: readonly (readonly [text: string, place: readonly [number, number]])[] = [
    ["transport: ws\nurl: wss://docs.example/mcp\n", [2, 6]],
    ["transport: ws\nurl: https://docs.example/mcp\n", [1, 12]],
    ["transport: websocket\n", [1, 12]],
    [`${head}url: ws://docs.example/mcp\n`, [3, 6]],
  ];
  for (const [text, place] of texts) {
    const { code, message, line, column } = await refusalOf(text);
    assert.deepEqual([code, line, column], ["transport_unsupported", ...place], text);
    assert.match(
      message,
      /^Cannot read "mcp\/docs\.yaml": mcp\/docs\.yaml:\d+:\d+: troupe speaks no WebSocket; use a /,
    );
  }
  assert.equal((await refusalOf("transport: carrier_pigeon\n")).code, "config_invalid");
});
