/** Whether approval policies merge as they should: looked up in order, and only ever tightened. */
import assert from "node:assert/strict";
import {
  type ApprovalSubject,
  effectiveApproval,
  hostApproval,
  stricter,
} from "../../actors/policy/approval.ts";
import { HostPolicy } from "../../schemas/config.ts";

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
  assert.equal(effectiveApproval(auto, subject, "auto", undefined), "auto");
  assert.equal(effectiveApproval(auto, subject, "prompt", "auto"), "prompt");
  assert.equal(effectiveApproval(auto, subject, "auto", "deny"), "deny");
  assert.equal(effectiveApproval(prompt, subject, "auto", "auto"), "prompt");
  assert.equal(effectiveApproval(prompt, subject, "deny", "auto"), "deny");
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
