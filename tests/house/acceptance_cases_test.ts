/** The cases that any acceptance of an agent runtime must hold, and the test of each: none may go away unseen (AR-47). */
import assert from "node:assert/strict";

/** By the case: the file of its test, and what the test's name says. */
const cases: { readonly [wanted: string]: readonly [file: string, name: string] } = {
  "two servers offer a tool of one name": [
    "e2e/mcp_calls_test.ts",
    "servers with a tool of one name are told apart",
  ],
  "a description claims to be safe, the schema has a command": [
    "e2e/mcp_follow_up_test.ts",
    "tool that describes itself as safe, and takes a command, is high in risk",
  ],
  "tools come and go while a turn runs": [
    "e2e/mcp_follow_up_test.ts",
    "tools that come, change and go while a turn runs: it keeps what it was given",
  ],
  "a server dies during a call": [
    "e2e/mcp_crash_test.ts",
    "server that dies in a harmful call leaves an unknown outcome",
  ],
  "a schema changes between list and call": [
    "e2e/refresh_test.ts",
    "server that does not know a call is listed once; the model is told, and the call is not repeated",
  ],
  "a large result": ["unit/settle_test.ts", "settle cuts a long result to 12,000 characters by default"],
  "a result with a secret": [
    "e2e/secret_sinks_test.ts",
    "secret that is planted in every way in comes out nowhere",
  ],
  "a person refuses, then the provider fails": [
    "unit/fallback_test.ts",
    "refused call is not asked about again, though the model fails right after",
  ],
  "a harmful call times out": [
    "e2e/mcp_retry_test.ts",
    "server that never answers a call has it in doubt at the deadline",
  ],
  "another provider": [
    "unit/provider_swap_test.ts",
    "loop is the same whether a script answers or a server over HTTP",
  ],
  "a script is used up": ["unit/scripted_test.ts", "scripted that is used up is an error"],
};

for (const [wanted, [file, name]] of Object.entries(cases)) {
  Deno.test(`acceptance has its case: ${wanted} (AR-47)`, async () => {
    const text = await Deno.readTextFile(new URL(`../${file}`, import.meta.url));
    const names = [...text.matchAll(/^\s*(?:Deno\.test\(|name: )"([^"]+)"/gm)].map(([, found = ""]) => found);
    assert.ok(names.some((one) => one.startsWith(name)), `${file} has no test "${name}…"`);
  });
}
