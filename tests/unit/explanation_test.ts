/** Whether an explanation says of a call what the call itself would meet, and says so where it cannot know. */
import assert from "node:assert/strict";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import { ApprovalPolicy } from "../../schemas/tool.ts";
import { explainCall, type Explanation } from "../../src/host/explanation.ts";
import { builtinTools } from "../../src/tools/builtin.ts";
import { sealCatalog, startCall } from "../support/calls.ts";
import { declarationOf, type DeclarationSketch } from "../support/connection.ts";
import { digestNow } from "../support/world.ts";

/** What a call is explained by; the rest is harmless and allowed. */
interface Sketch {
  readonly policy?: Parameters<typeof HostPolicy.parse>[0];
  readonly agent?: object;
  readonly declaration?: DeclarationSketch;
  readonly mode?: PermissionMode;
  readonly given?: JsonObject;
  readonly profile?: string;
}

async function explain(tool: string, sketch: Sketch = {}): Promise<Explanation> {
  const definition = AgentDefinition.parse({
    name: "clerk",
    model: "scripted/script.yaml",
    tools: ["read_file"],
    capabilities: ["fs.read", "mcp.call:docs"],
    ...sketch.agent,
  });
  const explained = await explainCall({
    agent: { definition, coreRevision: "core-1" },
    policy: HostPolicy.parse(sketch.policy ?? {}),
    declarations: [declarationOf(sketch.declaration)],
    mode: sketch.mode ?? "default",
    profile: sketch.profile,
    tool,
    arguments: sketch.given,
    digest: (bytes) => Promise.resolve(digestNow(bytes)),
  });
  assert.ok("explanation" in explained, JSON.stringify(explained));
  return explained.explanation;
}

function wordsOf({ checks }: Explanation): string[] {
  return checks.map(({ check, verdict, by }) => `${check} ${verdict} ${by}`.trimEnd());
}

Deno.test("explanation of a built-in tool tells each step, its verdict and its rule (DM-19, DM-31)", async () => {
  const asked = await explain("read_file", { policy: { tools: { read_file: "prompt" } } });
  assert.deepEqual(wordsOf(asked), [
    "schema open",
    "scope allow operator:local",
    "enabled allow",
    "capability allow fs.read",
    "mode allow",
    "approval ask policy.tools of the host",
    "grant ask",
  ]);
  assert.deepEqual([asked.tool, asked.verdict, asked.mode], ["read_file", "ask", "default"]);
  const fits = await explain("read_file", { given: { path: "a" } });
  assert.deepEqual([fits.checks[0]?.verdict, fits.verdict, fits.notes], ["allow", "allow", []]);
});

Deno.test("explanation is for the profile that is asked about", async () => {
  const profiles = { main: { allowed_tool_names: [] }, reader: { allowed_tool_names: ["read_file"] } };
  const hidden = await explain("read_file", { agent: { profiles } });
  assert.match(wordsOf(hidden).at(-1) ?? "", /^enabled deny the profile "main"/);
  assert.equal((await explain("read_file", { agent: { profiles }, profile: "reader" })).verdict, "allow");
});

Deno.test("explanation ends where the call would end", async () => {
  const unfit = await explain("read_file", { given: { path: 3 } });
  assert.deepEqual([wordsOf(unfit), unfit.verdict], [["schema deny schema"], "deny"]);
  assert.match(unfit.checks[0]?.why ?? "", /path: must be string/);
  const off = await explain("read_file", { policy: { deny: ["read_*"] } });
  assert.equal(wordsOf(off).at(-1), 'enabled deny policy.deny of the host names "read_*"');
  const poor = await explain("read_file", { agent: { capabilities: [] } });
  assert.equal(wordsOf(poor).at(-1), "capability deny fs.read");
});

Deno.test("explanation says of a name without a tool whether the agent only does not list it", async () => {
  const unlisted = await explain("search_files");
  assert.deepEqual([unlisted.verdict, unlisted.entry], ["deny", undefined]);
  assert.match(unlisted.checks[0]?.why ?? "", /"clerk" does not list it/);
  assert.match((await explain("nope")).checks[0]?.why ?? "", /no tool and no server of this name/);
  assert.match((await explain("mcp.wiki.search")).checks[0]?.why ?? "", /no server/);
});

// DM-24: connect and call are two gates.
Deno.test("explanation of a server's tool goes as far as its manifest does, and says so (DM-24)", async () => {
  const manifest = { approval_policy: "auto" };
  for (const name of ["mcp.docs.search", "docs__search"]) {
    const found = await explain(name, { declaration: { manifest }, given: { q: 1 } });
    assert.deepEqual([found.tool, found.entry?.providerName, found.verdict], [
      "mcp.docs.search",
      "docs__search",
      "allow",
    ]);
    assert.deepEqual(wordsOf(found), [
      "connect allow trust",
      "schema open",
      "scope allow operator:local",
      "enabled allow",
      "capability allow mcp.call:docs",
      "mode allow",
      "approval allow",
    ]);
    assert.match(found.notes[0] ?? "", /"docs" is not started for this/);
  }
  const asked = await explain("docs__search", { declaration: { gate: "prompt", manifest } });
  assert.deepEqual([asked.checks[0]?.verdict, asked.verdict], ["ask", "ask"]);
  const shut = await explain("docs__search", { declaration: { gate: "denied", manifest } });
  assert.deepEqual([wordsOf(shut)[0], shut.verdict], ["connect deny policy.connect of the host", "deny"]);
  // The name alone can raise the risk.
  const risky = await explain("docs__delete_page", { policy: { risk_ceiling: "medium" } });
  assert.equal(risky.entry?.definition.riskLevel, "high");
  assert.equal(risky.verdict, "deny");
});

Deno.test("explanation says that a manifest leaves a tool out", async () => {
  const manifest = { tools: { exclude: ["secret_*"] } };
  const left = await explain("docs__secret_page", { declaration: { manifest } });
  assert.match(left.checks.at(-1)?.why ?? "", /manifest of "docs" leaves "secret_page" out/);
  const reserved = await explain("docs__subagent_spawn");
  assert.deepEqual([reserved.verdict, reserved.entry], ["deny", undefined]);
});

// The machine itself is asked about the same entry.
Deno.test("explanation has the verdict of the invocation itself, in every mode and under every policy (LC-21)", async () => {
  const definition = builtinTools.get("read_file")?.definition;
  assert.ok(definition);
  const states = { allow: "running", ask: "awaitingApproval", deny: "denied" };
  for (const mode of PermissionMode.options) {
    for (const approval of ApprovalPolicy.options) {
      for (const capabilities of [["fs.read"], []]) {
        for (const by of ["default", "tools"] as const) {
          const policy = by === "default" ? { default: approval } : { tools: { read_file: approval } };
          const given = { path: "a" };
          const { verdict, entry } = await explain("read_file", {
            policy,
            agent: { capabilities },
            mode,
            given,
          });
          assert.ok(entry);
          const { canonicalName: name, definition: tool, ...rest } = entry;
          const call = startCall({
            tool,
            entry: rest,
            capabilities,
            mode,
            request: { arguments: given, name, entry: { catalog: sealCatalog([tool], rest).hash, name } },
          });
          assert.equal(call.state(), states[verdict], `${mode} ${approval} ${by} ${capabilities}`);
        }
      }
    }
  }
});
