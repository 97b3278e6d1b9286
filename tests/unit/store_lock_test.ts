/** The store's lock, against a real second process. */
import assert from "node:assert/strict";
import { lockStore, readStoreOwner } from "../../src/journal/store_lock.ts";
import { createSystemSeams } from "../../src/system_seams.ts";

const { clock } = createSystemSeams({ log: () => {} });
const lockModule = import.meta.resolve("../../src/journal/store_lock.ts");
const seamsModule = import.meta.resolve("../../src/system_seams.ts");

/** Holds the store's lock, says so, and goes on holding it until its input ends. */
const holderCode = `
  import { lockStore } from ${JSON.stringify(lockModule)};
  import { createSystemSeams } from ${JSON.stringify(seamsModule)};
  const lock = await lockStore(Deno.args[0], createSystemSeams({ log() {} }).clock);
  await lock.setDoor({ port: 4512, token: "secret" });
  await Deno.stdout.write(new TextEncoder().encode("locked"));
  await Deno.stdin.read(new Uint8Array(1));
  await lock.release();
`;

/** A second process that holds the lock. */
class Holder {
  readonly process: Deno.ChildProcess;

  constructor(process: Deno.ChildProcess) {
    this.process = process;
  }

  async end(signal?: Deno.Signal): Promise<void> {
    if (signal !== undefined) this.process.kill(signal);
    await this.process.stdin.close().catch(() => {});
    await this.process.stdout.cancel();
    await this.process.status;
  }
}

async function startHolder(path: string): Promise<Holder> {
  const script = `${path}.holder.ts`;
  await Deno.writeTextFile(script, holderCode);
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", "--no-check", script, path],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = process.stdout.getReader();
  const { value } = await reader.read();
  assert.equal(new TextDecoder().decode(value), "locked");
  reader.releaseLock();
  return new Holder(process);
}

function withPath(prove: (path: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = await Deno.makeTempDir();
    try {
      await prove(`${folder}/store.db`);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  };
}

Deno.test(
  "store lock refuses a second process, naming the owner, until the owner ends",
  withPath(async (path) => {
    const holder = await startHolder(path);
    try {
      const owner = await readStoreOwner(path);
      assert.equal(owner?.pid, holder.process.pid);
      assert.deepEqual(owner?.door, { port: 4512, token: "secret" });
      const since = new Date(owner?.startedAt ?? 0).toISOString();
      await assert.rejects(lockStore(path, clock), (error: Error & { code: string }) => {
        assert.equal(error.code, "store_in_use");
        assert.ok(error.message.includes(`process ${holder.process.pid}`), error.message);
        assert.ok(error.message.includes(since), error.message);
        return true;
      });
      assert.equal(((await Deno.stat(`${path}.owner`)).mode ?? 0) & 0o777, 0o600);
    } finally {
      await holder.end();
    }
    assert.equal(await readStoreOwner(path), undefined);
    await (await lockStore(path, clock)).release();
  }),
);

Deno.test(
  "store lock left by a killed process is free, and its owner's note counts no more",
  withPath(async (path) => {
    const holder = await startHolder(path);
    await holder.end("SIGKILL");
    assert.ok((await Deno.readTextFile(`${path}.owner`)).includes("secret"), "the note is still there");
    assert.equal(await readStoreOwner(path), undefined);
    const lock = await lockStore(path, clock);
    assert.equal((await readStoreOwner(path))?.pid, Deno.pid);
    assert.equal((await readStoreOwner(path))?.door, undefined);
    await lock.release();
  }),
);

Deno.test(
  "store lock refuses a second owner in this process, under any name of the file",
  withPath(async (path) => {
    const lock = await lockStore(path, clock);
    await Deno.writeTextFile(path, "");
    await Deno.symlink(path, `${path}.link`);
    await assert.rejects(lockStore(path, clock), { code: "store_in_use" });
    await assert.rejects(lockStore(`${path}.link`, clock), { code: "store_in_use" });
    await lock.release();
    await lock.release();
    await (await lockStore(`${path}.link`, clock)).release();
  }),
);

Deno.test(
  "store lock keeps its file when it is released, and takes its note away",
  withPath(async (path) => {
    const lock = await lockStore(path, clock);
    await lock.setDoor({ port: 1, token: "t" });
    assert.deepEqual(lock.owner.door, { port: 1, token: "t" });
    await lock.release();
    const names = (await Array.fromAsync(Deno.readDir(path.slice(0, path.lastIndexOf("/"))))).map((
      { name },
    ) => name);
    assert.deepEqual(names, ["store.db.lock"]);
    assert.equal(((await Deno.stat(`${path}.lock`)).mode ?? 0) & 0o777, 0o600);
  }),
);

Deno.test(
  "store lock says what is wrong where no lock file can be made",
  withPath(async (path) => {
    await Deno.writeTextFile(path, "");
    await assert.rejects(lockStore(`${path}/below/store.db`, clock), { code: "store_unusable" });
    assert.equal(await readStoreOwner(`${path}/below/store.db`), undefined);
  }),
);
