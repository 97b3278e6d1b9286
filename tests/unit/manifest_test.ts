/** Whether a manifest is filled up with the defaults that its readers rely on, and refused where it says too much or little. */
import assert from "node:assert/strict";
import { McpManifest } from "../../schemas/manifest.ts";

/** What every manifest says that says nothing of it. */
const shared = {
  enabled: true,
  tools: { exclude: [] },
  risk: "medium",
  approval_policy: "prompt",
  timeout_seconds: 60,
  supports_parallel_tool_calls: false,
};

/** Every field that both transports have, each with another value than its default. */
const sharedFields = {
  enabled: false,
  tools: { include: ["read_*"], exclude: ["read_all"] },
  risk: "critical",
  approval_policy: "deny",
  capability: "mcp.call:library",
  connect_timeout_seconds: 1.5,
  timeout_seconds: 600,
  supports_parallel_tool_calls: true,
};

const stdio = { command: "docs-server" };
const http = { transport: "streamable_http", url: "https://docs.example/mcp" };

type Fields = { readonly [field: string]: unknown };

/** The fields that a manifest is refused for; a key that is unknown is a field, too. */
function refusedFor(manifest: unknown): readonly string[] {
  const { success, error } = McpManifest.safeParse(manifest);
  assert.ok(!success, `accepted: ${JSON.stringify(manifest)}`);
  return error.issues.flatMap((issue) => {
    const keys = issue.code === "unrecognized_keys" ? issue.keys : [];
    return (keys.length > 0 ? keys : [""]).map((key) =>
      [...issue.path, key].filter((one) => one !== "").join(".")
    );
  });
}

// Proves DM-66. No capability is a default of its own: whoever resolves the catalog names the server's.
Deno.test("manifest that says only how a server is reached gets every default", () => {
  const cases: readonly (readonly [Fields, Fields])[] = [
    [stdio, { ...shared, transport: "stdio", command: "docs-server", args: [], env: {} }],
    [{ transport: "stdio", ...stdio }, {
      ...shared,
      transport: "stdio",
      command: "docs-server",
      args: [],
      env: {},
    }],
    [http, { ...shared, ...http, headers: {} }],
    [{ ...http, url: "http://127.0.0.1:8080/mcp" }, {
      ...shared,
      transport: "streamable_http",
      url: "http://127.0.0.1:8080/mcp",
      headers: {},
    }],
  ];
  for (const [given, whole] of cases) assert.deepEqual(McpManifest.parse(given), whole);
});

// Proves DM-66: nothing that may be said is dropped or changed.
Deno.test("manifest keeps every field that it may have", () => {
  const wholes: readonly Fields[] = [
    {
      ...sharedFields,
      transport: "stdio",
      command: "/usr/bin/docs",
      args: ["--port", ""],
      env: { DOCS_TOKEN: "${TOKEN}", _x1: "" },
      cwd: "sub/folder",
    },
    { ...sharedFields, ...http, headers: { Authorization: "Bearer ${TOKEN}", "x-a_b": "1" } },
  ];
  for (const whole of wholes) assert.deepEqual(McpManifest.parse(whole), whole);
});

// Proves DM-66: unknown keys are refused, also inside, and so are those of the other transport.
Deno.test("manifest with a key that it cannot have is refused for that key", () => {
  for (const own of [stdio, http]) {
    assert.deepEqual(refusedFor({ ...own, colour: "red" }), ["colour"]);
    assert.deepEqual(refusedFor({ ...own, tools: { includes: [] } }), ["tools.includes"]);
  }
  for (const [key, value] of Object.entries({ url: "https://docs.example", headers: {} })) {
    assert.deepEqual(refusedFor({ ...stdio, [key]: value }), [key]);
  }
  for (const [key, value] of Object.entries({ command: "x", args: [], env: {}, cwd: "." })) {
    assert.deepEqual(refusedFor({ ...http, [key]: value }), [key]);
  }
});

// Proves DM-66: every field has its own kind of value.
Deno.test("manifest with a value that does not fit is refused for that field", () => {
  const wrong: readonly (readonly [string, ...(readonly unknown[])])[] = [
    ["enabled", "true", 1, null],
    ["risk", "extreme", ""],
    ["approval_policy", "ask", "always"],
    ["capability", "fs.read", "mcp.connect:docs", "mcp.call"],
    ["connect_timeout_seconds", 0, -1, 601, "30"],
    ["timeout_seconds", 0, -1, 601, "60"],
    ["supports_parallel_tool_calls", "yes", 0],
  ];
  for (const own of [stdio, http]) {
    for (const [field, ...values] of wrong) {
      for (const value of values) {
        const fields = new Set(refusedFor({ ...own, [field]: value }));
        assert.deepEqual([...fields], [field], String(value));
      }
    }
    for (const list of ["include", "exclude"]) {
      assert.deepEqual(refusedFor({ ...own, tools: { [list]: "read_*" } }), [`tools.${list}`]);
      assert.deepEqual(refusedFor({ ...own, tools: { [list]: [""] } }), [`tools.${list}.0`]);
    }
  }
  for (const transport of ["sse", "http", "", null]) {
    assert.deepEqual(refusedFor({ ...stdio, transport }), ["transport"]);
  }
  assert.deepEqual(refusedFor({ ...stdio, args: "--port" }), ["args"]);
  assert.deepEqual(refusedFor({ ...stdio, env: { "1X": "a" } }), ["env.1X"]);
  assert.deepEqual(refusedFor({ ...stdio, env: { X: 1 } }), ["env.X"]);
  assert.deepEqual(refusedFor({ ...stdio, cwd: "" }), ["cwd"]);
  assert.deepEqual(refusedFor({ ...http, headers: { "a b": "x" } }), ["headers.a b"]);
});

