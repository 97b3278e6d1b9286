/** Whether a server may be started: the agent's capability comes before trust, policy and the person (DM-24, DM-54). */
import assert from "node:assert/strict";
import { newborn, obstacle } from "../../actors/connection_rules.ts";
import { McpManifest } from "../../schemas/manifest.ts";
import { declareServer, type LoadedServer } from "../../src/host/declare.ts";
import { catalogRoot } from "../support/connection.ts";
import { digestNow } from "../support/world.ts";

const loaded: LoadedServer = {
  server: "docs",
  manifest: McpManifest.parse({ command: "docs-server" }),
  folder: "/agent",
  origin: "mcp/docs.yaml",
};

/** What differs from a trusted server under a policy that forbids nothing. */
interface Circumstances {
  readonly capabilities?: readonly string[];
  readonly isTrusted?: boolean;
  readonly level?: "team_audited" | "third_party";
  readonly connect?: "prompt" | "deny";
  readonly isBuiltIn?: boolean;
}

async function declare(circumstances: Circumstances, server = loaded) {
  const { capabilities = ["mcp.connect:docs"], isTrusted = true, connect = "prompt" } = circumstances;
  const { level = "third_party" } = circumstances;
  const declaration = await declareServer(server, {
    workspace: Deno.cwd(),
    policy: { connect },
    capabilities,
    digest: (bytes) => Promise.resolve(digestNow(bytes)),
    secrets: new Set(["DOCS_KEY"]),
    trustOf: () => Promise.resolve(isTrusted ? level : undefined),
    ...(circumstances.isBuiltIn === true ? { builtIn: { effects: {} } } : {}),
  });
  const context = newborn({ address: "connection/docs@ses_1", catalog: catalogRoot, declaration });
  const { gate, problem, preview, trust } = declaration;
  return { gate, problem, preview, trust, obstacle: obstacle(context) };
}

// Proves DM-24, DM-26.
Deno.test("declared server is started only for an agent that may connect to it, by name or by wildcard (DM-24, DM-54)", async () => {
  for (const capability of ["mcp.connect:docs", "mcp.connect:*"]) {
    const { gate, obstacle: why } = await declare({ capabilities: ["fs.read", capability] });
    assert.deepEqual({ gate, why }, { gate: "granted", why: null });
  }
  for (const capabilities of [[], ["mcp.call:docs"], ["mcp.call:*"], ["mcp.connect:wiki"], ["mcp.connect"]]) {
    const { gate, obstacle: why } = await declare({ capabilities });
    assert.deepEqual([gate, why?.code, why?.retryable], ["denied", "capability_missing", false]);
    assert.match(why?.message ?? "", /"mcp\.connect:docs"; add it to capabilities in agent\.yaml/);
  }
});

// Proves DM-20, DM-29: no trust and no origin stands for the capability.
Deno.test("declared server of an agent without the capability is not even asked about, whoever trusts it", async () => {
  for (const circumstances of [{ isTrusted: true }, { isTrusted: false }, { isBuiltIn: true }]) {
    const { gate, obstacle: why } = await declare({ ...circumstances, capabilities: ["mcp.call:*"] });
    assert.deepEqual([gate, why?.code], ["denied", "capability_missing"]);
  }
});

Deno.test("declared server that the agent may have still needs policy and trust", async () => {
  assert.equal((await declare({ isTrusted: false })).gate, "prompt");
  assert.equal((await declare({ isBuiltIn: true, isTrusted: false })).gate, "granted");
  const forbidden = await declare({ connect: "deny" });
  assert.deepEqual([forbidden.gate, forbidden.obstacle?.code], ["denied", "mcp_connect_denied"]);
});

/** A server by HTTP that is logged in to. */
function protectedBy(auth: unknown): LoadedServer {
  const manifest = { transport: "streamable_http", url: "https://docs.example/mcp?key=in-query", auth };
  return { ...loaded, manifest: McpManifest.parse(manifest) };
}

Deno.test("declared server shows how it is logged in to by names alone, and needs a grant for a secret of the host (DM-27, DM-73)", async () => {
  const client = {
    type: "oauth",
    client_id: "robot",
    client_secret: "${DOCS_KEY}",
    issuer: "https://login.example",
  };
  const cases = [
    [{ type: "bearer", token: "${DOCS_KEY}" }, "bearer DOCS_KEY"],
    [client, "oauth, client robot, secret DOCS_KEY, at https://login.example"],
  ] as const;
  for (const [auth, shown] of cases) {
    const server = protectedBy(auth);
    const refused = await declare({}, server);
    assert.deepEqual([refused.gate, refused.problem?.code], ["denied", "capability_missing"]);
    assert.match(refused.problem?.message ?? "", /names the secret "DOCS_KEY"/);
    const granted = await declare({ capabilities: ["mcp.connect:docs", "secret.bind:DOCS_KEY"] }, server);
    assert.equal(granted.gate, "granted");
    assert.equal(granted.preview, `url: https://docs.example/mcp\nauth: ${shown}`);
  }
});
