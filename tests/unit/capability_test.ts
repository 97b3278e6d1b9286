/** Whether capabilities grant exactly what they name. */
import assert from "node:assert/strict";
import { matchCapability } from "../../actors/policy/capability.ts";

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
