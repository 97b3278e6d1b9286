/**
 * Altered journals and altered code: each is found, and at the very entry. Those who altered a journal here knew the
 * format: numbers, causes and seals would all be right.
 */
import assert from "node:assert/strict";
import type { AnyStateMachine } from "xstate";
import { type Outbox, type WiredMachines, wireMachines } from "../../actors/wiring.ts";
import type { Desk } from "../../actors/port.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress, RootKind } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import type { BlobText } from "../../src/fixture/fixture_blobs.ts";
import { createBlobLoader } from "../../src/fixture/fixture_blobs.ts";
import { readFixture } from "../../src/fixture/read_fixture.ts";
import type { PortDesk } from "../../src/kernel/machines.ts";
import type { Divergence } from "../../src/kernel/feed.ts";
import { pagesOf, replayStream } from "../../src/stream_replay.ts";
import { digestOf } from "../support/fixtures.ts";
import { scenarios } from "./scenarios.ts";

interface Stream {
  readonly address: RootAddress;
  readonly kind: RootKind;
  readonly entries: readonly Entry[];
  readonly blobs: readonly BlobText[];
}

const streams: Stream[] = [];
for (const name of [...Object.keys(scenarios), "servers"]) {
  const { roots, blobs } = await readFixture(`${import.meta.dirname}/v1/${name}`, digestOf);
  for (const { root: { address, kind }, entries } of roots) streams.push({ address, kind, entries, blobs });
}

/** The first divergence of a stream, with other entries or other machines. */
async function divergenceOf(
  { address, blobs, entries }: Stream,
  { altered = entries, wire }: {
    readonly altered?: readonly Entry[];
    readonly wire?: (desk: PortDesk) => WiredMachines;
  },
): Promise<Divergence | undefined> {
  const report = await replayStream({
    address,
    pages: pagesOf(altered),
    digest: digestOf,
    loadShelved: createBlobLoader(blobs),
    anyCode: true,
    acceptsState: () => true,
    ...(wire === undefined ? {} : { wire }),
  });
  return report.divergence;
}

/** One altered journal, and where that must be seen: at one entry, or anywhere in what one message caused. */
interface Alteration {
  readonly stream: Stream;
  readonly altered: readonly Entry[];
  readonly at: number;
  readonly until?: number;
}

/** Entries as they are numbered by whoever knows the format: gapless, each with the cause that it had. */
function renumbered(entries: readonly Entry[]): readonly Entry[] {
  const seqs = new Map(entries.map(({ seq }, index) => [seq, index + 1]));
  return entries.map((entry) => ({
    ...entry,
    seq: seqs.get(entry.seq) ?? 0,
    cause: seqs.get(entry.cause) ?? 0,
  }));
}

/** What a message caused: these were asked, posted or noted by a machine, and no other entries were. */
function isCaused({ entries }: Stream, { seq, cause, type }: Entry): boolean {
  return seq !== cause && type !== "session.forked" && entries[cause - 1]?.kind !== "note";
}

function withBody({ entries }: Stream, seq: number, change: (body: Json) => Json): readonly Entry[] {
  return entries.map((entry) => entry.seq === seq ? { ...entry, body: change(entry.body ?? null) } : entry);
}

/** The body with one field changed, wherever it stands first. */
function changed(body: Json, field: RegExp, to: string): Json {
  return JSON.parse(JSON.stringify(body).replace(field, to));
}

const timer = /"(dueAtMs|deadlineAtMs)":(\d+)/;
const toolName = /("entry":\{[^}]*?"name":")([^"]+)"/;

