/** A root that is run twice at once, interpreted and from tables: whatever differs fails. */
import assert from "node:assert/strict";
import type { AnyStateMachine } from "xstate";
import { compileMachine } from "../../actors/compiled.ts";
import { wireMachines } from "../../actors/wiring.ts";
import type { PortRequest } from "../../schemas/effect.ts";
import type { IntentId, RootAddress, RootKind } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { throughJson } from "../../src/canonical.ts";
import { compose } from "../../src/kernel/compose.ts";
import { CrankDesk } from "../../src/kernel/desk.ts";
import { type Beginning, LiveRoot } from "../../src/kernel/live_root.ts";

/** A root twice: interpreted and compiled. */
export class Twins {
  readonly roots: readonly LiveRoot[];
  seq = 0;

  constructor(readonly address: RootAddress, readonly kind: RootKind) {
    this.roots = [(machine: AnyStateMachine) => machine, compileMachine].map((run) => {
      const desk = new CrankDesk();
      return new LiveRoot(address, kind, run(wireMachines(desk)[kind]), desk);
    });
  }

  /** Gives both the same, and compares all that can be seen. */
  deliver(kind: Beginning["kind"], body: unknown): void {
    const beginning: Beginning = {
      kind,
      seq: ++this.seq,
      at: 1_000 + this.seq,
      epoch: 1,
      body: throughJson(body) as Json,
    };
    const records = this.roots.map((root) => root.deliver(beginning));
    const seen = records.map((record, index) => ({
      drafts: throughJson(compose(record)),
      isFault: record.fault !== undefined,
      persisted: record.fault === undefined ? JSON.stringify(this.roots[index]?.persisted()) : "",
      ports: [...this.roots[index]?.ports.keys() ?? []],
      shape: this.roots[index]?.shape(),
      rests: record.fault === undefined && this.roots[index]?.rests,
    }));
    assert.deepEqual(seen[1], seen[0]);
    this.seq += compose(records[0] as never).length;
  }

  /** Both through JSON and back. */
  restore(): void {
    for (const root of this.roots) {
      const before = JSON.stringify(root.persisted());
      assert.equal(root.restore(JSON.parse(before)).fault, undefined);
      assert.equal(JSON.stringify(root.persisted()), before);
    }
  }

  get context(): { readonly [field: string]: Json } {
    return (this.roots[0]?.persisted() as { readonly context: { readonly [field: string]: Json } }).context;
  }

  get pending(): readonly (readonly [IntentId, PortRequest])[] {
    return [...this.roots[0]?.ports ?? []].map(([id, { request }]) => [id, request]);
  }
}