// Proves DM-67: how a server is reached must be said.
Deno.test("manifest without a command, or without a URL, is refused for it", () => {
  for (const own of [{}, { transport: "stdio" }]) {
    assert.deepEqual(refusedFor(own), ["command"]);
    assert.deepEqual(refusedFor({ ...own, command: "" }), ["command"]);
    assert.deepEqual(refusedFor({ ...own, command: ["docs"] }), ["command"]);
  }
  assert.deepEqual(refusedFor({ transport: "streamable_http" }), ["url"]);
});

// Proves DM-67: http or https, and no login: a header may name a variable, which a URL in a log would show.
Deno.test("manifest whose URL is not plain http or https is refused for its URL", () => {
  const urls = [
    "ftp://docs.example/mcp",
    "file:///etc/passwd",
    "file:",
    "ws://docs.example",
    "javascript:alert(1)",
    "docs.example/mcp",
    "https://",
    "https://ada@docs.example/mcp",
    "https://ada:pass@docs.example/mcp",
    "http://:pass@docs.example/mcp",
    "",
  ];
  for (const url of urls) {
    const fields = new Set(refusedFor({ ...http, url }));
    assert.deepEqual([...fields], ["url"], url);
  }
});

Deno.test("manifest says how a server by HTTP is logged in to, and names secrets only by their variables (DM-67)", () => {
  const oauth = { type: "oauth" };
  const robot = { ...oauth, client_id: "robot", client_secret: "${KEY}", issuer: "https://login.example" };
  const good: readonly Fields[] = [
    { type: "bearer", token: "${TOKEN}" },
    {
      ...oauth,
      scopes: ["read", "docs:write"],
      client_id: "https://troupe.example/client.json",
      callback_port: 7_777,
    },
    { ...robot, grant: "client_credentials" },
  ];
  for (const auth of good) {
    const whole = { grant: "authorization_code", ...auth };
    const parsed = McpManifest.parse({ ...http, auth });
    assert.deepEqual(parsed.transport === "streamable_http" && parsed.auth, auth === good[0] ? auth : whole);
  }
  const bad: readonly (readonly [Fields, ...string[]])[] = [
    [{}, "auth.type"],
    [{ type: "basic" }, "auth.type"],
    [{ type: "bearer" }, "auth.token"],
    [{ type: "bearer", token: "secret-value" }, "auth.token"],
    [{ type: "bearer", token: "Bearer ${TOKEN}" }, "auth.token"],
    [{ type: "bearer", token: "${TOKEN}", scopes: [] }, "auth.scopes"],
    [{ ...oauth, token: "${TOKEN}" }, "auth.token"],
    [{ ...oauth, scopes: ["two words"] }, "auth.scopes.0"],
    [{ ...oauth, grant: "password" }, "auth.grant"],
    [{ ...oauth, grant: "client_credentials" }, "auth.grant"],
    [{ ...robot, client_secret: "value" }, "auth.client_secret"],
    [{ ...robot, client_id: undefined }, "auth.client_secret"],
    [{ ...robot, issuer: undefined }, "auth.client_secret"],
    [{ ...robot, issuer: "http://login.example" }, "auth.issuer"],
    [{ ...robot, private_key: "${PEM}" }, "auth.private_key"],
    [{ ...robot, signing_algorithm: "ES256" }, "auth.signing_algorithm"],
    [{ ...robot, signing_algorithm: "none" }, "auth.signing_algorithm"],
    [{ ...oauth, callback_port: 80 }, "auth.callback_port"],
  ];
  for (const [auth, ...fields] of bad) {
    assert.deepEqual(refusedFor({ ...http, auth }), fields, JSON.stringify(auth));
  }
  const doubled = { ...http, auth: oauth, headers: { AUTHORIZATION: "Bearer ${TOKEN}" } };
  assert.deepEqual(refusedFor(doubled), ["auth"]);
  assert.deepEqual(refusedFor({ ...stdio, auth: oauth }), ["auth"]);
});
