/** The protocol's own conformance suite against the real command: logins as 2026-07-28 scores them. */
import { played2026, revision2026, testScenarios } from "./mcp/suite.ts";

testScenarios(revision2026, played2026.logins);
