/** The child that fills a store and dies, or starts on what is left of one: a process each, as it is after a crash. */
import process from "node:process";
import type { RootAddress } from "../../schemas/ids.ts";
import type { ModelEvent } from "../../schemas/model.ts";
import { keys } from "../../src/journal/keys.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import type { FillRequest, RecoverAnswer, RecoverRequest } from "./protocol.ts";
import { serve } from "./serve.ts";
import { mockModel, openSubject, type Subject } from "./subject.ts";
import { caseIn, promptOf, type TurnCase } from "./turn_case.ts";

const tenTogether: TurnCase = { calls: 10, shape: "together", effect: "idempotent" };
/** Sessions that are filled at once. */
const atOnce = 20;

const stuckModel: ModelProvider = {
  ...mockModel,
  generate: (...args) => {
    const prompt = args[0].messages.findLast(({ role }) => role === "user")?.text ?? "";
    return caseIn(prompt).isEndless === true ? never() : mockModel.generate(...args);
  },
};

async function* never(): AsyncIterable<ModelEvent> {
  yield await new Promise<never>(() => {});
}

/** Fills a store. The process must be killed then: what is open stays open. */
async function fill({ location, sessions, entries, isOpen }: FillRequest): Promise<RootAddress> {
  const subject = await openSubject({ location, model: stuckModel, awakeMax: 2 * sessions + 10 });
  // One of many stays at rest: whoever asks it does not wait for a turn that is under way.
  const asked = await fillSession(subject, entries, isOpen && sessions === 1);
  let left = sessions - 1;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (left-- > 0) await fillSession(subject, entries, isOpen);
  }));
  await subject.runtime.rest();
  return asked;
}

async function fillSession(subject: Subject, entries: number, isOpen: boolean): Promise<RootAddress> {
  const session = await subject.session();
  const root = subject.runtime.kernel.roots.get(session);
  while ((root?.seq ?? entries) < entries) await subject.turn(session, tenTogether);
  if (!isOpen) return session;
  const { accepted } = await subject.runtime.prompt(session, promptOf({ ...tenTogether, isEndless: true }));
  await accepted();
  return session;
}

async function recoverStore({ location, session, isBare }: RecoverRequest): Promise<RecoverAnswer> {
  if (isBare) await dropSnapshot(location, session);
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  const subject = await openSubject({ location });
  const readyMs = performance.now() - startMs;
  await subject.turn(session, tenTogether);
  const answeredMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  const { recovery, kernel, journal } = subject.runtime;
  const head = await journal.readHead(session);
  const cpuMs = (user + system) / 1_000;
  return { readyMs, answeredMs, cpuMs, open: recovery.open, roots: kernel.records.size, entries: head.seq };
}

/** Without its snapshot a session must be replayed from its first entry. */
async function dropSnapshot(location: string, session: RootAddress): Promise<void> {
  const store = await openKvStore(location);
  await store.commit({ checks: [], sets: [], deletes: [keys.snapshot(session)] });
  store.close();
}

await serve({ fill, recover: recoverStore });
