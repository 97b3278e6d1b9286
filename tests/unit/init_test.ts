/** `troupe init` and `troupe trust` in this process: what is written, what is left alone, and what is asked. */
import assert from "node:assert/strict";
import { AgentDefinition } from "../../schemas/agent.ts";
import { McpManifest } from "../../schemas/manifest.ts";
import { Script } from "../../schemas/script.ts";
import type { Cli } from "../../src/cli/cli.ts";
import { runCli } from "../../src/cli/command.ts";
import { createTerminal } from "../../src/cli/terminal.ts";
import { readConfigFile } from "../../src/config_file.ts";
import { loadAgent } from "../../src/host/agent_folder.ts";
import { agentFiles } from "../../src/templates/agent_folder.ts";
import { createWorld, digestNow } from "../support/world.ts";

function digest(bytes: Uint8Array): Promise<string> {
  return Promise.resolve(digestNow(bytes));
}

/** Longest wait for a question, in milliseconds: only a broken build comes near it. */
const patienceMs = 30_000;

/** The command line in a folder, at a keyboard that is made of a test. */
class Desk {
  readonly folder: string;
  readonly shown = { out: "", err: "" };
  /** Variables of the environment. */
  readonly env: { [name: string]: string };
  readonly #world = createWorld();
  readonly #cli: Cli;
  #typed: ((line: string | undefined) => void) | undefined;

  constructor(folder: string, isTerminal: boolean) {
    this.folder = folder;
    this.env = { HOME: `${folder}/home` };
    const sink = (name: "out" | "err") => ({
      isTerminal: () => isTerminal,
      writeSync: (bytes: Uint8Array) => {
        this.shown[name] += new TextDecoder().decode(bytes);
        return bytes.length;
      },
    });
    const stdin = {
      isTerminal: () => isTerminal,
      read: async (buffer: Uint8Array) => {
        const line = await new Promise<string | undefined>((resolve) => this.#typed = resolve);
        return line === undefined ? null : new TextEncoder().encodeInto(`${line}\n`, buffer).written;
      },
    };
    const terminal = createTerminal({
      stdout: sink("out"),
      stderr: sink("err"),
      stdin,
      colours: false,
      columns: () => undefined,
    });
    this.#cli = {
      terminal,
      seams: this.#world.seams,
      env: (name) => this.env[name],
      cwd: folder,
      self: { command: "troupe", args: [], env: {} },
      onInterrupt: () => () => {},
    };
  }

  /** Runs the command line; gives its exit code and what it said. */
  async run(
    ...argv: readonly string[]
  ): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
    [this.shown.out, this.shown.err] = ["", ""];
    const code = await runCli(argv, this.#cli);
    return { code, ...this.shown };
  }

  /** Waits until something is read from the keyboard, lets a moment pass and types a line. */
  async type(line: string | undefined, afterMs = 1_000): Promise<void> {
    // Files are read on the way, and they take the time that they take.
    const until = performance.now() + patienceMs;
    while (this.#typed === undefined && performance.now() < until) await this.#world.settle();
    const typed = this.#typed;
    assert.ok(typed, "nothing was asked");
    this.#typed = undefined;
    await this.#world.advance(afterMs);
    typed(line);
  }

  /** Names of trusted servers, as `troupe trust --json` lists them. */
  async trusted(): Promise<readonly string[]> {
    const { code, out, err } = await this.run("trust", "--json");
    assert.equal(code, 0, err);
    return out.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line).server);
  }

  async write(files: { readonly [path: string]: string }): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(`${this.folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${this.folder}/${path}`, text);
    }
  }

  /** Every file below the folder with its text. A folder ends in a slash and has none. */
  tree(below = ""): { readonly [path: string]: string } {
    const found: { [path: string]: string } = {};
    for (const { name, isDirectory } of Deno.readDirSync(`${this.folder}/${below}`)) {
      const path = `${below}${name}`;
      if (isDirectory) Object.assign(found, { [`${path}/`]: "" }, this.tree(`${path}/`));
      else found[path] = Deno.readTextFileSync(`${this.folder}/${path}`);
    }
    return found;
  }
}

async function atDesk(play: (desk: Desk) => Promise<void>, { isTerminal = false } = {}): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    await play(new Desk(folder, isTerminal));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Asserts a refusal: exit code 2, its code, and what the line says. */
function assertRefused(ended: Awaited<ReturnType<Desk["run"]>>, code: string, said: RegExp): void {
  assert.equal(ended.code, 2, ended.err);
  assert.ok(ended.err.trimEnd().endsWith(`[${code}]`), ended.err);
  assert.match(ended.err, said);
  assert.equal(ended.out, "");
}

