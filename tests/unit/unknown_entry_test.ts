/** Entries that this release does not know: their root is left alone, what is not known is named, and others go on. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import { keys } from "../../src/journal/keys.ts";
import { encodePackedValue, readPackedHeader } from "../../src/journal/packed_value.ts";
import { digestOf } from "../support/fixtures.ts";
import type { MemoryDisk } from "../support/memory_store.ts";
import { openStage, settled, type Stage } from "../support/stage.ts";

const answers = [{ text: "One" }, { text: "Two" }];

/** Appends an entry to a stream, chained as it must be: what a later release may have written. */
async function append(
  disk: MemoryDisk,
  root: RootAddress,
  entry: { kind: string; type: string },
): Promise<number> {
  const rows = disk.rows().filter(({ key }) => key[0] === "log" && key[1] === root);
  const { key, value } = rows.at(-1)!;
  const header = readPackedHeader(value, { root, first: Number(key[2]) });
  const bytes = value as Uint8Array;
  const body = bytes.subarray(bytes.indexOf(10) + 1);
  const seq = header.last + 1;
  const line = { v: 1, seq, at: 1, ...entry, cause: seq, epoch: 1, body: { message: { type: entry.type } } };
  const lines = [body, new TextEncoder().encode(`${JSON.stringify(line)}\n`)];
  const made = await encodePackedValue({ ...header, last: seq }, lines, digestOf);
  disk.damage(keys.log(root, header.first), () => made.bytes);
  disk.damage(keys.head(root), () => ({ seq, hash: made.hash }));
  return seq;
}

async function prompt(stage: Stage, session: RootAddress): Promise<string> {
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go on"));
  return (await settled(stage.world, report)).text;
}

Deno.test("root with an entry of an unknown kind, or a message of an unknown type, is left alone, and others go on (F40, B128)", async () => {
  const cases = [
    [{ kind: "dream", type: "session.dreamt" }, /unknown kind "dream" \(entry version 1\)/],
    [{ kind: "input", type: "session.dream" }, /type "session\.dream" \(entry version 1\)/],
  ] as const;
  for (const [entry, expected] of cases) {
    // Written by this code, and by another release's.
    for (const code of [undefined, `sha256:${"7".repeat(64)}`]) {
      const first = await openStage({ answers, ...(code === undefined ? {} : { code }) });
      const [strange, other] = [await first.session(), await first.session()];
      await prompt(first, strange);
      await prompt(first, other);
      await settled(first.world, first.runtime.journal.writer.idle());
      first.crash();
      const seq = await append(first.disk, strange, entry);
      const rows = () =>
        JSON.stringify(first.disk.rows().filter(({ key }) => key[1] === strange && key[0] === "log"));
      const before = rows();
      const stage = await openStage({ world: first.world, disk: first.disk, answers });
      await stage.runtime.prompt(strange, "Wake up").catch(() => {});
      await stage.world.settle();
      await assert.rejects(stage.runtime.prompt(strange, "Are you there?"), (error: Error) => {
        assert.match(error.message, expected);
        assert.match(error.message, new RegExp(`\\b${seq}\\b`));
        return true;
      });
      assert.equal(await prompt(stage, other), "Two");
      assert.equal(rows(), before);
    }
  }
});
