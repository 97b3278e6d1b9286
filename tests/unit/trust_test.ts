import assert from "node:assert/strict";
import { type TrustedServer, TrustError, trustFile, TrustStore } from "../../src/host/trust.ts";

const project = new URL("../../", import.meta.url);

/** The n-th server of a folder. */
function serverOf(n: number, folder = "/agents/one"): TrustedServer {
  return {
    fingerprint: `sha256:${n.toString(16).padStart(64, "0")}`,
    server: `s${n}`,
    folder,
    at: 1_000 + n,
  };
}

/** A store in a folder of its own, which does not exist yet. */
async function withStore(
  play: (store: TrustStore, file: string, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await play(
      new TrustStore(`${folder}/data/troupe/trusted.json`),
      `${folder}/data/troupe/trusted.json`,
      folder,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function writeFile(file: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
  await Deno.writeFile(file, typeof content === "string" ? new TextEncoder().encode(content) : content);
  await Deno.chmod(file, mode);
}

/** Asserts that whatever is done with the store is refused, and that its file stays as it is. */
async function assertRefused(store: TrustStore, file: string, expected: { code: string; message: RegExp }) {
  const before = await Deno.readFile(file).catch(() => undefined);
  const works = [
    () => store.list(),
    () => store.levelOf(serverOf(1).fingerprint),
    () => store.add([serverOf(1)]),
    () => store.remove("/agents/one"),
  ];
  for (const work of works) {
    await assert.rejects(work, (error) => {
      assert.ok(error instanceof TrustError, String(error));
      assert.equal(error.code, expected.code);
      assert.match(error.message, expected.message);
      assert.ok(error.message.includes(file));
      return true;
    });
  }
  assert.deepEqual(await Deno.readFile(file).catch(() => undefined), before);
}

async function modeOf(path: string): Promise<number> {
  return ((await Deno.stat(path)).mode ?? 0) & 0o777;
}

Deno.test("trust store without a file trusts nothing, and looking makes no file", async () => {
  await withStore(async (store, _, folder) => {
    assert.deepEqual(await store.list(), []);
    assert.equal(await store.levelOf(serverOf(1).fingerprint), undefined);
    assert.equal(await store.remove("/agents/one"), 0);
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  });
});

Deno.test("trust store keeps what is added, by fingerprint and once, for its user alone (DM-62)", async () => {
  await withStore(async (store, file, folder) => {
    await store.add([serverOf(1), serverOf(2)]);
    await store.add([{ ...serverOf(1), at: 9_999 }, serverOf(3)]);
    const expected = [serverOf(1), serverOf(2), serverOf(3)];
    assert.deepEqual(await store.list(), expected);
    assert.deepEqual(await new TrustStore(file).list(), expected);
    assert.equal(await store.levelOf(serverOf(3).fingerprint), "third_party");
    // Another fingerprint of the same server and folder is another declaration.
    assert.equal(await store.levelOf(serverOf(4).fingerprint), undefined);
    assert.deepEqual(JSON.parse(await Deno.readTextFile(file)), { v: 1, servers: expected });
    assert.deepEqual(
      [await modeOf(file), await modeOf(`${file}.lock`), await modeOf(`${folder}/data/troupe`)],
      [0o600, 0o600, 0o700],
    );
    const names = [...Deno.readDirSync(`${folder}/data/troupe`)].map(({ name }) => name).sort();
    assert.deepEqual(names, ["trusted.json", "trusted.json.lock"]);
  });
});

Deno.test("trust store is read at every use: what another one added or took away counts at once", async () => {
  await withStore(async (store, file) => {
    const other = new TrustStore(file);
    await other.add([serverOf(1)]);
    assert.equal(await store.levelOf(serverOf(1).fingerprint), "third_party");
    await other.remove("/agents/one");
    assert.equal(await store.levelOf(serverOf(1).fingerprint), undefined);
  });
});

Deno.test("trust store takes away everything of one folder, and nothing else", async () => {
  await withStore(async (store) => {
    const others = [serverOf(3, "/agents/one/below"), serverOf(4, "/agents"), serverOf(5, "/agents/one2")];
    await store.add([serverOf(1), ...others, serverOf(2)]);
    assert.equal(await store.remove("/agents/one"), 2);
    assert.deepEqual(await store.list(), others);
    assert.equal(await store.remove("/agents/one"), 0);
  });
});

Deno.test("trust store refuses a file that it cannot read, says what to do, and never overwrites it", async () => {
  const good = JSON.stringify({ v: 1, servers: [serverOf(1)] });
  const cases: readonly (readonly [string | Uint8Array, RegExp])[] = [
    ["", /it is not JSON/],
    [good.slice(0, -9), /it is not JSON/],
    ["[]", /this release did not write it/],
    [JSON.stringify({ v: 2, servers: [] }), /this release did not write it \(v: /],
    [JSON.stringify({ v: 1, servers: [], extra: 1 }), /this release did not write it/],
    [
      JSON.stringify({ v: 1, servers: [{ ...serverOf(1), fingerprint: "x" }] }),
      /\(servers\.0\.fingerprint: /,
    ],
    [new Uint8Array([0x7b, 0xff, 0x7d]), /it is not UTF-8 text/],
    [good + " ".repeat(1_048_576), /more than 1048576 bytes/],
  ];
  for (const [content, why] of cases) {
    await withStore(async (store, file) => {
      await writeFile(file, content);
      await assertRefused(store, file, { code: "trust_unreadable", message: why });
      await assertRefused(store, file, { code: "trust_unreadable", message: /mend it, or move it away/ });
    });
  }
  await withStore(async (store, file) => {
    await Deno.mkdir(file, { recursive: true });
    await assertRefused(store, file, { code: "trust_unreadable", message: /Cannot read what is trusted/ });
  });
});

Deno.test(
  "trust store refuses a file that others may write",
  { ignore: Deno.build.os === "windows" },
  async () => {
    const good = JSON.stringify({ v: 1, servers: [serverOf(1)] });
    for (const mode of [0o620, 0o602, 0o666]) {
      await withStore(async (store, file) => {
        await writeFile(file, good, mode);
        const shown = new RegExp(`others may write it \\(mode 0${mode.toString(8)}\\); .*chmod 600`);
        await assertRefused(store, file, { code: "trust_unsafe", message: shown });
      });
    }
    // Others may read it: there is no secret in it. It is closed to them at the next change.
    await withStore(async (store, file) => {
      await writeFile(file, good, 0o644);
      assert.deepEqual(await store.list(), [serverOf(1)]);
      await store.add([serverOf(2)]);
      assert.equal(await modeOf(file), 0o600);
    });
  },
);

Deno.test("trust store of two processes that add at the same time loses nothing", async () => {
  await withStore(async (store, file) => {
    const each = 40;
    const code = (first: number) => `
      import { TrustStore } from ${JSON.stringify(new URL("src/host/trust.ts", project).href)};
      const store = new TrustStore(${JSON.stringify(file)});
      for (let n = ${first}; n < ${first + each}; n++) {
        const fingerprint = "sha256:" + n.toString(16).padStart(64, "0");
        await store.add([{ fingerprint, server: "s" + n, folder: "/agents/one", at: 1000 + n }]);
      }`;
    const ends = await Promise.all(
      [0, each].map((first) =>
        new Deno.Command(Deno.execPath(), { args: ["eval", code(first)], cwd: project, stdin: "null" })
          .output()
      ),
    );
    for (const { code, stderr } of ends) assert.equal(code, 0, new TextDecoder().decode(stderr));
    const servers = (await store.list()).map(({ server }) => server).sort();
    assert.deepEqual(servers, Array.from({ length: 2 * each }, (_, n) => `s${n}`).sort());
  });
});

Deno.test("trust store is not held up by a draft that a dead process left, and writes through no link", async () => {
  await withStore(async (store, file, folder) => {
    await store.add([serverOf(1)]);
    await Deno.writeTextFile(`${folder}/victim`, "untouched");
    await Deno.symlink(`${folder}/victim`, `${file}.part`);
    await store.add([serverOf(2)]);
    assert.deepEqual(await store.list(), [serverOf(1), serverOf(2)]);
    assert.equal((await Deno.lstat(file)).isFile, true);
    assert.equal(await Deno.readTextFile(`${folder}/victim`), "untouched");
  });
});

Deno.test("trust store refuses to grow beyond what it reads, and stays as it was", async () => {
  await withStore(async (store) => {
    await store.add([serverOf(1)]);
    const many = Array.from({ length: 1_000 }, (_, n) => serverOf(n + 2, `/${"x".repeat(1_000)}`));
    await assert.rejects(store.add(many), { code: "trust_full", message: /--remove/ });
    assert.deepEqual(await store.list(), [serverOf(1)]);
  });
});

Deno.test("trust store whose folder cannot be made says so", async () => {
  await withStore(async (store, _, folder) => {
    await Deno.writeTextFile(`${folder}/data`, "");
    assert.deepEqual(await store.list(), []);
    await assert.rejects(store.add([serverOf(1)]), { code: "trust_unwritable", message: /TROUPE_TRUST/ });
  });
});

Deno.test("trust file is the one that is named, or in the user's data folder", () => {
  const cases: readonly (readonly [{ readonly [name: string]: string }, string | undefined])[] = [
    [{ TROUPE_TRUST: "/t.json", XDG_DATA_HOME: "/d", HOME: "/h" }, "/t.json"],
    [{ XDG_DATA_HOME: "/d", HOME: "/h" }, "/d/troupe/trusted.json"],
    [{ HOME: "/h", USERPROFILE: "/u" }, "/h/.local/share/troupe/trusted.json"],
    [{ USERPROFILE: "/u" }, "/u/.local/share/troupe/trusted.json"],
    [{}, undefined],
  ];
  for (const [values, expected] of cases) assert.equal(trustFile((name) => values[name]), expected);
});