const paths = ["README.md", "agent.yaml", "mcp/", "mcp/files.yaml", "script.yaml"];

Deno.test("templates are what their schemas ask for, and fit together", async () => {
  // A name that YAML would take for something else is still a name.
  for (const name of ["my-agent", "null", "yes", "x"]) {
    const texts = new Map(agentFiles(name).map(({ path, text }) => [path, text]));
    const read = (path: string) => texts.get(path) ?? assert.fail(path);
    const agent = await readConfigFile(AgentDefinition, read("agent.yaml"), "agent.yaml");
    assert.equal(agent.name, name);
    assert.deepEqual([agent.model, agent.tools], ["scripted/script.yaml", ["list_files", "read_file"]]);
    assert.deepEqual(agent.capabilities, ["fs.read", "mcp.connect:files", "mcp.call:files"]);
    const manifest = await readConfigFile(McpManifest, read("mcp/files.yaml"), "mcp/files.yaml");
    assert.ok(manifest.transport === "stdio");
    assert.equal(manifest.command, "troupe");
    assert.deepEqual(manifest.args, ["mcp-server", "files", "--root", "."]);
    assert.deepEqual(
      [manifest.risk, manifest.approval_policy, manifest.timeout_seconds, manifest.enabled],
      ["low", "auto", 20, true],
    );
    const { answers } = await readConfigFile(Script, read("script.yaml"), "script.yaml");
    assert.deepEqual(answers.map(({ calls = [] }) => calls.map(({ tool }) => tool)), [
      ["list_files", "files__search_project_text"],
      ["files__read_project_file"],
      [],
    ]);
    assert.match(answers.at(-1)?.text ?? "", /troupe log last/);
    assert.equal(read("README.md").trimEnd().split("\n").length, 10);
    for (const [path, text] of texts) assert.ok(text.endsWith("\n") && !text.includes("\t"), path);
  }
});

