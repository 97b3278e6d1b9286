/** Whether `deno task sim` plays what it is told to, and tells of it. */
import assert from "node:assert/strict";

const project = new URL("../../", import.meta.url);

async function sim(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "tests/simulation/main.ts", ...args],
    cwd: project,
    stdin: "null",
    env: { NO_COLOR: "1" },
  });
  const { code, stdout, stderr } = await command.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

Deno.test("deno task sim plays seeds from the one it is given, and tells of them as one document", async () => {
  const { code, out } = await sim("--seeds", "25", "--from", "7", "--workers", "2", "--json");
  const { from, seeds, totals, census, failed } = JSON.parse(out);
  assert.deepEqual([code, from, seeds, failed], [0, 7, 25, []]);
  assert.equal(census["created session"], 25);
  assert.ok(totals.steps > 25 && totals.lives >= 50, JSON.stringify(totals));
});

Deno.test("deno task sim ends with how many seeds it played, and refuses what is no number", async () => {
  const { code, out } = await sim("--seeds", "3");
  assert.equal(code, 0);
  assert.match(out, /^3 of 3 seeds: 0 failed, \d+ crashes, \d+ effects, \d+ steps, [\d.]+ seeds\/s\n$/);
  const wrong = await sim("--seeds", "many");
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /^Usage: deno task sim/);
});
