/** `troupe init` and `troupe trust` in real processes, with nothing of the outer environment but the programs' paths. */
import assert from "node:assert/strict";
import { assertRefused, type Ended, linesOf } from "./troupe.ts";

const main = new URL("../../main.ts", import.meta.url).pathname;
/** Longest wait for a process, in milliseconds: only a broken build comes near it. */
const patienceMs = 60_000;

/** Where Deno keeps what it fetched: a cleared environment would make it fetch everything again. */
async function denoFolder(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"], cwd: "/" }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

/** A folder, and programs that run in it with an environment of their own. */
class Room {
  readonly folder: string;
  readonly #env: Record<string, string>;

  constructor(folder: string, denoDir: string) {
    this.folder = folder;
    this.#env = {
      DENO_DIR: denoDir,
      PATH: Deno.env.get("PATH") ?? "",
      HOME: `${folder}/home`,
      XDG_CONFIG_HOME: `${folder}/config`,
      XDG_DATA_HOME: `${folder}/data`,
      TROUPE_STORE: `${folder}/store.db`,
      TROUPE_TRUST: `${folder}/trust/trusted.json`,
      NO_COLOR: "1",
    };
  }

  /** Runs the command to its end. */
  troupe(...args: readonly string[]): Promise<Ended> {
    return this.execute(Deno.execPath(), ["run", "-A", "--quiet", main, ...args]);
  }

  async execute(program: string, args: readonly string[]): Promise<Ended> {
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      cwd: this.folder,
      env: this.#env,
      clearEnv: true,
      stdin: "null",
      signal: AbortSignal.timeout(patienceMs),
    }).output();
    const [out = "", err = ""] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { code, out, err };
  }

  /** Runs the command, which must end well, and gives its output. */
  async output(...args: readonly string[]): Promise<string> {
    const { code, out, err } = await this.troupe(...args);
    assert.equal(code, 0, `troupe ${args.join(" ")}\n${out}\n${err}`);
    return out;
  }

  trusted(): Promise<string> {
    return Deno.readTextFile(`${this.folder}/trust/trusted.json`);
  }
}

async function inRoom(play: (room: Room) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "troupe-e2e-" }));
  try {
    await play(new Room(folder, await denoFolder()));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("init makes an agent that troupe reads, and names commands that a shell can run", async () => {
  await inRoom(async (room) => {
    const out = await room.output("init");
    const names = [...Deno.readDirSync(`${room.folder}/my-agent`)].map(({ name }) => name).sort();
    assert.deepEqual(names, ["README.md", "agent.yaml", "mcp", "script.yaml"]);
    assert.match(await room.output("catalog", "./my-agent"), /^read_file /m);
    assert.match(
      await room.output("trust", "./my-agent"),
      /^files \(trusted as third_party\)\n {2}command {2}troupe mcp-server /,
    );
    // The agent is run elsewhere; here the words in front of it are those of a program that is this one.
    const own = out.match(/^ {2}(.*) run \.\/my-agent "What is in here\?" --workspace \.\/my-agent$/m)?.[1];
    assert.ok(own, out);
    const version = await room.execute("sh", ["-c", `${own} --version`]);
    assert.deepEqual(version, { code: 0, out: await room.output("--version"), err: version.err });
  });
});

Deno.test("init --json says where the files are, and refuses to replace them without --force", async () => {
  await inRoom(async (room) => {
    const files = ["agent.yaml", "mcp/files.yaml", "script.yaml", "README.md"];
    const made = { folder: `${room.folder}/x/reader`, files };
    assert.deepEqual(linesOf(await room.output("init", "x/reader", "--name", "tester", "--json")), [made]);
    const agent = `${made.folder}/agent.yaml`;
    assert.match(await Deno.readTextFile(agent), /^name: tester$/m);
    await Deno.writeTextFile(agent, "mine");
    for (const file of files.slice(1)) await Deno.remove(`${made.folder}/${file}`);
    assertRefused(
      await room.troupe("init", "x/reader"),
      2,
      "file_exists",
      '"./x/reader/agent.yaml": it exists',
    );
    assert.deepEqual([...Deno.readDirSync(made.folder)].map(({ name }) => name).sort(), [
      "agent.yaml",
      "mcp",
    ]);
    assert.equal(await Deno.readTextFile(agent), "mine");
    assert.deepEqual(linesOf(await room.output("init", "x/reader", "--force", "--json")), [made]);
    assert.match(await Deno.readTextFile(agent), /^name: reader$/m);
    assertRefused(await room.troupe("init", "y", "--name", "No Name"), 2, "option_invalid", "lower-case");
  });
});

Deno.test("init in several processes at once loses the trust of none", async () => {
  await inRoom(async (room) => {
    const names = ["a", "b", "c", "d", "e", "f"];
    await Promise.all(names.map((name) => room.output("init", name)));
    const listed = linesOf(await room.output("trust", "--json"));
    const folders = listed.map((one) => one["folder"]).sort();
    assert.deepEqual(folders, names.map((name) => `${room.folder}/${name}`));
    for (const name of names) {
      assert.match(await room.output("trust"), new RegExp(`^files +20.* ${room.folder}/${name}$`, "m"));
    }
  });
});

Deno.test("trust needs a person or --yes, and an agent's servers are asked about again once they change (DM-62)", async () => {
  await inRoom(async (room) => {
    await room.output("init", "a");
    const manifest = `${room.folder}/a/mcp/files.yaml`;
    await Deno.writeTextFile(
      manifest,
      (await Deno.readTextFile(manifest)).replace("--root, .]", "--root, ..]"),
    );
    const before = await room.trusted();
    const refused = await room.troupe("trust", "a");
    assertRefused(refused, 2, "trust_needs_answer", "--yes");
    assert.match(refused.out, /^files \(not trusted\)\n {2}command {2}troupe mcp-server files --root \.\.\n/);
    assert.equal(await room.trusted(), before);
    const [trusted] = linesOf(await room.output("trust", "a", "--yes", "--json"));
    assert.deepEqual(linesOf(await room.output("trust", "--json")).at(-1), trusted);
    assert.match(await room.output("trust", "a"), /^files \(trusted as third_party\)/);
    assert.match(
      await room.output("trust", "a", "--remove"),
      /^2 servers of .*\/a are not trusted any more\n$/,
    );
    assert.equal((await room.troupe("trust", "a")).code, 2);
  });
});

Deno.test("trust that is damaged or open to others stops init and trust, and is left as it is", async () => {
  await inRoom(async (room) => {
    await room.output("init", "a");
    const file = `${room.folder}/trust/trusted.json`;
    const good = await room.trusted();
    const cases = [
      { code: "trust_unreadable", text: good.slice(1), mode: 0o600, said: "mend it" },
      { code: "trust_unsafe", text: good, mode: 0o666, said: "chmod 600" },
    ];
    for (const { code, text, mode, said } of cases) {
      await Deno.writeTextFile(file, text);
      await Deno.chmod(file, mode);
      for (const args of [["trust"], ["trust", "a", "--yes"], ["trust", "a", "--remove"], ["init", "b"]]) {
        const ended = await room.troupe(...args);
        assert.notEqual(ended.code, 0);
        assertRefused(ended, ended.code, code, said, file);
      }
      assert.equal(await room.trusted(), text);
      await assert.rejects(Deno.stat(`${room.folder}/b`), Deno.errors.NotFound);
    }
  });
});
