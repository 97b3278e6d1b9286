import assert from "node:assert/strict";
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { pathOf, sessionsAbove } from "../../src/ancestors.ts";
import { Answerers } from "../../src/host/answerers.ts";
import { EventQueue } from "../../src/host/event_queue.ts";
import type { HostEvent } from "../../src/host/host.ts";
import { watchRoot } from "../../src/host/watch_root.ts";
import type { GivenAnswer, OpenQuestion } from "../../src/effects/question_ask.ts";
import type { KernelEvent } from "../../src/kernel/kernel.ts";
import { fakeEntry, fakeQuestion, fakeRoot } from "../support/fake_host.ts";

async function collect<T>(events: AsyncGenerator<T, string>): Promise<readonly [T[], string]> {
  const all: T[] = [];
  for (let event = await events.next();; event = await events.next()) {
    if (event.done) return [all, event.value];
    all.push(event.value);
  }
}

Deno.test("event queue gives everything in order, also what was pushed before it was closed", async () => {
  const queue = new EventQueue<number>(10);
  queue.push(1);
  const taken = collect(queue.take());
  await Promise.resolve();
  for (const n of [2, 3]) queue.push(n);
  queue.close();
  queue.push(4);
  assert.deepEqual(await taken, [[1, 2, 3], "closed"]);
});

Deno.test("event queue tells of a gap where it is, and takes events again behind it", async () => {
  const queue = new EventQueue<number>(3);
  for (const n of [1, 2, 3, 4, 5]) queue.push(n);
  assert.deepEqual(await collect(queue.take()), [[1, 2, 3], "lost"]);
  queue.push(6);
  queue.close();
  assert.deepEqual(await collect(queue.take()), [[6], "closed"]);
});

/** A child of the fake root, and a child of that. */
const family = new Map(
  [["session/ses_child", fakeRoot], ["session/ses_grandchild", "session/ses_child"]].map((
    [address = "", above = ""],
  ) =>
    [
      address,
      { parent: `task/tsk_1@${above.slice("session/".length)}`, title: address.slice(12) } as RootRecord,
    ] as const
  ),
);

