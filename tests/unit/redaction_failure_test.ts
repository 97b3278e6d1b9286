/** When a redaction breaks, takes too long or is given too much: nothing is shown, it is said, and the session goes on. */
import assert from "node:assert/strict";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { createRedactor } from "../../src/redact/redactor.ts";
import { openStage, settled } from "../support/stage.ts";
import { createWorld } from "../support/world.ts";

const secret = "k3y-Of-The-D0cs-9f8e7d";
/** What the redactor of a test stumbles over. */
const snag = "a text that breaks it";

/** Known secrets that do something else where a text has the snag. */
function snaggedSecrets(then: () => void): KnownSecrets {
  const known = new KnownSecrets();
  known.add({ value: secret, name: "DOCS_KEY", source: "env:DOCS_KEY" });
  const scan = known.scan.bind(known);
  known.scan = (text, ...rest) => {
    if (text.includes(snag)) then();
    return scan(text, ...rest);
  };
  return known;
}

/** Plays a turn whose first result cannot be looked through, and whose second can. */
async function playWith(known: KnownSecrets, result: string, now?: () => number) {
  const world = createWorld(1);
  const redactor = createDoorRedactor(known, now === undefined ? {} : { now });
  const stage = await openStage({
    world,
    redactor,
    answers: [{ calls: [{ tool: "first" }, { tool: "second" }] }, { text: "finished" }],
    tools: [
      { name: "first", work: () => Promise.resolve(result) },
      { name: "second", work: () => Promise.resolve(`found ${secret}`) },
    ],
  });
  const session = await stage.session();
  const heard: unknown[] = [];
  stage.runtime.watch((event) => heard.push(event));
  const { report } = await settled(world, stage.runtime.prompt(session, "go"));
  const { outcome } = await settled(world, report);
  const entries = await stage.entries(session);
  const values = entries.filter(({ kind, type }) => kind === "outcome" && type === "tool.call")
    .map(({ body }) =>
      (body as { readonly value: { readonly model: string; readonly error?: unknown } }).value
    );
  const logged = world.logs.filter(({ event }) => event === "redaction_failed");
  return { outcome, values, logged, all: JSON.stringify([entries, heard, world.logs]), stage, session };
}

Deno.test("redactor that breaks, is too slow or is given 20 MB: the result is withheld, it is said, and the session goes on (F41, B116, DM-47)", async () => {
  let lateMs = 0;
  const filling = "0123456789 abcdef\n".repeat(1_165_085);
  assert(filling.length > 20 * 1_048_576);
  const known = new KnownSecrets();
  known.add({ value: secret, name: "DOCS_KEY", source: "env:DOCS_KEY" });
  const plays = {
    breaks: () =>
      playWith(
        snaggedSecrets(() => {
          throw new Error(`broken by ${secret}`);
        }),
        `${snag} and ${secret}`,
      ),
    slow: () => playWith(snaggedSecrets(() => void (lateMs += 5_000)), `${snag} and ${secret}`, () => lateMs),
    large: () => playWith(known, `${secret}\n${filling}`),
  };
  for (const [name, play] of Object.entries(plays)) {
    const { outcome, values, logged, all, stage, session } = await play();
    assert.equal(outcome, "completed", name);
    assert.match(values[0]?.model ?? "", /^redaction_failed: /, name);
    assert.equal((values[0]?.error as { readonly code: string }).code, "redaction_failed", name);
    assert.equal(values[1]?.model, "found [redacted]", name);
    assert.deepEqual(logged.map(({ detail }) => detail), [{ tool: "first" }], name);
    assert(!all.includes(secret) && !all.includes(snag) && all.length < 200_000, name);
    assert.equal((await stage.replay(session)).divergence, undefined, name);
  }
});

Deno.test("redaction has its time, and more for a long text (F41)", () => {
  let nowMs = 0;
  let stepMs = 0;
  const known = new KnownSecrets();
  known.scan = (text) => {
    nowMs += stepMs;
    return text.length;
  };
  const redactor = createRedactor({ known, now: () => nowMs, bounds: { stringCharactersMax: 10_000_000 } });
  const isWithheld = (text: string, ms: number) => {
    stepMs = ms;
    return redactor.text(text, "model").isWithheld;
  };
  assert.equal(isWithheld("short", 100), false);
  assert.equal(isWithheld("short", 3_000), true);
  assert.equal(redactor.text("short", "model").value, "[withheld: too_slow]");
  assert.equal(isWithheld("long ".repeat(1_000_000), 3_000), false);
});
