/** The protocol's own conformance suite against the real command: what 2026-07-28 scores besides logins. */
import assert from "node:assert/strict";
import { played2026, revision2026, scenariosFor, testScenarios } from "./mcp/suite.ts";

testScenarios(revision2026, played2026.others);

Deno.test("conformance suite has no scenario for 2026-07-28 that is not played", async () => {
  const played = [...played2026.logins, ...played2026.others];
  assert.deepEqual([...await scenariosFor(revision2026)].sort(), played.sort());
});
