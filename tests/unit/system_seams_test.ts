/** The seams of production: ids sort, waits end, hashes are right, and nothing keeps the process alive. */
import assert from "node:assert/strict";
import { createSystemSeams } from "../../src/system_seams.ts";

const seams = createSystemSeams({ log: () => {} });

Deno.test("ids are a prefix and a ULID, and sort by creation within one millisecond", () => {
  const ids = Array.from({ length: 5_000 }, () => seams.nextId("ses"));
  assert.deepEqual(ids.toSorted(), ids);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^ses_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
});

Deno.test("ids of two processes differ", () => {
  const other = createSystemSeams({ log: () => {} });
  const ours = Array.from({ length: 100 }, () => seams.nextId("x"));
  const theirs = new Set(Array.from({ length: 100 }, () => other.nextId("x")));
  assert.ok(ours.every((id) => !theirs.has(id)));
});

Deno.test("clock sleeps until the time, not at all for a past one, and wakes when aborted", async () => {
  const { clock } = seams;
  const due = clock.now() + 2;
  await clock.sleepUntil(due);
  assert.ok(clock.now() >= due);
  await clock.sleepUntil(0);
  const stop = new AbortController();
  const century = clock.sleepUntil(clock.now() + 100 * 365 * 86_400_000, stop.signal);
  stop.abort();
  await century;
  await clock.sleepUntil(clock.now() + 1_000_000, stop.signal);
});

Deno.test("clock runs deferred tasks in order, after all microtasks", async () => {
  const seen: string[] = [];
  await new Promise<void>((resolve) => {
    seams.clock.defer(() => {
      seen.push("first");
      seams.clock.defer(() => {
        seen.push("nested");
        resolve();
      });
    });
    seams.clock.defer(() => void seen.push("second"));
    let turns = 0;
    const turn = () => {
      turns += 1;
      if (turns < 100) queueMicrotask(turn);
      else seen.push("microtasks");
    };
    turn();
  });
  assert.deepEqual(seen, ["microtasks", "first", "second", "nested"]);
});

Deno.test("digest is SHA-256 with its name in front", async () => {
  assert.equal(
    await seams.digest(new TextEncoder().encode("abc")),
    "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
  // Short and long bytes go different ways, to the same digest.
  for (const length of [0, 1, 65_535, 65_536, 65_537, 200_000]) {
    const bytes = new Uint8Array(length).fill(length % 251);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    assert.equal(await seams.digest(bytes), `sha256:${hash.toHex()}`);
  }
  const whole = new Uint8Array([9, 97, 98, 99]);
  assert.equal(await seams.digest(whole.subarray(1)), await seams.digest(new TextEncoder().encode("abc")));
});

Deno.test("random numbers lie in [0, 1)", () => {
  for (let n = 0; n < 1_000; n++) {
    const number = seams.random();
    assert.ok(number >= 0 && number < 1);
  }
});
