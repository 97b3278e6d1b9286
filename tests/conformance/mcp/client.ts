/**
 * The client that `@modelcontextprotocol/conformance` tests: the real `troupe` command, with an agent that declares the
 * server at the URL of the last argument and whose script makes the calls that the scenario is about.
 *
 *   deno run -A --config tests/conformance/mcp/deno.json npm:@modelcontextprotocol/conformance@0.2.0-alpha.12 client \
 *     --command "deno run -A tests/conformance/mcp/client.ts" \
 *     --requirements 2025-11-25 --expected-failures tests/conformance/mcp/baseline.yaml
 */
import { authOf, type KnownClient, secretOf } from "./known_client.ts";
import { runAsPerson, troupe } from "./person.ts";

/** The calls of a scenario, by its name; all others only connect and list. */
const calls: {
  readonly [scenario: string]: readonly [tool: string, given: { readonly [key: string]: unknown }];
} = {
  "tools_call": ["add_numbers", { a: 5, b: 3 }],
  "sse-retry": ["test_reconnection", {}],
  "elicitation-sep1034-client-defaults": ["test_client_elicitation_defaults", {}],
};

/** What every scenario about logins calls. */
const callOfLogins = ["test-tool", {}] as const;

async function play(url: string, scenario: string, client: KnownClient): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-conformance-" });
  try {
    const call = scenario.startsWith("auth/") ? callOfLogins : calls[scenario];
    const answers = [
      ...(call === undefined ? [] : [{ calls: [{ tool: `remote__${call[0]}`, arguments: call[1] }] }]),
      { text: "finished" },
    ];
    const agent = {
      name: "conformance",
      model: "scripted/script.yaml",
      tools: [],
      capabilities: ["mcp.connect:*", "mcp.call:*"],
    };
    const files = {
      "agent/agent.yaml": agent,
      "agent/script.yaml": { answers },
      "agent/mcp/remote.yaml": {
        ...{ transport: "streamable_http", url, approval_policy: "auto" },
        ...await authOf(scenario, url, client),
      },
      "config/troupe/troupe.yaml": { network: { allow: ["localhost", "127.0.0.1", "[::1]"] } },
    };
    await Deno.mkdir(`${folder}/agent/mcp`, { recursive: true });
    await Deno.mkdir(`${folder}/config/troupe`, { recursive: true });
    await Deno.mkdir(`${folder}/ws`);
    for (const [path, content] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${path}`, JSON.stringify(content));
    }
    const desk = {
      cwd: folder,
      env: {
        TROUPE_STORE: `${folder}/store.db`,
        XDG_CONFIG_HOME: `${folder}/config`,
        XDG_DATA_HOME: `${folder}/data`,
        ...secretOf(client),
      },
    };
    // A manifest that names a secret is read under the rules of a run: its server has to be trusted.
    if (secretOf(client) !== undefined) {
      await troupe(desk, ["trust", "agent", "--workspace", "ws", "--yes"]);
    }
    return await runAsPerson(desk);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const told = (name: string) => Deno.env.get(`MCP_CONFORMANCE_${name}`);
  const client = JSON.parse(told("CONTEXT") ?? "{}") as KnownClient;
  Deno.exit(await play(Deno.args.at(-1) ?? "", told("SCENARIO") ?? "", client));
}
