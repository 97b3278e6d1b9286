/** The protocol's own conformance suite against `troupe serve --mcp --http`: all that it requires of a server. */
import assert from "node:assert/strict";
import { onStage } from "../e2e/troupe.ts";
import { askSuite } from "./mcp/suite.ts";
import { openTokenBearer } from "./mcp/token_bearer.ts";

/** What each revision is played with, and how many scenarios pass: all but those of the baseline. */
const plays = [
  { revision: "2025-11-25", baseline: "baseline.yaml", scenarios: 33 },
  { revision: "2026-07-28", baseline: "baseline_2026.yaml", scenarios: 40 },
] as const;

Deno.test("conformance suite passes troupe as a server, for 2025-11-25 and for 2026-07-28", () =>
  onStage(async (stage) => {
    const running = stage.start("serve", "demo", "--mcp", "--http", "--suite-features", "--rate", "0");
    const [url = ""] = /http:\S+\/mcp/.exec(await running.until("/mcp\n")) ?? [];
    const token = (await Deno.readTextFile(stage.path("store.db.token"))).trim();
    const bearer = await openTokenBearer(url, token);
    try {
      for (const { revision, baseline, scenarios } of plays) {
        const { code, told } = await askSuite(
          ...["server", "--url", bearer.url, "--requirements", revision, "-o", stage.path(revision)],
          ...["--expected-failures", new URL(`mcp/${baseline}`, import.meta.url).pathname],
        );
        assert.equal(code, 0, told);
        const passed = [...told.matchAll(/^✓ ([\w-]+): \d+ passed, 0 failed$/gm)].map(([, name]) => name);
        assert.equal(passed.length, scenarios, told);
      }
    } finally {
      await bearer.close();
    }
  }));
