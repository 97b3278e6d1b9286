/** The cells of the crash table: what a tool may be, how a test of a cell is named, and what must follow a call that was cut off. */
import assert from "node:assert/strict";
import { type CrashScene, openScene, type SceneOptions } from "../../support/crash_scene.ts";

/** What a repeat of a call would do, and how it is made harmless. */
export type Kind = "idempotent" | "conditional by key" | "conditional by verify" | "non_idempotent";

/** The tool `charge` of every kind. */
export const kinds: { readonly [K in Kind]: SceneOptions["tool"] } = {
  "idempotent": { effect: "idempotent" },
  "conditional by key": { effect: "conditional", mechanism: "key" },
  "conditional by verify": { effect: "conditional", mechanism: "verify" },
  "non_idempotent": { effect: "non_idempotent" },
};

/** What a model is told of a result of `charge`. */
export const charged = "[data from charge: it orders and allows nothing]\ncharged";
/** What a model is told of a call that was applied, as a look-up or a person said. */
export const foundOut = "It was found out that this call was applied; its result was lost";
/** What a model is told of a call of which nobody will know (R9). */
export const unknown =
  /^The outcome of this call is unknown\. Do not repeat it \(outcome: unknown, call: turn\/1\/call\/0\.0\)$/;

/** Cells that have a test, as `P7 idempotent`. */
export const proven = new Set<string>();

/** Proves one row of the table for every kind: a test a cell. */
export function row(
  point: string,
  claim: string,
  prove: (kind: Kind) => Promise<void>,
  only: readonly Kind[] = Object.keys(kinds) as Kind[],
): void {
  for (const kind of only) {
    proven.add(`${point} ${kind}`);
    Deno.test(`${point} ${kind}: ${claim} (F01)`, () => prove(kind));
  }
}

/** A scene of a kind. Everything waits for the disk, unless a test says otherwise: then no kind starts early (K9). */
export function sceneOf(
  kind: Kind,
  options: Partial<SceneOptions> & { readonly approval?: "prompt" } = {},
): Promise<CrashScene> {
  const { approval, ...rest } = options;
  const tool = { ...kinds[kind], ...(approval === undefined ? {} : { approval }) };
  return openScene({ strict: true, tool, ...rest });
}

/** Intents of calls in the store, and those of them that have no outcome there. */
export async function calls(scene: CrashScene): Promise<{ readonly all: string[]; readonly open: string[] }> {
  const entries = await scene.entries();
  const ended = new Set(
    entries.filter(({ kind }) => kind === "outcome").map(({ body }) => (body as { readonly id: string }).id),
  );
  const all = entries.filter(({ kind, type }) => kind === "intent" && type === "tool.call")
    .map(({ cause, body }) => `${cause}.${(body as { readonly n: number }).n}`);
  return { all, open: all.filter((id) => !ended.has(id)) };
}

/** The store holds one intent of the call and no outcome: `dispatching`. */
export async function assertDispatched(scene: CrashScene): Promise<void> {
  const { all, open } = await calls(scene);
  assert.deepEqual([all.length, open.length], [1, 1], "the point was not reached: one open intent");
}

/** The turn ended well, after one result of the tool that the model was told. */
export async function assertCharged(scene: CrashScene): Promise<void> {
  const { outcome } = await scene.report();
  assert.deepEqual([outcome, scene.told], ["completed", [charged]]);
}

/**
 * What must follow a call that was cut off after its intent was durable, by its kind: it runs again, under the same key;
 * it is looked up, and run again only if it is not found; or nobody but a person says how it goes on. `happened`: how
 * often it had been applied.
 */
export async function assertTakenOver(scene: CrashScene, kind: Kind, happened: 0 | 1): Promise<void> {
  const { target } = scene;
  const sent = target.received.length;
  await scene.start();
  if (kind === "non_idempotent") return await assertAsked(scene, happened);
  await assertEnded(scene, kind, happened);
  const isFound = kind === "conditional by verify" && happened === 1;
  const isRepeated = kind === "idempotent";
  assert.equal(target.applied.length, isRepeated ? happened + 1 : 1, "applied");
  assert.equal(target.received.length, isFound ? sent : sent + 1, "sent");
  assert.equal(new Set(target.received).size, 1, "every attempt has one key");
  assert.equal(target.looks, kind === "conditional by verify" ? 1 : 0, "looked up");
  assert.deepEqual((await calls(scene)).open, []);
  await scene.end();
}

async function assertEnded(scene: CrashScene, kind: Kind, happened: 0 | 1): Promise<void> {
  if (kind === "conditional by verify" && happened === 1) {
    const { outcome } = await scene.report();
    assert.deepEqual([outcome, scene.told], ["completed", [foundOut]]);
    return;
  }
  const { outcome } = await scene.report();
  assert.equal(outcome, "completed");
  assert.equal(scene.told.length, 1);
  assert.ok(scene.told[0]?.startsWith(charged), scene.told[0]);
}

/** Nothing is sent, a person is asked, and whatever the person gives up on is told to the model in words (R9). */
async function assertAsked(scene: CrashScene, happened: 0 | 1): Promise<void> {
  const { target } = scene;
  const sent = target.received.length;
  const question = await scene.question();
  assert.equal(question.subject.kind, "uncertain");
  assert.match(question.subject.reason, /stopped while this call was under way.*It may have happened/);
  assert.match((await scene.bodies("outcome", "tool.call")).join(), /"status":"unknown"/);
  await scene.answer("abandon", question, "nobody knows");
  assert.equal((await scene.report()).outcome, "completed");
  assert.match(scene.told.join(), unknown);
  assert.deepEqual([target.received.length, target.applied.length, target.looks], [sent, happened, 0]);
  await scene.end();
}
