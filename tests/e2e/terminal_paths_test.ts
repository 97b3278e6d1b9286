/** Every text that a person is shown, with control sequences planted in every way in: all are shown, none acts. */
import assert from "node:assert/strict";
import { callOf, onMcpStage, planned, trustAgent, writeMcpAgent } from "./mcp_stage.ts";
import { linesOf, type Stage } from "./troupe.ts";

/** Each acts on some terminal: colours, a link, the clipboard, a device string, overwriting, reading order. */
const acting = {
  csi: "\x1b[2J\x1b[31m",
  osc8: "\x1b]8;;https://example.org\x07link\x1b]8;;\x07",
  osc52: "\x1b]52;c;aGVsbG8=\x07",
  dcs: "\x1bPq#0\x1b\\",
  c1: "\x9b31m\x9d0;title\x9c",
  back: "deny\b\b\b\ballow",
  over: "\roverwritten",
  order: "\u202egnp.exe\u2066",
};
const all = Object.values(acting).join(" ");
// deno-lint-ignore no-control-regex
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

async function plant(stage: Stage): Promise<void> {
  const tool = {
    name: "search",
    title: `Search ${all}`,
    description: `Finds ${all}`,
    inputSchema: { type: "object", properties: { text: { type: "string", description: all } } },
  };
  await stage.write({
    "tools.json": JSON.stringify([tool]),
    "config/troupe/troupe.yaml": "policy: { tools: { mcp.docs.search: prompt } }\n",
    [`ws/file${acting.csi}.txt`]: `${all}\n`,
  });
  await writeMcpAgent(stage, {
    servers: { docs: planned(stage, { name: "docs", tools: stage.path("tools.json") }) },
    tools: ["list_files", "read_file", "search_files"],
    capabilities: ["fs.read", "mcp.connect:*", "mcp.call:*"],
    answers: [
      {
        text: `I say ${all}`,
        calls: [
          callOf("list_files"),
          callOf("read_file", { path: "a.txt" }),
          callOf("search_files", { pattern: "hello", path: `no${acting.osc52}where` }),
          callOf(`no_such${acting.osc8}`),
          callOf("docs__search", { text: all, more: acting.back }),
        ],
      },
      { text: `finished ${all}` },
    ],
  });
  await stage.write({ "ws/a.txt": `${all}\n` });
  await stage.output(...trustAgent);
}

Deno.test("control sequences of tools, arguments, results, files and models are shown in every terminal path, and act in none (B121)", async () => {
  await onMcpStage(async (stage) => {
    await plant(stage);
    const owner = stage.start("run", "agent", `hi ${all}`, "--workspace", "ws", "--answer", "wait");
    await owner.until("A question waits");
    const shown: { [path: string]: string } = {};
    const read = async (...order: readonly string[]) => {
      const { code, out, err } = await stage.run(...order);
      assert.equal(code, 0, `${order.join(" ")}\n${err}`);
      shown[order.join(" ")] = `${out}\n${err}`;
    };
    await read("questions");
    await read("questions", "--json");
    const [question] = linesOf(await stage.output("questions", "--json"));
    await stage.output("answer", String(question?.["id"]), "allow", "--note", all.replaceAll("\0", ""));
    const { code, out, err } = await owner.ended;
    assert.equal(code, 0, err);
    shown["run"] = `${out}\n${err}`;
    for (const name of ["log", "invocations", "inspect"]) {
      await read(name, "last");
      await read(name, "last", "--json");
    }
    await read("replay", "last", "--strict");
    await read("sessions");
    await read("catalog", "agent");
    await read("catalog", "agent", "--json");
    await read("policy", "explain", "agent", "mcp.docs.search", JSON.stringify({ text: all }));
    for (const [path, text] of Object.entries(shown)) {
      assert.equal(
        unsafe.exec(text),
        null,
        `${path}: ${JSON.stringify(unsafe.exec(text)?.input.slice(0, 2_000))}`,
      );
    }
    // They are there to be seen: nothing was left out in silence.
    for (const path of ["questions", "run", "log last"]) assert.match(shown[path] ?? "", /\\u\{1b\}/, path);
    assert.match(shown["run"] ?? "", /✓ read_file .*\\u\{1b\}\[2J/);
    assert.match(shown["questions"] ?? "", /\\u\{1b\}\]52;c;aGVsbG8=\\u\{7\}/);
  });
});
