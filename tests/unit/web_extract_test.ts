/** `web_extract` against a real server on loopback: what pages say, and what hostile ones cannot do. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { GuardedClient } from "../../src/net/guarded_client.ts";
import { UrlPolicy } from "../../src/net/url_policy.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { webExtract } from "../../src/tools/web_extract.ts";
import { textIn, useIn, withFolder, workspaceAt } from "../support/tools.ts";

interface Answer {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly type?: string;
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
}

/** Asks for one page of a server that answers so; `allow`: what the host's network policy lists. */
async function extract(
  answers: { readonly [path: string]: Answer },
  { path = "/", allow = ["127.0.0.1"], port = undefined as number | undefined } = {},
): Promise<{ readonly text: string; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    const { body, type = "text/html; charset=utf-8", status = 200, headers = {} } = answers[pathname] ??
      { body: "none", status: 404 };
    return new Response(body, { status, headers: { "content-type": type, ...headers } });
  });
  const { clock } = createSystemSeams({ log: () => {} });
  const client = new GuardedClient({ policy: new UrlPolicy({ allow: [...allow] }), clock });
  try {
    let text = "";
    await withFolder({}, async (folder) => {
      const use = useIn(await workspaceAt(folder), { fetch: client.fetch });
      const url = `http://127.0.0.1:${port ?? server.addr.port}${path}`;
      text = textIn(await webExtract.handler({ url }, use));
    });
    return { text, asked };
  } finally {
    client.close();
    await server.shutdown();
  }
}

const paragraphs =
  "<p>A story with enough words, commas, and sentences to be taken for the text of a page. </p>".repeat(12);
const article = `<html><head><title>The &amp; title</title><style>p { color: red }</style></head><body>
<nav><a href="/home">HOME-LINK</a></nav><article><h1>Heading</h1>${paragraphs}
<p>See <a href="other?a=1">the other page</a> and <b>this</b>.</p><pre><code>let a = 1;</code></pre>
<ul><li>one</li><li>two</li></ul><script>document.title = "SCRIPT-RAN"</script></article>
<footer>FOOTER</footer></body></html>`;

Deno.test("web_extract gives what a person would read of a page, as Markdown (DM-16)", async () => {
  const { text } = await extract({ "/dir/page": { body: article } }, { path: "/dir/page" });
  assert.match(text, /^# The & title\n\n/);
  assert.match(text, /A story with enough words/);
  assert.match(text, /\[the other page\]\(http:\/\/127\.0\.0\.1:\d+\/dir\/other\?a=1\) and \*\*this\*\*/);
  assert.match(text, /```\nlet a = 1;\n```/);
  assert.match(text, /- +one\n- +two/);
  assert.doesNotMatch(text, /HOME-LINK|FOOTER|SCRIPT-RAN|color: red|document\.title/);
});

Deno.test("web_extract gives texts as they are, and knows their encodings", async () => {
  assert.equal((await extract({ "/": { body: `{"a": 1}`, type: "application/json" } })).text, `{"a": 1}`);
  assert.equal((await extract({ "/": { body: "a < b", type: "text/plain" } })).text, "a < b");
  const latin = { body: new Uint8Array([0x67, 0x72, 0xfc, 0x6e]), type: "text/plain; charset=iso-8859-1" };
  assert.equal((await extract({ "/": latin })).text, "grün");
  const meta = `<meta charset="windows-1252"><body><p>gr`;
  const bytes = new Uint8Array([...new TextEncoder().encode(meta), 0xfc, 0x6e]);
  assert.match((await extract({ "/": { body: bytes, type: "text/html" } })).text, /grün/);
  assert.match(
    (await extract({ "/": { body: "<p>short</p>", type: "text/html; charset=made-up" } })).text,
    /short/,
  );
});

Deno.test("web_extract says why there is no page", async () => {
  assert.equal((await extract({}, { path: "/missing" })).text, "page_refused");
  assert.equal(
    (await extract({ "/": { body: new Uint8Array([1, 2]), type: "image/png" } })).text,
    "page_not_text",
  );
  const large = { body: "a".repeat(limits.webBodyBytesMax + 1), type: "text/plain" };
  assert.equal((await extract({ "/": large })).text, "response_too_large");
  assert.equal((await extract({}, { path: "/", port: 1 })).text, "http_connect_failed");
});

Deno.test("web_extract goes only where the host's network policy lets all requests go, also by redirects (DM-74, B69)", async () => {
  const here = await extract({ "/": { body: "x" } }, { allow: [] });
  assert.deepEqual([here.text, here.asked], ["url_blocked", []]);
  const redirect = {
    "/": { body: "", status: 302, headers: { location: "http://169.254.169.254/latest/meta-data" } },
  };
  const led = await extract(redirect);
  assert.deepEqual([led.text, led.asked], ["url_blocked", ["/"]]);
});

Deno.test("web_extract gets through pages that are built to keep a reader busy", async () => {
  const pages = [
    `${"<div>".repeat(30_000)}deep${"</div>".repeat(30_000)}`,
    `<p>${"<b>".repeat(3_000)}bold`,
    `${"<p>many, many, many</p>".repeat(40_000)}`,
    `<!--${"<!--".repeat(50_000)}`,
    "<".repeat(300_000),
    `<a ${"x".repeat(500_000)}>link`,
  ];
  for (const body of pages) {
    const { text } = await extract({ "/": { body } });
    assert.ok(text === "page_unreadable" || text.length <= body.length + 1_000, text.slice(0, 100));
  }
});
