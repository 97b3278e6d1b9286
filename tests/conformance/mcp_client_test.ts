/** The protocol's own conformance suite against the real command: what is scored for 2025-11-25 and needs no OAuth. */
import assert from "node:assert/strict";

const suite = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";
const driver = new URL("mcp/client.ts", import.meta.url).pathname;
/** The suite has packages of its own: nobody but this test needs them. */
const config = new URL("mcp/deno.json", import.meta.url).pathname;

/** Tries of a scenario that measures time: a busy machine is late now and then, never early, and never for ever. */
const triesMax = 5;

async function play(scenario: string): Promise<{ readonly code: number; readonly told: string }> {
  const command = `${Deno.execPath()} run -A --quiet ${driver}`;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--quiet",
      "--config",
      config,
      suite,
      "client",
      "--command",
      command,
      "--scenario",
      scenario,
    ],
    stdin: "null",
  }).output();
  return { code, told: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

for (
  const [scenario, tries] of [
    ["initialize", 1],
    ["tools_call", 1],
    ["sse-retry", triesMax],
    ["elicitation-sep1034-client-defaults", 1],
  ] as const
) {
  Deno.test(`conformance suite passes troupe as a client: ${scenario}`, async () => {
    let { code, told } = await play(scenario);
    for (let tried = 1; code !== 0 && tried < tries; tried++) ({ code, told } = await play(scenario));
    assert.equal(code, 0, told);
    assert.match(told, /OVERALL: PASSED/);
  });
}
