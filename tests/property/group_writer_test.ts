/** The writer under random units, faults and crashes: nothing acknowledged is lost, nothing is doubled, chains hold. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { examine } from "../../src/journal/doctor.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { keys } from "../../src/journal/keys.ts";
import { type Fault, MemoryDisk } from "../support/memory_store.ts";
import {
  digest,
  entriesOn,
  entryAt,
  openWorldJournal,
  rootNamed,
  snapshotAt,
  unitOf,
} from "../support/units.ts";
import { createWorld, digestNow } from "../support/world.ts";

const rootCount = 3;

/** One thing that happens. Body sizes make lines, blobs, and blobs that need a commit of their own. */
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("push" as const),
      root: fc.integer({ min: 1, max: rootCount }),
      bodies: fc.array(fc.constantFrom(0, 3, 100, 5_000, 70_000), { minLength: 1, maxLength: 4 }),
      snapshot: fc.constantFrom(undefined, 10, 60_000, 900_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("blob" as const), bytes: fc.constantFrom(1, 61_000, 700_000) }),
  },
  { weight: 2, arbitrary: fc.constant({ do: "urge" as const }) },
  { weight: 3, arbitrary: fc.constant({ do: "settle" as const }) },
  { weight: 2, arbitrary: fc.constant({ do: "advance" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "release" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "crash" as const }) },
);

const fault = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<Fault>("throw_before", "throw_after", "refuse", "hang", "hang_after"),
  },
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** The writer's caller: pushes, remembers what was acknowledged, crashes and starts again. */
class Caller {
  readonly disk = new MemoryDisk();
  readonly world = createWorld();
  /** Texts of pushed entries by root and seq: overwritten if a crash let a sequence be used again. */
  readonly pushed = new Map<string, string>();
  readonly acknowledged = new Set<string>();
  readonly blobs = new Set<string>();
  #life = 0;
  #told = 0;
  #next = new Map<string, number>();
  #faults: readonly (Fault | undefined)[] = [];
  #open: Awaited<ReturnType<typeof openWorldJournal>> | undefined;

  async start(faults: readonly (Fault | undefined)[]): Promise<void> {
    this.#faults = faults;
    this.#life += 1;
    this.#told = 0;
    this.#open = await openWorldJournal({
      disk: this.disk,
      world: this.world,
      // The first commit takes the epoch; each life has the faults once.
      faults: (n) => n === 1 ? undefined : this.#faults[n - 2],
    });
    for (let n = 1; n <= rootCount; n++) {
      const { seq } = await this.journal.readHead(rootNamed(n));
      this.#next.set(rootNamed(n), seq + 1);
    }
  }

  get journal(): Journal {
    assert.ok(this.#open);
    return this.#open.journal;
  }

  async run(step: Step): Promise<void> {
    if (step.do === "push") return this.#push(step.root, step.bodies, step.snapshot);
    if (step.do === "blob") return this.#putBlob(step.bytes);
    if (step.do === "urge") return this.journal.writer.urge();
    if (step.do === "settle") return await this.world.settle();
    if (step.do === "advance") return await this.world.advance(5_000);
    if (step.do === "release") return this.#open?.store.release(true);
    this.#open?.store.die();
    this.journal.writer.abandon();
    this.world.crash();
    await this.start([]);
  }

  /** Faults off: whatever hangs is answered, and everything becomes durable. */
  async finish(): Promise<void> {
    this.#faults = [];
    const { writer } = this.journal;
    let isIdle = false;
    const idle = writer.idle().then(() => isIdle = true);
    for (let rounds = 0; !isIdle && rounds < 200; rounds++) {
      this.#open?.store.release(rounds % 2 === 0);
      await this.world.advance(5_000);
    }
    assert.ok(isIdle, "everything becomes durable");
    await idle;
    assert.deepEqual([writer.state, writer.unwritten], ["ok", 0]);
  }

  #ticket(): () => void {
    const ticket = ++this.#tickets;
    const life = this.#life;
    return () => {
      assert.equal(life, this.#life, "a dead writer tells nobody");
      assert.ok(ticket > this.#told, "told in the order of the pushes");
      this.#told = ticket;
    };
  }
  #tickets = 0;

  #push(n: number, bodies: readonly number[], snapshot: number | undefined): void {
    const root = rootNamed(n);
    const first = this.#next.get(root) ?? 1;
    const entries = bodies.map((size, i) => {
      const body = { life: this.#life, text: `é${"b".repeat(size)}` };
      return entryAt(first + i, size === 0 ? { body: undefined } : { body });
    });
    const last = first + entries.length - 1;
    this.#next.set(root, last + 1);
    for (const entry of entries) {
      this.pushed.set(`${root}#${entry.seq}`, JSON.stringify(entry));
      this.acknowledged.delete(`${root}#${entry.seq}`);
    }
    const told = this.#ticket();
    const side = { key: keys.due(last, root, `${first}.0`), value: first };
    const draft = snapshot === undefined ? undefined : snapshotAt(last, snapshot);
    this.journal.writer.push(unitOf(entries, { root, sets: [side], snapshot: draft }), () => {
      told();
      for (const { seq } of entries) this.acknowledged.add(`${root}#${seq}`);
    });
  }

  #putBlob(size: number): void {
    const bytes = new Uint8Array(size).fill(this.#tickets % 256);
    const told = this.#ticket();
    const name = digestNow(bytes);
    this.journal.writer.putBlob({ digest: name, bytes }, () => {
      told();
      this.blobs.add(name);
    });
  }
}

async function check(caller: Caller): Promise<void> {
  const { findings } = await examine(caller.disk.open(), digest);
  // These streams belong to no machine, so no row follows from them.
  assert.deepEqual(findings.filter(({ code }) => /^(value|blob|head)_/.test(code)), []);
  const found = new Set<string>();
  for (let n = 1; n <= rootCount; n++) {
    for (const entry of await entriesOn(caller.disk, rootNamed(n))) {
      const place = `${rootNamed(n)}#${entry.seq}`;
      found.add(place);
      assert.deepEqual(entry, JSON.parse(caller.pushed.get(place) ?? "null"));
    }
  }
  for (const place of caller.acknowledged) {
    assert.ok(found.has(place), `${place} was acknowledged and is lost`);
  }
  const { journal } = await openWorldJournal({ disk: caller.disk.copy() });
  for (const name of caller.blobs) await journal.readBlob(name);
  // Side rows stand and fall with their unit (K1).
  for await (const { dueAtMs, root } of journal.listDue()) assert.ok(found.has(`${root}#${dueAtMs}`));
}

Deno.test("writer loses nothing acknowledged and keeps every chain, under any faults and crashes (K15, K16)", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.array(fault, { maxLength: 12 }),
      async (steps, faults) => {
        const caller = new Caller();
        await caller.start(faults);
        for (const step of steps) await caller.run(step);
        await caller.world.settle();
        await check(caller);
        await caller.finish();
        await check(caller);
      },
    ),
    { numRuns: 80 },
  );
});
