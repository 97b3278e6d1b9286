/** The tutorial of README.md: every command in it is run, in its order, by the shell that a reader would use. */
import assert from "node:assert/strict";

const root = new URL("../../", import.meta.url).pathname;

/** The blocks of commands of one section, or of another language. */
async function blocksOf(section: string, language = "sh"): Promise<readonly string[]> {
  const text = await Deno.readTextFile(`${root}README.md`);
  const [, rest = ""] = text.split(`\n## ${section}\n`);
  const [body = ""] = rest.split("\n## ");
  const blocks = body.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"));
  return [...blocks].map(([, block = ""]) => block);
}

/**
 * What a reader's shell is given besides the block: `deno task troupe` means this source, wherever the reader stands;
 * every other use of `deno` is refused, so that nothing is left out by mistake.
 */
function preamble(): string {
  const deno = `"${Deno.execPath()}"`;
  return `set -eu
deno() {
  [ "$1 $2" = "task troupe" ] || { echo "cannot run: deno $*" >&2; exit 99; }
  shift 2
  ${deno} run -A --quiet --config ${root}deno.json ${root}main.ts "$@"
}
`;
}

interface Shown {
  readonly code: number;
  readonly text: string;
}

/** Variables of this process that a reader's shell has too: where packages come from. */
function fromHere(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

async function runBlock(block: string, folder: string): Promise<Shown> {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", preamble() + block],
    cwd: folder,
    clearEnv: true,
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      HOME: folder,
      ...fromHere(
        "DENO_DIR",
        "NPM_CONFIG_REGISTRY",
        "DENO_CERT",
        "DENO_TLS_CA_STORE",
        "SSL_CERT_FILE",
        "HTTPS_PROXY",
      ),
      XDG_CACHE_HOME: Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`,
      NO_COLOR: "1",
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** What each block of the tutorial must show. */
const expected: readonly (readonly RegExp[])[] = [
  [
    /Wrote \.\/my-agent\/agent\.yaml/,
    /✓ files {2}.* 2 tools/,
    /✓ mcp\.files\.read_project_file/,
    /turn 1 completed: 3 steps, 3 calls/,
  ],
  [
    /SESSION +AGENT/,
    /mcp\.files\.read_project_file +non_idempotent +1 +succeeded/,
    /mcp\.files\.read_project_file +effect_intent +third_party +replaceable/,
    /intent +mcp\.call +mcp\.files\.search_project_text/,
    /^ {2}connection\/files@\S+ +closed, resting /m,
    /waits for {2}nothing: it is at rest/,
    /^all +3 +\d+ +\d+ /m,
    /^ {2}no divergence$/m,
    /connection\/files@.*no divergence/,
  ],
  [/^Wrote 3 answers of session\/\S+ to my-agent\/said\.yaml$/m, /turn 1 completed: 3 steps, 3 calls/],
  [/^Forked {3}session\/\S+ at entry 1: session\/ses_/m],
  [/^agent\.yaml$/m, /^mcp\/$/m],
  [
    /Trusted: 1 server/,
    /✗ files__search_project_text {2}denied/,
    /\? mcp\.files\.search_project_text {2}allow by operator/,
    /✓ mcp\.files\.read_project_file/,
  ],
  [/✓ files .*\n.*✓ notes/, /✓ mcp\.notes\.search_project_text.*answer\.txt:1: The answer is 42\./],
  [/Wrote \d+ entries/, /no divergence/, /nothing is wrong/],
  [
    /^ {2}state +at entry \d+\n {4}session\/ses_\w+: running\n {6}turn\/1: /m,
    /message\.text: "What is the answer\?" -> "What was the answer\?"/,
    /^they differ$/m,
    /notes__search_project_text|mcp\.notes\.search_project_text/,
    /now ask by policy\.capabilities of the host/,
    /^it would have been asked about$/m,
  ],
];

async function runSection(
  section: string,
  shown: readonly (readonly RegExp[])[],
  andThen?: (folder: string) => Promise<void>,
): Promise<void> {
  const blocks = await blocksOf(section);
  assert.equal(blocks.length, shown.length);
  const folder = await Deno.makeTempDir({ prefix: "troupe-readme-" });
  try {
    for (const [at, block] of blocks.entries()) {
      const { code, text } = await runBlock(block, folder);
      assert.equal(code, 0, `block ${at + 1} ended with ${code}:\n${block}\n${text}`);
      for (const pattern of shown[at] ?? []) {
        assert.match(text, pattern, `block ${at + 1} shows:\n${text}`);
      }
    }
    await andThen?.(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

// Proves AR-36 and AR-46 as a reader meets them: the scripted model drives real tools and a real server, and replays.
Deno.test({
  name: "README's ten minutes run as they are written, command by command",
  ignore: Deno.build.os === "windows",
  fn: () => runSection("Ten minutes", expected),
});

// Needs npm, as a reader does.
Deno.test({
  name: "README's commands about MCP servers run as they are written",
  ignore: Deno.build.os === "windows",
  fn: () =>
    runSection("MCP servers", [[
      /^Wrote mcp\/archive\.yaml\nFetched npm:/m,
      /^list_directory +ok +/m,
      /^ {2}reads +\.\n {2}writes +notes$/m,
      /\[FILE\] agent\.yaml/,
      /^.* started +secure-filesystem-server .*\n.* listed +14 tools, 0 left out/m,
    ]]),
});

Deno.test({
  name: "README's first tool is written, trusted and called as it stands there (DM-1, DM-29)",
  ignore: Deno.build.os === "windows",
  fn: () =>
    runSection("Your own tools", [[
      /^word_count \(tool, not trusted\)$/m,
      /^ {2}reaches {2}file\.read \.$/m,
      /^Trusted: 1 tool;/m,
      /^7$/m,
      /✓ word_count /,
      /authored\.used +call\/0\.0 files\.read agent\.yaml: ok/,
    ]]),
});

/** The test of README.md, in a project of its own as its reader has one. */
async function runTest(folder: string): Promise<void> {
  const [config = ""] = await blocksOf("Tests of agents", "json");
  const [test = ""] = await blocksOf("Tests of agents", "ts");
  await Deno.writeTextFile(
    `${folder}/deno.json`,
    config.replaceAll('"../troupe', `"${root.replace(/\/$/, "")}`),
  );
  await Deno.writeTextFile(`${folder}/looking_test.ts`, test);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "looking_test.ts"],
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.equal(code, 0, text);
  assert.match(text, /session\/ses_\w+: 6 asks compared[^]*text_delta\ndone[^]*2 passed/);
}

Deno.test({
  name: "README's fixture is made, verified, and replayed by the test that stands there",
  ignore: Deno.build.os === "windows",
  fn: () =>
    runSection("Tests of agents", [[
      /^Wrote a fixture of session\/.* to fixtures\/looking: \d+ entries of 3 streams/m,
      /^✓ fixtures\/looking {2}3 streams, /m,
    ]], runTest),
});

Deno.test("README names no command that does not exist", async () => {
  const text = await Deno.readTextFile(`${root}README.md`);
  const { commands } = await import("../../src/cli/command.ts");
  const named = [...text.matchAll(/(?:task troupe|`troupe) ([a-z][a-z-]*)/g)].map(([, name = ""]) => name);
  assert.ok(named.length > 15);
  assert.deepEqual([...new Set(named)].filter((name) => !Object.hasOwn(commands, name)), []);
});
