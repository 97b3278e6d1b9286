/**
 * A runtime on a disk that becomes full and empty again, in the namespace that the test made for it: prints what became
 * of everything, one JSON line. Arguments: the folder on the small disk, and a folder elsewhere.
 */
import { connectDoor } from "../../src/door/client.ts";
import { readStoreOwner } from "../../src/journal/store_lock.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { openOwnerSession } from "../support/owner_session.ts";

const [disk = "", folder = ""] = Deno.args;
const location = `${disk}/store.db`;
const logs: string[] = [];
const seams = createSystemSeams({ log: ({ event }) => void logs.push(event) });
const { host, session } = await openOwnerSession({ location: location, folder, seams });

/** Makes a file by a command, and tells how that ended. */
async function touch(name: string): Promise<string> {
  const request = { call: { tool: "terminal", arguments: { argv: ["touch", name] } } };
  const order = { session, request, key: `key-${name}`, fromSeq: 1, answers: true } as const;
  try {
    const report = await host.prompt(order, (event) => {
      if (event.type !== "question") return;
      const { id, shown } = event.question;
      void host.answer(id, { decision: "allow", by: { kind: "operator", id: "local" }, shown }).catch(
        () => {},
      );
    });
    return report.call?.failure?.code ?? report.call?.outcome ?? report.outcome;
  } catch (error) {
    return (error as { readonly code?: string }).code ?? String(error);
  }
}

function fill(): void {
  using file = Deno.openSync(`${disk}/ballast`, { write: true, create: true });
  try {
    for (const size of [65_536, 512, 1]) {
      for (;;) {
        try {
          if (file.writeSync(new Uint8Array(size)) === 0) break;
        } catch {
          break;
        }
      }
    }
  } finally {
    file.syncSync();
  }
}

async function waitFor(isThere: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const giveUpAt = seams.clock.now() + 40_000; seams.clock.now() < giveUpAt;) {
    if (await isThere()) return true;
    await seams.clock.sleepUntil(seams.clock.now() + 100);
  }
  return false;
}

async function files(): Promise<readonly string[]> {
  return (await Array.fromAsync(Deno.readDir(`${folder}/ws`))).map(({ name }) => name).sort();
}

async function entries(): Promise<number> {
  let count = 0;
  for await (const page of host.readPages(session, 1)) count += page.length;
  return count;
}

/** What the door says while the disk is full. */
async function knock(): Promise<unknown> {
  const owner = await readStoreOwner(location);
  if (owner?.door === undefined) return "no door";
  const client = await connectDoor(owner.door);
  try {
    return (await client.call("ping", {})).pid === Deno.pid;
  } finally {
    await client.close();
  }
}

async function troupe(...args: readonly string[]): Promise<{ readonly code: number; readonly told: string }> {
  const main = new URL("../../main.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", main, ...args, "--store", location],
    cwd: folder,
    stdin: "null",
  }).output();
  return { code, told: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

const before = await touch("one");
const acknowledged = await entries();
fill();
const waiting = touch("two");
const isTold = await waitFor(() => logs.includes("writer.failing"));
const refused = [await waiting, await touch("three")];
const full = { isTold, refused, door: await knock(), entries: await entries(), files: await files() };
Deno.removeSync(`${disk}/ballast`);
const after = [await touch("two"), await touch("three")];
await host.close();
const kept = { files: await files() };
fill();
const run = await troupe("run", "agent", "hi", "--workspace", "ws");
const doctor = await troupe("doctor", "--json");
const sessions = await troupe("sessions");
Deno.removeSync(`${disk}/ballast`);
const healed = await troupe("replay", "last");
console.log(JSON.stringify({ before, acknowledged, full, after, kept, run, doctor, sessions, healed }));
