/** Whether approval policies merge as they should: looked up in order, and only ever tightened. */
import assert from "node:assert/strict";
import {
  type ApprovalSubject,
  effectiveApproval,
  hostApproval,
  stricter,
} from "../../actors/policy/approval.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { ApprovalPolicy } from "../../schemas/tool.ts";

const subject: ApprovalSubject = {
  canonicalName: "mcp.docs.search",
  capability: "mcp.call:docs",
  risk: "medium",
};

// Proves DM-22.
Deno.test("approval order rises from auto over prompt to deny", () => {
  assert.equal(stricter("auto", "prompt"), "prompt");
  assert.equal(stricter("deny", "prompt"), "deny");
  assert.equal(stricter("auto", "auto"), "auto");
});

// Proves DM-23.
Deno.test("approval is looked up by tool, capability, risk, default", () => {
  const full = HostPolicy.parse({
    tools: { "mcp.docs.search": "auto" },
    capabilities: { "mcp.call:docs": "prompt", "mcp.call:*": "deny" },
    risks: { medium: "deny" },
    default: "deny",
  });
  assert.deepEqual(hostApproval(full, subject), { approval: "auto", by: "tool" });
  const noTool = { ...full, tools: {} };
  assert.deepEqual(hostApproval(noTool, subject), { approval: "prompt", by: "capability" });
  const wildcard = { ...noTool, capabilities: { "mcp.call:*": "deny" as const } };
  assert.deepEqual(hostApproval(wildcard, subject), { approval: "deny", by: "capability" });
  const noCapability = { ...noTool, capabilities: {} };
  assert.deepEqual(hostApproval(noCapability, subject), { approval: "deny", by: "risk" });
  assert.deepEqual(hostApproval({ ...noCapability, risks: {} }, subject), {
    approval: "deny",
    by: "default",
  });
});

Deno.test("approval rule for a risk also holds for higher risks that have none", () => {
  const policy = HostPolicy.parse({ risks: { medium: "prompt" } });
  const at = (risk: ApprovalSubject["risk"]) => hostApproval(policy, { ...subject, risk }).approval;
  assert.deepEqual([at("low"), at("medium"), at("high"), at("critical")], [
    "auto",
    "prompt",
    "prompt",
    "prompt",
  ]);
});

Deno.test("approval rule for a low risk never loosens the default for a high one", () => {
  const policy = HostPolicy.parse({ risks: { low: "auto" }, default: "deny" });
  assert.equal(hostApproval(policy, { ...subject, risk: "low" }).approval, "auto");
  assert.equal(hostApproval(policy, { ...subject, risk: "high" }).approval, "deny");
});

// Proves DM-22: merging can only make it stricter.
Deno.test("approval of a tool is the strictest of its own, the agent's and the host's", () => {
  const auto = HostPolicy.parse({});
  const prompt = HostPolicy.parse({ default: "prompt" });
  const of = (policy: HostPolicy, own: ApprovalPolicy, override?: ApprovalPolicy) => {
    const { approval, by } = effectiveApproval(policy, subject, own, override);
    return [approval, by];
  };
  assert.deepEqual(of(auto, "auto"), ["auto", undefined]);
  assert.deepEqual(of(auto, "prompt", "auto"), ["prompt", "tool"]);
  assert.deepEqual(of(auto, "auto", "deny"), ["deny", "agent"]);
  assert.deepEqual(of(prompt, "auto", "auto"), ["prompt", "host_default"]);
  assert.deepEqual(of(prompt, "prompt", "prompt"), ["prompt", "host_default"]);
  assert.deepEqual(of(prompt, "deny", "auto"), ["deny", "tool"]);
  assert.deepEqual(of(prompt, "deny", "deny"), ["deny", "agent"]);
});

// Proves LC-21: what the host says of this very tool is no matter of a mode, whoever else asks.
Deno.test("approval is the host's own question exactly if a rule for the tool's name or capability asks", () => {
  const isAsked = (policy: Parameters<typeof HostPolicy.parse>[0]) =>
    effectiveApproval(HostPolicy.parse(policy), subject, "prompt", "prompt").isAskedByHost;
  assert.ok(isAsked({ tools: { "mcp.docs.search": "prompt" } }));
  assert.ok(isAsked({ capabilities: { "mcp.call:*": "prompt" } }));
  assert.ok(isAsked({ capabilities: { "mcp.call:docs": "deny" } }));
  for (
    const policy of [{}, { default: "prompt" }, { risks: { low: "prompt" } }, {
      tools: { "mcp.docs.search": "auto" },
    }]
  ) assert.ok(!isAsked(policy), JSON.stringify(policy));
});

Deno.test("approval looks no tool up on Object.prototype", () => {
  const policy = HostPolicy.parse({ default: "prompt" });
  for (const canonicalName of ["constructor", "__proto__", "toString"]) {
    assert.equal(
      hostApproval(policy, { ...subject, canonicalName, capability: "hasOwnProperty" }).approval,
      "prompt",
    );
  }
});