const kinds: { readonly [what: string]: (stream: Stream, entry: Entry) => Alteration | undefined } = {
  "one outcome is another": (stream, { seq, kind, type, body }) => {
    if (kind !== "outcome" || (body as { status?: unknown }).status !== "ok") return undefined;
    // How long a timer really took, and when a server said something, is for the clock alone to say.
    if (type === "timer.set" || type === "mcp.watch" || type === "mcp.close") return undefined;
    const { id, attempt } = body as { id: string; attempt: number };
    const failure = { code: "tool_failed", message: "It failed", retryable: false };
    const altered = withBody(stream, seq, () => ({ id, attempt, status: "failed", failure }));
    const until = stream.entries.findLast(({ cause }) => cause === seq)?.seq ?? seq;
    // One of several calls at once: the machine says nothing of it before all have ended.
    if (until === seq) return undefined;
    return { stream, altered, at: seq, until: until + 1 };
  },
  "one event is not there": (stream, entry) => {
    if (!isCaused(stream, entry)) return undefined;
    return {
      stream,
      altered: renumbered(stream.entries.filter(({ seq }) => seq !== entry.seq)),
      at: entry.seq,
    };
  },
  "two events have changed places": (stream, entry) => {
    const next = stream.entries[entry.seq];
    if (next === undefined || next.cause !== entry.cause || !isCaused(stream, entry)) return undefined;
    const { kind, type, body } = entry;
    const altered = stream.entries.map((one) => {
      if (one.seq === entry.seq) return { ...one, kind: next.kind, type: next.type, body: next.body };
      return one.seq === next.seq ? { ...one, kind, type, body } : one;
    });
    return { stream, altered, at: entry.seq };
  },
  "one tool has another name": (stream, entry) => {
    const { seq, kind, type, body } = entry;
    if (kind === "note" && type === "invocation.judged" && isCaused(stream, entry)) {
      return {
        stream,
        altered: withBody(stream, seq, (old) => changed(old, /"tool":"/, '"tool":"other_')),
        at: seq,
      };
    }
    if (kind !== "intent" || !toolName.test(JSON.stringify(body))) return undefined;
    return { stream, altered: withBody(stream, seq, (old) => changed(old, toolName, '$1other"')), at: seq };
  },
  "one timer is set otherwise": (stream, { seq, kind, body }) => {
    if (kind !== "intent" || !timer.test(JSON.stringify(body))) return undefined;
    return { stream, altered: withBody(stream, seq, (old) => changed(old, timer, '"$1":1$2')), at: seq };
  },
};

const positions = 20;

for (const [what, alter] of Object.entries(kinds)) {
  Deno.test(`replay diverges at exactly the entry where ${what}, at 20 places (F37)`, async () => {
    const all = streams.flatMap((stream) => stream.entries.flatMap((entry) => alter(stream, entry) ?? []));
    assert.ok(all.length >= positions, `${all.length} places`);
    for (let n = 0; n < positions; n++) {
      const { stream, altered, at, until = at } = all[Math.floor(n * all.length / positions)]!;
      const divergence = await divergenceOf(stream, { altered });
      const { seq = 0 } = divergence ?? {};
      assert.ok(
        seq >= at && seq <= until,
        `${stream.address} at ${at} to ${until}: ${JSON.stringify(divergence)}`,
      );
    }
  });
}

Deno.test("replay refuses an approval that was planted into a journal, for nobody asked (F37, B130)", async () => {
  const stream = streams.find(({ entries }) => entries.some(({ type }) => type === "question.ask"))!;
  const first = stream.entries.find(({ kind, type }) => kind === "intent" && type === "model.generate")!;
  const genuine = stream.entries.find(({ kind, type }) => kind === "outcome" && type === "question.ask")!;
  const seq = stream.entries.findLast(({ cause }) => cause === first.cause)!.seq + 0.5;
  const planted = { ...genuine, seq, cause: seq };
  const altered = renumbered([...stream.entries, planted].sort((left, right) => left.seq - right.seq));
  const divergence = await divergenceOf(stream, { altered });
  assert.deepEqual([divergence?.seq, divergence?.what], [
    Math.ceil(seq),
    "the machine waits for this outcome",
  ]);
});

/** Machines whose asks or letters are others, from the outside: whatever made them so. */
function otherwise(change: (desk: PortDesk) => Desk & Outbox): (desk: PortDesk) => WiredMachines {
  return (desk) => wireMachines(change(desk));
}

type Requests = Parameters<PortDesk["book"]>[0];

/** A desk that is told something else than the machine said. */
function mangled(
  desk: PortDesk,
  { ask = (one) => one, post = (one) => one }: {
    readonly ask?: (request: Requests) => Requests;
    readonly post?: (outgoing: Parameters<PortDesk["post"]>[0]) => Parameters<PortDesk["post"]>[0];
  },
): Desk & Outbox {
  return {
    book: (request) => desk.book(ask(request)),
    register: (id, request, ref, cancelAsked) => desk.register(id, request, ref, cancelAsked),
    cancel: (id) => desk.cancel(id),
    drop: (id, request) => desk.drop(id, request),
    post: (outgoing) => desk.post(post(outgoing)),
  };
}

const shapes: {
  readonly [what: string]: { readonly type: string; readonly wire: (desk: PortDesk) => WiredMachines };
} = {
  "another branch, a timer instead of a call": {
    type: "tool.call",
    wire: otherwise((desk) =>
      mangled(desk, {
        ask: (request) =>
          request.port !== "tool.call" ? request : {
            port: "timer.set",
            effect: "idempotent",
            args: { dueAtMs: 1, jitterMs: 0, label: "other" },
          },
      })
    ),
  },
  "another tool": {
    type: "tool.call",
    wire: otherwise((desk) =>
      mangled(desk, {
        ask: (request) =>
          request.port !== "tool.call" ? request : {
            ...request,
            args: { ...request.args, entry: { ...request.args.entry, name: "other" } },
          },
      })
    ),
  },
  "another receiver": {
    type: "catalog.issued",
    wire: otherwise((desk) =>
      mangled(desk, {
        post: (outgoing) => outgoing.kind === "message" ? { ...outgoing, to: "session/ses_other" } : outgoing,
      })
    ),
  },
  "another key": {
    type: "tool.call",
    wire: otherwise((desk) =>
      mangled(desk, {
        ask: (request) =>
          request.port !== "tool.call" ? request : { ...request, args: { ...request.args, key: "1.9" } },
      })
    ),
  },
};

Deno.test("replay names the entry where other code asks for another branch, tool, receiver or key (F38)", async () => {
  for (const [what, { type, wire }] of Object.entries(shapes)) {
    const stream = streams.find(({ entries }) =>
      entries.some((entry) => entry.type === type && (entry.kind === "intent" || entry.kind === "message"))
    )!;
    const expected = stream.entries.find((entry) =>
      entry.type === type && (entry.kind === "intent" || entry.kind === "message")
    )!;
    const divergence = await divergenceOf(stream, { wire });
    assert.equal(divergence?.seq, expected.seq, `${what}: ${JSON.stringify(divergence)}`);
    assert.match(divergence?.what ?? "", /^the machine's (intent|message) is the recorded one$/);
  }
});

Deno.test("replay finds a machine that asks for a time, a chance or an id that is not in its journal (F39)", async () => {
  const inputs: { readonly [what: string]: () => string } = {
    time: () => String(performance.timeOrigin + performance.now()),
    chance: () => String(crypto.getRandomValues(new Uint32Array(1))[0]),
    id: () => crypto.randomUUID(),
  };
  const stream = streams.find(({ entries }) => entries.some(({ type }) => type === "tool.call"))!;
  const expected = stream.entries.find(({ kind, type }) => kind === "intent" && type === "tool.call");
  for (const [what, input] of Object.entries(inputs)) {
    const wire = otherwise((desk) =>
      mangled(desk, {
        ask: (request) =>
          request.port !== "tool.call"
            ? request
            : { ...request, args: { ...request.args, arguments: { text: input() } } },
      })
    );
    assert.equal((await divergenceOf(stream, { wire }))?.seq, expected?.seq, what);
  }
});

/** The machines with one guard of one of them turned round. */
function withGuard(machine: "session" | "turn" | "invocation" | "question", guard: string) {
  return (desk: PortDesk): WiredMachines => {
    const wired = wireMachines(desk);
    return { ...wired, session: turned(wired.session, "session", { machine, guard }) };
  };
}

function turned(
  source: AnyStateMachine,
  name: string,
  target: { readonly machine: string; readonly guard: string },
): AnyStateMachine {
  const { actors, guards } = source.implementations as unknown as {
    readonly actors: { readonly [name: string]: AnyStateMachine };
    readonly guards: { readonly [name: string]: (...given: readonly unknown[]) => boolean };
  };
  if (name === target.machine) {
    const old = guards[target.guard];
    assert.ok(old !== undefined, `${target.machine} has no guard ${target.guard}`);
    return source.provide(
      { guards: { [target.guard]: (...given: readonly unknown[]) => !old(...given) } } as never,
    );
  }
  const inner = Object.entries(actors).filter(([, actor]) => "implementations" in actor)
    .map(([key, actor]) => [key, turned(actor, key, target)]);
  return source.provide({ actors: Object.fromEntries(inner) } as never);
}

Deno.test("code with one altered guard diverges on a golden journal, whichever guard that is (F38)", async () => {
  const guards = {
    session: ["hasPrompt", "isRefused", "isQueueFull", "isSpent", "mustRenew", "isTurnDone"],
    turn: ["hasNoCalls", "isLastRound", "isStageDone", "hasNextStage", "isSpent", "mayRetry"],
    invocation: [
      "isUnknownTool",
      "hasFailure",
      "needsApproval",
      "isDenied",
      "isGranted",
      "mayRetry",
      "choseApplied",
    ],
    question: ["isOffered"],
  } as const;
  const sessions = streams.filter(({ kind }) => kind === "session");
  for (const [machine, names] of Object.entries(guards)) {
    for (const guard of names) {
      const wire = withGuard(machine as keyof typeof guards, guard);
      let found: Divergence | undefined;
      for (const stream of sessions) {
        found = await divergenceOf(stream, { wire });
        if (found !== undefined) break;
      }
      assert.ok(found !== undefined, `${machine}.${guard}`);
    }
  }
});
