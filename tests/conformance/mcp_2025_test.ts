/** The protocol's own conformance suite against the real command: all that 2025-11-25 scores. */
import { logins, testScenarios } from "./mcp/suite.ts";

const revision = "2025-11-25";

/** Tries of the scenario that measures time: a busy machine is late now and then, never early, and never for ever. */
const triesMax = 5;

testScenarios(revision, ["initialize", "tools_call", "elicitation-sep1034-client-defaults"]);
testScenarios(revision, ["sse-retry"], { tries: triesMax });
testScenarios(revision, logins);
// Not scored, passed all the same.
testScenarios(revision, ["json-schema-2020-12-preservation"]);
testScenarios(revision, ["auth/client-credentials-jwt", "auth/client-credentials-basic"], {
  isExtension: true,
});
