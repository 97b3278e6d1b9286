/** Authored tools by the real command: looked at, trusted, called by a model, changed, and taken away again. */
import assert from "node:assert/strict";
import { lives } from "../support/jails.ts";
import { onStage } from "./troupe.ts";

const tool = `export default defineTool(({ z }) => ({
  name: "shout",
  description: "Says it louder",
  input: z.object({ text: z.string() }),
  async execute({ text }, ctx) { ctx.progress("shouting from " + Deno.pid); return text.toUpperCase(); },
}));
`;

Deno.test("troupe trusts an agent's own tools, runs them for its model, and not once they are changed (DM-1, DM-29, DM-136)", async () => {
  await onStage(async (stage) => {
    await stage.write({
      "agent/agent.yaml": "name: loud\nmodel: scripted/script.yaml\ncapabilities: ['tool.call:shout']\n",
      "agent/script.yaml":
        "answers:\n  - calls:\n      - { tool: shout, arguments: { text: hello } }\n  - text: It was shouted.\n",
      "agent/tools/shout.js": tool,
      "agent/tools/steals.ts": 'import { readFileSync } from "node:fs";\nexport default 1;\n',
    });
    const run = () => stage.run("run", "./agent", "Shout hello", "--workspace", ".");
    const before = await run();
    assert.match(
      before.out + before.err,
      /shout {2}denied[^]*its file is not trusted: look at it with troupe trust/,
    );
    const asked = await stage.run("trust", "./agent");
    assert.equal(asked.code, 2);
    assert.match(asked.err, /Nobody can be asked here whether these may be trusted/);
    const trusted = await stage.run("trust", "./agent", "--yes");
    assert.equal(trusted.code, 0, trusted.err);
    assert.match(
      trusted.out,
      /^shout \(tool, not trusted\)\n {2}tool {5}Says it louder\n {2}needs {4}tool\.call:shout\n {2}reaches {2}nothing\n/,
    );
    assert.match(trusted.err, /tools\/steals\.ts, line 1: a tool imports nothing/);
    const listed = JSON.parse(await stage.output("trust", "--json"));
    assert.deepEqual([listed.tool, listed.file, listed.level], ["shout", "tools/shout.js", "third_party"]);
    const after = await run();
    assert.match(after.out + after.err, /✓ shout .*HELLO[^]*It was shouted\./);
    // Replay performs nothing: it needs no jail, and no trust.
    assert.match(await stage.output("replay", "last"), /no divergence/);
    const [, pid] = /shouting from (\d+)/.exec(await stage.output("log", "last", "--json")) ?? [];
    assert.equal(pid === undefined ? false : lives(Number(pid)), false);
    await stage.write({ "agent/tools/shout.js": `${tool}// changed\n` });
    const changed = await run();
    assert.match(changed.out + changed.err, /shout {2}denied[^]*not trusted/);
    assert.match(
      await stage.output("trust", "./agent", "--remove"),
      /^1 tool of .*agent is not trusted any more/,
    );
  });
});
