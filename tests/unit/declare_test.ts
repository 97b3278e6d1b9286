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
  readonly connect?: "prompt" | "deny";
  readonly isBuiltIn?: boolean;
}

async function declare(circumstances: Circumstances) {
  const { capabilities = ["mcp.connect:docs"], isTrusted = true, connect = "prompt" } = circumstances;
  const declaration = await declareServer(loaded, {
    workspace: Deno.cwd(),
    policy: { connect },
    capabilities,
    digest: (bytes) => Promise.resolve(digestNow(bytes)),
    secrets: new Set(["DOCS_KEY"]),
    isTrusted: () => Promise.resolve(isTrusted),
    ...(circumstances.isBuiltIn === true ? { builtIn: { effects: {} } } : {}),
  });
  const context = newborn({ address: "connection/docs@ses_1", catalog: catalogRoot, declaration });
  return { gate: declaration.gate, obstacle: obstacle(context) };
}

// Proves DM-24, DM-26.
Deno.test("declared server is started only for an agent that may connect to it, by name or by wildcard (DM-24, DM-54)", async () => {
  for (const capability of ["mcp.connect:docs", "mcp.connect:*"]) {
    assert.deepEqual(await declare({ capabilities: ["fs.read", capability] }), {
      gate: "granted",
      obstacle: null,
    });
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