Deno.test("init writes an agent that loads, trusts its server and no other, and says what to type next", async () => {
  await atDesk(async (desk) => {
    await desk.write({ "my-agent/mcp/other.yaml": "command: other\n", "my-agent/notes.txt": "mine" });
    const { code, out, err } = await desk.run("init");
    assert.deepEqual([code, err], [0, ""]);
    const tree = desk.tree("my-agent/");
    const expected = [...paths, "mcp/other.yaml", "notes.txt"].map((path) => `my-agent/${path}`);
    assert.deepEqual(Object.keys(tree).sort(), expected.sort());
    assert.equal(tree["my-agent/notes.txt"], "mine");
    const agent = await loadAgent("./my-agent", { cwd: desk.folder, digest });
    assert.equal(agent.definition.name, "my-agent");
    assert.deepEqual(agent.servers.map(({ server }) => server).sort(), ["files", "other"]);
    assert.deepEqual(await desk.trusted(), ["files"]);
    for (const path of paths) if (!path.endsWith("/")) assert.ok(out.includes(`./my-agent/${path}`), path);
    assert.match(out, / run \.\/my-agent "What is in here\?" --workspace \.\/my-agent\n.* log last +# /);
  });
});

Deno.test("init makes the agent's name of the folder's, or takes the one that is given", async () => {
  const cases: readonly (readonly [readonly string[], string, string])[] = [
    [["reader"], "reader", "reader"],
    [["./a/b/Über Agent 2/"], "a/b/Über Agent 2", "uber-agent-2"],
    [["7 of_9"], "7 of_9", "of-9"],
    [[`${"long-".repeat(10)}x`], `${"long-".repeat(10)}x`, "long-".repeat(10).slice(0, 48).replace(/-$/, "")],
    [["漢字", "--name", "kanji"], "漢字", "kanji"],
  ];
  await atDesk(async (desk) => {
    for (const [args, folder, name] of cases) {
      const { code, err } = await desk.run("init", ...args);
      assert.equal(code, 0, err);
      const { definition } = await loadAgent(`./${folder}`, { cwd: desk.folder, digest });
      assert.equal(definition.name, name);
    }
    await desk.write({ "Here/x": "" });
    assert.equal((await desk.run("init", "Here/.")).code, 0);
    assert.equal((await loadAgent("./Here", { cwd: desk.folder, digest })).definition.name, "here");
    assertRefused(
      await desk.run("init", "漢字 2"),
      "argument_invalid",
      /write --name NAME; it must be lower-case/,
    );
    assertRefused(await desk.run("init", "gone/.."), "argument_invalid", /write --name NAME/);
    assertRefused(await desk.run("init", "b", "--name", "B"), "option_invalid", /"B": it must be lower-case/);
    assertRefused(await desk.run("init", ""), "argument_invalid", /empty/);
    for (const path of ["漢字 2", "gone", "b"]) assert.ok(!(`${path}/` in desk.tree()), path);
  });
});

Deno.test("init replaces nothing that exists, and then writes nothing at all", async () => {
  for (const path of paths.filter((one) => !one.endsWith("/"))) {
    await atDesk(async (desk) => {
      await desk.write({ [`a/${path}`]: "mine" });
      const before = desk.tree();
      assertRefused(
        await desk.run("init", "a"),
        "file_exists",
        new RegExp(`"\\./a/${path}": it exists; .*--force`),
      );
      assert.deepEqual(desk.tree(), before);
    });
  }
  await atDesk(async (desk) => {
    await Deno.mkdir(`${desk.folder}/a`);
    await Deno.symlink("nowhere", `${desk.folder}/a/agent.yaml`);
    assertRefused(await desk.run("init", "a"), "file_exists", /agent\.yaml": it exists/);
    await desk.write({ b: "a file" });
    assertRefused(await desk.run("init", "b"), "file_exists", /b": it is no folder/);
  });
});

Deno.test("init --force replaces its files, leaves the others, and writes through no link", async () => {
  await atDesk(async (desk) => {
    assert.equal((await desk.run("init", "a")).code, 0);
    const fresh = desk.tree("a/");
    await desk.write({ "a/agent.yaml": "x", "a/notes.txt": "mine", victim: "mine" });
    await Deno.remove(`${desk.folder}/a/script.yaml`);
    await Deno.symlink("../victim", `${desk.folder}/a/script.yaml`);
    const { code, err } = await desk.run("init", "a", "--force");
    assert.equal(code, 0, err);
    assert.deepEqual(desk.tree("a/"), { ...fresh, "a/notes.txt": "mine" });
    assert.equal(desk.tree()["victim"], "mine");
    await Deno.remove(`${desk.folder}/a/README.md`);
    await Deno.mkdir(`${desk.folder}/a/README.md`);
    assertRefused(
      await desk.run("init", "a", "--force"),
      "file_exists",
      /README\.md": a folder has this name/,
    );
  });
});

Deno.test("init that fails half-way leaves everything as it was", async () => {
  await atDesk(async (desk) => {
    await desk.write({ "a/mcp": "a file, where a folder is needed" });
    const before = desk.tree();
    assertRefused(await desk.run("init", "a"), "file_exists", /mcp": it is no folder/);
    assert.deepEqual(desk.tree(), before);
    // With --force too: what was to be replaced is back.
    await desk.write({ "a/agent.yaml": "mine" });
    assertRefused(await desk.run("init", "a", "--force"), "file_exists", /mcp": it is no folder/);
    assert.deepEqual(desk.tree(), { ...before, "a/agent.yaml": "mine" });
  });
  // The last thing that can fail is trust: even then no new folder stays.
  await atDesk(async (desk) => {
    await desk.write({ "t.json": "damaged", "t.json.lock": "", "a/README.md": "mine" });
    desk.env["TROUPE_TRUST"] = `${desk.folder}/t.json`;
    const before = desk.tree();
    for (const args of [["new/deep"], ["a", "--force"]]) {
      const { code, err } = await desk.run("init", ...args);
      assert.notEqual(code, 0);
      assert.match(err, /\[trust_unreadable\]\n$/);
      assert.deepEqual(desk.tree(), before);
    }
  });
});

Deno.test("init where no home is known says that nothing is trusted", async () => {
  await atDesk(async (desk) => {
    delete desk.env["HOME"];
    const { code, out } = await desk.run("init");
    assert.equal(code, 0);
    assert.match(out, /No home folder is known, so a run will ask/);
    assertRefused(await desk.run("trust"), "trust_unplaced", /TROUPE_TRUST/);
  });
});

Deno.test("init names the folder so that a shell and troupe take it for a folder", async () => {
  await atDesk(async (desk) => {
    const { out } = await desk.run("init", "demo");
    assert.match(out, / run \.\/demo "/);
    const spaced = await desk.run("init", "it's mine/a b");
    assert.ok(spaced.out.includes(`--workspace './it'\\''s mine/a b'\n`), spaced.out);
    const absolute = await desk.run("init", `${desk.folder}/abs/`);
    assert.ok(absolute.out.includes(` run ${desk.folder}/abs "`), absolute.out);
  });
});

const agent = "name: tester\nmodel: scripted/script.yaml\n";

/** An agent with one server that nobody trusts yet. */
const untrusted = {
  "a/agent.yaml": agent,
  "a/mcp/docs.yaml": 'command: docs-server\nargs: [--port, "80 80", "\\e[2J\\u202e"]\nenv: { TOKEN: hush }\n',
};

Deno.test("trust shows what would be started, and trusts it once a person says yes", async () => {
  for (const yes of ["y", " YES "]) {
    await atDesk(async (desk) => {
      await desk.write(untrusted);
      const ended = desk.run("trust", "a");
      for (const line of ["", "maybe"]) await desk.type(line);
      await desk.type(yes, 10); // Too fast: it was typed before the question could be read.
      assert.deepEqual(Object.keys(desk.tree()).filter((path) => path.startsWith("home")), []);
      await desk.type(yes);
      const { code, out, err } = await ended;
      assert.equal(code, 0, err);
      assert.match(
        out,
        /^docs \(not trusted\)\n {2}command {2}docs-server --port "80 80" "\\u001b\[2J\\u\{202e\}"\n/,
      );
      assert.ok(out.includes("env      TOKEN\n") && !out.includes("hush"), out);
      assert.ok(!out.includes("\x1b") && !out.includes("\u202e"), out);
      assert.ok(out.includes(`file     ${desk.folder}/a/mcp/docs.yaml\n`), out);
      assert.equal(err.match(/Start these servers without asking from now on\? y yes, n no: /g)?.length, 4);
      assert.deepEqual(await desk.trusted(), ["docs"]);
    }, { isTerminal: true });
  }
});

Deno.test("trust takes no, and the end of input, for no", async () => {
  for (const line of ["n", "No", undefined]) {
    await atDesk(async (desk) => {
      await desk.write(untrusted);
      const ended = desk.run("trust", "a");
      await desk.type(line);
      const { code, err } = await ended;
      assert.equal(code, 0);
      assert.match(err, /Nothing was trusted\n$/);
      assert.deepEqual(await desk.trusted(), []);
    }, { isTerminal: true });
  }
});

Deno.test("trust does not hold for a server that would be started in another way (DM-62)", async () => {
  await atDesk(async (desk) => {
    await desk.write(untrusted);
    const refused = await desk.run("trust", "a");
    assert.equal(refused.code, 2);
    assert.match(refused.err, /give --yes \[trust_needs_answer\]\n$/);
    assert.deepEqual(await desk.trusted(), []);
    assert.match(
      (await desk.run("trust", "a", "--yes")).out,
      /^docs \(not trusted\)[^]*\nTrusted: 1 server;/,
    );
    assert.match(
      (await desk.run("trust", "a")).out,
      /^docs \(trusted as third_party\)[^]*\nTrusted already: 1 server;/,
    );
    await desk.write({ "a/mcp/docs.yaml": "command: docs-server\nargs: [--port, '81']\n" });
    const again = await desk.run("trust", "a");
    assert.equal(again.code, 2);
    assert.match(again.out, /^docs \(not trusted\)/);
  });
});

Deno.test("trust --remove takes a folder's trust away, whether or not its agent is sound or there", async () => {
  await atDesk(async (desk) => {
    for (const name of ["a", "b", "c"]) assert.equal((await desk.run("init", name)).code, 0);
    const removed = await desk.run("trust", "a/agent.yaml", "--remove");
    assert.match(removed.out, /^1 server of .*\/a is not trusted any more\n$/);
    await desk.write({ "b/agent.yaml": "broken: [" });
    const broken = await desk.run("trust", "./b/", "--remove", "--json");
    assert.deepEqual(JSON.parse(broken.out), { folder: `${desk.folder}/b`, removed: 1 });
    assert.deepEqual(await desk.trusted(), ["files"]);
    await Deno.remove(`${desk.folder}/c`, { recursive: true });
    assert.equal((await desk.run("trust", "./c", "--remove")).code, 0);
    assert.deepEqual(await desk.trusted(), []);
    assert.match((await desk.run("trust", "c", "--remove")).out, /^Nothing of .*\/c was trusted\n$/);
  });
});

Deno.test("trust that is used wrongly is refused, and an agent without servers needs none", async () => {
  await atDesk(async (desk) => {
    await desk.write({ "a/agent.yaml": agent });
    assertRefused(await desk.run("trust", "--remove"), "argument_missing", /needs AGENT/);
    assertRefused(await desk.run("trust", "--yes"), "argument_missing", /needs AGENT/);
    assertRefused(await desk.run("trust", "a", "--yes", "--remove"), "option_invalid", /one of them/);
    assertRefused(await desk.run("trust", "gone"), "config_invalid", /"gone" as agent/);
    for (const name of ["a", "demo"]) {
      assert.match(
        (await desk.run("trust", name, "--yes")).out,
        /^The agent has no MCP servers that need trust\n$/,
      );
    }
    assert.match((await desk.run("trust")).err, /^Nothing is trusted/);
    assert.deepEqual(Object.keys(desk.tree()).sort(), ["a/", "a/agent.yaml"]);
  });
});