/** A root whose journal and listeners a test holds in its hands. */
function createRoot() {
  const entries: Entry[] = [];
  const listeners = new Set<(event: KernelEvent) => void>();
  const questionListeners = new Set<(question: OpenQuestion) => void>();
  const closedListeners = new Set<(question: OpenQuestion) => void>();
  let whenRead: (() => void) | undefined;
  return {
    runtime: {
      watch: (listener: (event: KernelEvent) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      journal: {
        async *readPages(_root: string, fromSeq = 1) {
          const page = entries.filter((entry) => entry.seq >= fromSeq);
          whenRead?.();
          if (page.length > 0) yield page;
        },
      },
      questions: {
        listen: (listener: (question: OpenQuestion) => void) => {
          questionListeners.add(listener);
          return () => questionListeners.delete(listener);
        },
        listenClosed: (listener: (question: OpenQuestion) => void) => {
          closedListeners.add(listener);
          return () => closedListeners.delete(listener);
        },
      },
      kernel: { records: family },
    } as unknown as Parameters<typeof watchRoot>[0],
    write: (count: number) => {
      const first = entries.length + 1;
      const fresh = Array.from({ length: count }, (_, index) => fakeEntry(first + index));
      entries.push(...fresh);
      for (const listener of listeners) listener({ type: "entries", root: fakeRoot, entries: fresh });
    },
    tell: (event: KernelEvent) => listeners.forEach((listener) => listener(event)),
    ask: (question: OpenQuestion) => questionListeners.forEach((listener) => listener(question)),
    close: (question: OpenQuestion) => closedListeners.forEach((listener) => listener(question)),
    onRead: (act: () => void) => whenRead = act,
    listeners: () => listeners.size + questionListeners.size + closedListeners.size,
  };
}

async function seqsOf(events: AsyncIterable<HostEvent>, other: HostEvent[] = []): Promise<number[]> {
  const seqs: number[] = [];
  for await (const event of events) {
    if (event.type === "entries") seqs.push(...event.entries.map((entry) => entry.seq));
    else other.push(event);
  }
  return seqs;
}

Deno.test("watched root gives every entry once, whatever was written while it was read", async () => {
  const root = createRoot();
  const stop = new AbortController();
  root.write(3);
  // Durable between the read and the yield: seen by the watcher and in the journal.
  root.onRead(() => {
    root.onRead(() => {});
    root.write(2);
  });
  const seqs = seqsOf(
    watchRoot(root.runtime, fakeRoot, { fromSeq: 2, questions: true, signal: stop.signal }),
  );
  await new Promise((resolve) => setTimeout(resolve));
  root.write(1);
  root.tell({ type: "entries", root: "session/ses_other", entries: [fakeEntry(99)] });
  stop.abort();
  assert.deepEqual(await seqs, [2, 3, 4, 5, 6]);
  assert.equal(root.listeners(), 0);
});

Deno.test("watched root loses no entry if its listener is too slow", async () => {
  const root = createRoot();
  const stop = new AbortController();
  const count = limits.watchEventsBufferedMax * 3;
  const seqs: number[] = [];
  root.write(1);
  const watched = watchRoot(root.runtime, fakeRoot, { fromSeq: 1, questions: false, signal: stop.signal });
  for await (const event of watched) {
    const isFirst = seqs.length === 0;
    if (event.type === "entries") seqs.push(...event.entries.map((entry) => entry.seq));
    // While the listener is busy with the first entry, far more comes than may wait.
    for (let n = 1; isFirst && n < count; n++) root.write(1);
    if (seqs.length >= count) stop.abort();
  }
  assert.deepEqual(seqs, Array.from({ length: count }, (_, index) => index + 1));
});

Deno.test("watched root tells of its questions after the entries that stand before them, and of no others", async () => {
  const root = createRoot();
  const stop = new AbortController();
  root.write(1);
  const order: string[] = [];
  const heard = (async () => {
    for await (
      const event of watchRoot(root.runtime, fakeRoot, { fromSeq: 1, questions: true, signal: stop.signal })
    ) {
      order.push(event.type);
    }
  })();
  root.ask(fakeQuestion(0));
  root.ask({ ...fakeQuestion(1), root: "session/ses_other" });
  root.close({ ...fakeQuestion(1), root: "session/ses_other" });
  await new Promise((resolve) => setTimeout(resolve));
  stop.abort();
  await heard;
  assert.deepEqual(order, ["entries", "question"]);
});

Deno.test("watched root tells of the questions of child agents below it, and of their ends (ask 15)", async () => {
  const root = createRoot();
  const stop = new AbortController();
  const events: string[] = [];
  const heard = (async () => {
    for await (
      const event of watchRoot(root.runtime, fakeRoot, { fromSeq: 1, questions: true, signal: stop.signal })
    ) {
      events.push(event.type === "question" ? event.question.root : event.type);
    }
  })();
  await new Promise((resolve) => setTimeout(resolve));
  const asked = { ...fakeQuestion(0), root: "session/ses_grandchild" };
  root.ask(asked);
  root.ask({ ...fakeQuestion(1), root: "connection/docs@ses_child" });
  root.close(asked);
  stop.abort();
  await heard;
  assert.deepEqual(events, ["session/ses_grandchild", "connection/docs@ses_child", "question_closed"]);
});

Deno.test("paths of child agents are the titles from the topmost session down (ask 15)", () => {
  const records = new Map(family).set(fakeRoot, { title: "main" } as RootRecord);
  assert.deepEqual(pathOf(records, "session/ses_grandchild"), ["main", "child", "grandchild"]);
  assert.deepEqual(pathOf(records, "connection/docs@ses_child"), ["main", "child"]);
  assert.equal(pathOf(records, fakeRoot), undefined);
  const circle = new Map([["session/ses_a", { parent: "task/tsk_1@ses_a", title: "a" } as RootRecord]]);
  assert.deepEqual(sessionsAbove(circle, "session/ses_a"), ["session/ses_a"]);
});

/** A desk that keeps the answers. */
function createDesk() {
  const answers: (GivenAnswer & { readonly id: string })[] = [];
  let tell: ((question: OpenQuestion) => void) | undefined;
  const desk = {
    listen: (listener: (question: OpenQuestion) => void) => {
      tell = listener;
      return () => tell = undefined;
    },
    deny: (id: string, by: GivenAnswer["by"]) => void answers.push({ id, decision: "deny", by }),
  } as unknown as Parameters<Answerers["denyUnheard"]>[0];
  return { desk, answers, ask: (question: OpenQuestion) => tell?.(question) };
}

Deno.test("answerers deny a question of a session whose prompts came from those who answer nothing", () => {
  const { desk, answers, ask } = createDesk();
  const answerers = new Answerers();
  answerers.denyUnheard(desk, (root) => sessionsAbove(family, root));
  const leave = answerers.add(fakeRoot, false);
  assert.equal(answerers.areThere, false);
  ask(fakeQuestion(0));
  assert.deepEqual(answers.map(({ decision, by }) => [decision, by.kind]), [["deny", "program"]]);
  const leaveToo = answerers.add(fakeRoot, true);
  assert.equal(answerers.areThere, true);
  ask(fakeQuestion(1));
  assert.equal(answers.length, 1);
  leaveToo();
  ask(fakeQuestion(2));
  assert.equal(answers.length, 2);
  leave();
  // Nobody is there any more who said no: it waits for troupe answer.
  ask(fakeQuestion(3));
  assert.equal(answers.length, 2);
});

Deno.test("answerers never answer a question about a call that may have happened", () => {
  const { desk, answers, ask } = createDesk();
  const answerers = new Answerers();
  answerers.denyUnheard(desk, (root) => sessionsAbove(family, root));
  answerers.add(fakeRoot, false);
  const question = fakeQuestion(0);
  ask({ ...question, subject: { ...question.subject, kind: "uncertain" } });
  assert.equal(answers.length, 0);
});

Deno.test("answerers of a session count for the child agents below it, and their silence too (ask 15)", () => {
  const { desk, answers, ask } = createDesk();
  const answerers = new Answerers();
  answerers.denyUnheard(desk, (root) => sessionsAbove(family, root));
  const ofGrandchild = { ...fakeQuestion(0), root: "session/ses_grandchild" };
  ask(ofGrandchild);
  assert.equal(answers.length, 0, "nobody is there: it waits for troupe answer, until its deadline");
  const silent = answerers.add(fakeRoot, false);
  ask(ofGrandchild);
  assert.deepEqual(answers.map(({ decision, by }) => [decision, by.kind]), [["deny", "program"]]);
  answerers.add(fakeRoot, true);
  silent();
  ask(ofGrandchild);
  assert.equal(answers.length, 1);
});
