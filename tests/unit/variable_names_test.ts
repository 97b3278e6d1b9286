/** Whether a manifest may not set what decides which programs run, in whatever case it is written. */
import assert from "node:assert/strict";
import { isExecutionVariable } from "../../actors/variable_names.ts";
import { declarationOf, startConnection } from "../support/connection.ts";

/** Names of row B46, and of other interpreters. */
const refused = (
  "LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES NODE_OPTIONS BASH_ENV ENV GIT_SSH_COMMAND GIT_EXTERNAL_DIFF " +
  "GIT_CONFIG_COUNT SSH_ASKPASS PYTHONSTARTUP PYTHONPATH PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS PATH PAGER EDITOR " +
  "GCONV_PATH npm_config_registry DENO_DIR DENO_AUTH_TOKENS _JAVA_OPTIONS TROUPE_OWNER"
).split(" ");

Deno.test("server whose manifest sets what decides what programs run is not started, and the name is told, not the value (B46)", () => {
  for (const name of refused) {
    for (const written of [name, name.toLowerCase(), name.toUpperCase()]) {
      const run = startConnection(
        declarationOf({ manifest: { env: { HARMLESS: "1", [written]: "needle" } }, gate: "prompt" }),
      );
      run.open("a");
      assert.deepEqual(
        [run.state(), run.kinds(), run.replies()],
        ["failed", [], ["a mcp_variable_refused"]],
        written,
      );
      const { message } = run.context()["failure"] as { readonly message: string };
      assert.ok(message.includes(`sets ${written}, `) && !message.includes("needle"), message);
    }
  }
});

Deno.test("server may be given every other variable", () => {
  for (
    const name of [
      "TOKEN",
      "API_KEY",
      "LANG",
      "HTTPS_PROXY",
      "PATHS",
      "MY_PATH",
      "LDAP_URL",
      "ENVIRONMENT",
      "GITHUB_TOKEN",
      "NODE_ENV",
    ]
  ) {
    assert.equal(isExecutionVariable(name), false, name);
  }
});
