/**
 * The client that `@modelcontextprotocol/conformance` tests: the real `troupe` command, with an agent that declares the
 * server at the URL of the last argument and whose script makes the calls that the scenario is about.
 *
 *   deno run -A --config tests/conformance/mcp/deno.json npm:@modelcontextprotocol/conformance@0.2.0-alpha.12 client \
 *     --command "deno run -A tests/conformance/mcp/client.ts" \
 *     --requirements 2025-11-25 --expected-failures tests/conformance/mcp/baseline.yaml
 *
 * and the same with `2026-07-28` and `baseline_2026.yaml`.
 */
import { authOf, type KnownClient, secretOf } from "./known_client.ts";
import { type Desk, runAsPerson, troupe } from "./person.ts";

/** A call as the script makes it. */
interface Call {
  readonly name: string;
  readonly arguments: { readonly [key: string]: unknown };
}

/** The calls of a scenario, by its name; all others make those that the suite asks for, or only connect and list. */
const calls: { readonly [scenario: string]: readonly Call[] } = {
  "tools_call": [{ name: "add_numbers", arguments: { a: 5, b: 3 } }],
  "sse-retry": [{ name: "test_reconnection", arguments: {} }],
  "elicitation-sep1034-client-defaults": [{
    name: "test_client_elicitation_defaults",
    arguments: {},
  }],
  "http-standard-headers": [{ name: "test_headers", arguments: {} }],
  "sep-2322-client-request-state": [
    "echo_state",
    "unrelated",
    "no_state",
    "no_result_type",
  ].map((name) => ({
    name: `test_mrtr_${name}`,
    arguments: {},
  })),
  "http-invalid-tool-headers": [{
    name: "valid_tool",
    arguments: { region: "us-west1" },
  }],
};

/** What every scenario about logins calls. */
const callOfLogins: Call = { name: "test-tool", arguments: {} };

/**
 * What the suite asks for, which it hands over as JSON. A null where a schema says boolean is left out: the command
 * refuses such a call before anything is sent.
 */
function callsOf(scenario: string): readonly Call[] {
  if (scenario.startsWith("auth/")) return [callOfLogins];
  const context = JSON.parse(
    Deno.env.get("MCP_CONFORMANCE_CONTEXT") ?? "{}",
  ) as { toolCalls?: Call[] };
  const asked = calls[scenario] ?? context.toolCalls ?? [];
  return asked.map((call) => ({
    ...call,
    arguments: Object.fromEntries(
      Object.entries(call.arguments).filter(([, value]) => value !== null),
    ),
  }));
}

/** The scenario in which a server wants back the schema of its other tool, word for word. */
const echoScenario = "json-schema-2020-12-preservation";
const echoTool = "json_schema_echo";

/** Has the command show the tools of the server, and gives the call that sends one's schema back. */
async function echoCall(desk: Desk): Promise<Call> {
  const words = [
    "mcp",
    "tools",
    "remote",
    "--live",
    "--json",
    "--agent",
    "agent",
    "--workspace",
    "ws",
  ];
  const { out } = await troupe(desk, [...words, "--answer", "allow"]);
  const tools = out.trim().split("\n").map((line) => JSON.parse(line));
  const schema = tools.find(({ tool }) => tool !== echoTool)?.inputSchema;
  return { name: echoTool, arguments: { schema } };
}

function scriptOf(made: readonly Call[]): string {
  const answers = made.map(({ name, arguments: given }) => ({
    calls: [{ tool: `remote__${name}`, arguments: given }],
  }));
  return JSON.stringify({ answers: [...answers, { text: "finished" }] });
}

async function play(
  url: string,
  scenario: string,
  client: KnownClient,
): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-conformance-" });
  try {
    const agent = {
      name: "conformance",
      model: "scripted/script.yaml",
      tools: [],
      capabilities: ["mcp.connect:*", "mcp.call:*"],
    };
    const files = {
      "agent/agent.yaml": agent,
      "agent/mcp/remote.yaml": {
        ...{ transport: "streamable_http", url, approval_policy: "auto" },
        ...await authOf(scenario, url, client),
      },
      "config/troupe/troupe.yaml": {
        network: { allow: ["localhost", "127.0.0.1", "[::1]"] },
      },
    };
    await Deno.mkdir(`${folder}/agent/mcp`, { recursive: true });
    await Deno.mkdir(`${folder}/config/troupe`, { recursive: true });
    await Deno.mkdir(`${folder}/ws`);
    for (const [path, content] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${path}`, JSON.stringify(content));
    }
    await Deno.writeTextFile(
      `${folder}/agent/script.yaml`,
      scriptOf(callsOf(scenario)),
    );
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
    if (scenario === echoScenario) {
      await Deno.writeTextFile(
        `${folder}/agent/script.yaml`,
        scriptOf([await echoCall(desk)]),
      );
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
