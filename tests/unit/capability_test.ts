/** Whether capabilities grant exactly what they name. */
import assert from "node:assert/strict";
import { matchCapability } from "../../actors/policy/capability.ts";
import { capabilityProblem, knownCapabilities } from "../../actors/policy/known_capability.ts";

// Proves DM-26.
Deno.test("capability matches exactly, or by the wildcard behind its colon", () => {
  assert.equal(matchCapability(["fs.read"], "fs.read"), "fs.read");
  assert.equal(matchCapability(["mcp.call:docs"], "mcp.call:docs"), "mcp.call:docs");
  assert.equal(matchCapability(["mcp.call:*"], "mcp.call:docs"), "mcp.call:*");
  assert.equal(matchCapability(["mcp.call:*", "mcp.call:docs"], "mcp.call:docs"), "mcp.call:docs");
  for (const granted of ["fs.write", "mcp.call:doc", "mcp.connect:*", "mcp.call", "mcp.call:do*"]) {
    assert.equal(matchCapability([granted], "mcp.call:docs"), undefined, granted);
  }
});

// Proves DM-24: connect and call are two capabilities.
Deno.test("capability to connect does not let anybody call", () => {
  assert.equal(matchCapability(["mcp.connect:docs", "mcp.connect:*"], "mcp.call:docs"), undefined);
});

// Proves DM-27.
Deno.test("capability wildcards never hand out a secret", () => {
  assert.equal(matchCapability(["secret.bind:*"], "secret.bind:TOKEN"), undefined);
  assert.equal(matchCapability(["secret.bind:TOKEN"], "secret.bind:TOKEN"), "secret.bind:TOKEN");
});

// Proves DM-29.
Deno.test("capability lists that are empty grant nothing", () => {
  assert.equal(matchCapability([], "fs.read"), undefined);
  assert.equal(matchCapability(["mcp.call:*"], "mcp.call:*"), undefined);
});

Deno.test("capability is one of those that are known, with a name where it needs one (DM-30)", () => {
  assert.equal(knownCapabilities.length, 19);
  const names: { readonly [form: string]: string } = {
    NAME: "TOKEN",
    tool: "send_mail",
    server: "docs",
    core: "writer",
  };
  for (const form of knownCapabilities) {
    const written = form.replace(/<(\w+)>/, (_, what) => names[what] ?? "");
    assert.equal(capabilityProblem(written), undefined, written);
  }
  for (const all of ["tool.call:*", "mcp.call:*", "mcp.connect:*", "agents.run:*", "tool.call:a.b-c_d"]) {
    assert.equal(capabilityProblem(all), undefined, all);
  }
  const refused: readonly (readonly [string, RegExp])[] = [
    ["fs.raed", /^there is no capability "fs\.raed" \(did you mean fs\.read\?\); known are fs\.read, /],
    ["fs", /there is no capability "fs"/],
    ["constructor", /there is no capability/],
    ["mcp:docs", /there is no capability "mcp:docs"/],
    ["fs.read:*", /^"fs\.read" has nothing behind it; write fs\.read$/],
    ["mcp.call", /write mcp\.call:<server>, or mcp\.call:\* for all$/],
    ["secret.bind", /write secret\.bind:<NAME>$/],
  ];
  for (const [capability, problem] of refused) assert.match(capabilityProblem(capability) ?? "", problem);
});
