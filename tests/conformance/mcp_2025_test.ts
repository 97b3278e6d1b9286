/** The protocol's own conformance suite against the real command: what is scored for each era. */
import assert from "node:assert/strict";

const suite = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";
const driver = new URL("mcp/client.ts", import.meta.url).pathname;
/** The suite has packages of its own: nobody but this test needs them. */
const config = new URL("mcp/deno.json", import.meta.url).pathname;

/** Tries of a scenario that measures time: a busy machine is late now and then, never early, and never for ever. */
const triesMax = 5;

/** How long a scenario may take on a machine that has much else to do. Milliseconds. */
const patienceMs = 120_000;

/** Logins by OAuth: a run is refused, a person logs in by a browser, the run works. */
const logins = [
  ...[
    "metadata-default",
    "metadata-var1",
    "metadata-var2",
    "metadata-var3",
    "basic-cimd",
    "pre-registration",
  ],
  ...["scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined"],
  ...["scope-step-up", "scope-retry-limit"],
  ...["token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none"],
  // Extensions: not scored, passed all the same.
  ...["client-credentials-jwt", "client-credentials-basic"],
];

async function play(
  scenario: string,
  revision: string,
): Promise<{ readonly code: number; readonly told: string }> {
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
      "--spec-version",
      revision,
      "--timeout",
      String(patienceMs),
    ],
    stdin: "null",
  }).output();
  return { code, told: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

/** What is scored, by the revision whose rules it is held against, and how often it may be tried. */
const scenarios: { readonly [revision: string]: readonly (readonly [scenario: string, tries: number])[] } = {
  "2025-11-25": [
    ["initialize", 1],
    ["tools_call", 1],
    ["sse-retry", triesMax],
    ["elicitation-sep1034-client-defaults", 1],
  ],
  "2026-07-28": [
    ["tools_call", 1],
    ["request-metadata", 1],
    ["http-standard-headers", 1],
    ["http-custom-headers", 1],
    ["http-invalid-tool-headers", 1],
    ["json-schema-ref-no-deref", 1],
    ["sep-2322-client-request-state", 1],
  ],
};

for (const [revision, scored] of Object.entries(scenarios)) {
  for (const [scenario, tries] of scored) {
    Deno.test(`conformance suite for ${revision} passes troupe as a client: ${scenario}`, async () => {
      let { code, told } = await play(scenario, revision);
      for (let tried = 1; code !== 0 && tried < tries; tried++) {
        ({ code, told } = await play(scenario, revision));
      }
      assert.equal(code, 0, told);
      assert.match(told, /OVERALL: PASSED/);
    });
  }
}

for (const scenario of logins) {
  Deno.test(`conformance suite passes troupe as a client that logs in: ${scenario}`, async () => {
    const { code, told } = await play(`auth/${scenario}`, "2025-11-25");
    assert.equal(code, 0, told);
    assert.match(told, /OVERALL: PASSED/);
  });
}
