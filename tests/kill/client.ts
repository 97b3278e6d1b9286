/**
 * A client at the owner's door: orders sessions and turns, answers questions, and keeps a ledger of what it was told is
 * done. It outlives every owner, and after a restart gives all its orders again under their keys.
 */
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { isEnd } from "../../schemas/task.ts";
import type { Decision } from "../../schemas/question.ts";
import { throughJson } from "../../src/canonical.ts";
import { connectDoor } from "../../src/door/client.ts";
import { createRemoteHost } from "../../src/door/remote_host.ts";
import type { GivenAnswer, OpenQuestion } from "../../src/effects/question_ask.ts";
import type { ActingHost } from "../../src/host/host.ts";
import type { StoreOwner } from "../../src/journal/store_lock.ts";
import { appendLine, linesOfFile } from "./outside.ts";
import { pause } from "./pause.ts";
import type { KillableProcess } from "./process.ts";
import type { Part, Scene } from "./scene.ts";
import { entryText, placeOf, type Settled, type Ticket } from "./told.ts";

/** A session that was ordered. */
interface Ordered {
  readonly part: Part;
  session: RootAddress | undefined;
  readonly tickets: readonly Ticket[];
}

/** Chooses an answer: `uncertain` for doubts about a call whose id is known. */
export type Decide = (question: OpenQuestion, id: string, isApplied: boolean) => Decision;

/** Milliseconds between two looks at questions. */
const lookMs = 15;
/** Longest wait for an owner: only one that waits for ever comes near it. */
const ownerMs = 120_000;

/** The owner's note. To look whether its lock is held would stand in the way of the next owner. */
async function noteOf(store: string): Promise<StoreOwner | undefined> {
  return await Deno.readTextFile(`${store}.owner`).then((text) => JSON.parse(text), () => undefined);
}

/** The client of one round. */
export class Client {
  /** What it was told is durable: the text of entries by root and sequence. */
  readonly heard = new Map<string, string>();
  readonly settled: Settled[] = [];
  readonly problems: string[] = [];
  readonly #scene: Scene;
  readonly #ordered: Ordered[];
  readonly #decide: Decide;
  readonly #answered = new Set<string>();
  /** Answers that were given, and never acknowledged. */
  readonly #doubtful = new Map<string, GivenAnswer>();
  #adopted: readonly Entry[] = [];
  readonly #first = Promise.withResolvers<void>();

  constructor(scene: Scene, parts: readonly Part[], decide: Decide) {
    this.#scene = scene;
    this.#decide = decide;
    this.#ordered = parts.map((part) => ({
      part,
      session: undefined,
      tickets: part.turns.map((_, index) => ({
        part: part.name,
        key: `${part.name}-${index + 1}`,
        text: `Go on, ${index + 1}`,
        isAccepted: false,
        reply: undefined,
      })),
    }));
  }

  /** Resolves at the first acknowledgement of any turn. */
  get firstAccepted(): Promise<void> {
    return this.#first.promise;
  }

  get tickets(): readonly Ticket[] {
    return this.#ordered.flatMap(({ tickets }) => tickets);
  }

  get sessions(): readonly RootAddress[] {
    return this.#ordered.flatMap(({ session }) => session === undefined ? [] : [session]);
  }

  /** How many acknowledgements it got. */
  get acknowledged(): number {
    return this.heard.size + this.sessions.length +
      this.tickets.filter(({ reply }) => reply !== undefined).length;
  }

  /** Connects to an owner that is starting; undefined if it ends before its door is open. */
  async connect(owner: KillableProcess): Promise<ActingHost | undefined> {
    for (const giveUpAt = Date.now() + ownerMs; !owner.isOver && Date.now() < giveUpAt;) {
      const found = await noteOf(this.#scene.paths.store);
      if (found?.pid === owner.pid && found.door !== undefined) {
        try {
          return createRemoteHost(await connectDoor(found.door), owner.pid);
        } catch {
          // It ended in this moment.
        }
      }
      await pause(10);
    }
    if (!owner.isOver) throw new Error(`The owner did not open its door in ${ownerMs} ms`);
    return undefined;
  }

  /** Gives every order, again if need be, and waits for their ends or for that of the owner. */
  async play(host: ActingHost): Promise<void> {
    const stop = new AbortController();
    const answering = this.#answer(host, stop.signal).catch(() => {});
    try {
      const played = await Promise.allSettled(this.#ordered.map((one) => this.#playPart(host, one)));
      for (const one of played) if (one.status === "rejected") this.#tellProblem(one.reason);
    } finally {
      stop.abort();
      await answering;
    }
  }

  /** Waits until every task has ended. Answers questions meanwhile. */
  async untilTasksEnded(host: ActingHost): Promise<void> {
    const stop = new AbortController();
    const answering = this.#answer(host, stop.signal).catch(() => {});
    try {
      for (const giveUpAt = Date.now() + ownerMs;;) {
        const open = (await host.listTasks()).filter(({ status }) => !isEnd(status));
        if (open.length === 0) return;
        if (Date.now() > giveUpAt) throw new Error(`Tasks go on for ever: ${JSON.stringify(open)}`);
        await pause(lookMs);
      }
    } finally {
      stop.abort();
      await answering;
    }
  }

  /** Gives one more turn to a session; resolves with its outcome, or with the code of its refusal. */
  async ask(host: ActingHost, session: RootAddress): Promise<string> {
    // Behind a log that was cut, another question may have the place and the name of one that was answered, or none.
    this.#answered.clear();
    this.#doubtful.clear();
    const stop = new AbortController();
    const answering = this.#answer(host, stop.signal).catch(() => {});
    const order = {
      session,
      request: { text: "Go on, after" },
      key: `${session}-after`,
      fromSeq: 1,
      answers: true,
    };
    try {
      return (await host.prompt(order, () => {})).outcome;
    } catch (error) {
      return String((error as { readonly code?: unknown }).code ?? error);
    } finally {
      stop.abort();
      await answering;
    }
  }

  /** Cancels the turn of the first session; resolves with the end of that, or of the owner. */
  async cancel(host: ActingHost): Promise<void> {
    const [session] = this.sessions;
    if (session === undefined) return;
    await host.cancel(session, { reason: "the client wants it" }).catch((error) => this.#tellProblem(error));
  }

  /** Takes over what the real command, another client, was told of its one session: JSON lines of entries. */
  adopt(out: string): void {
    // The last line may have been cut off in the middle.
    const lines = out.split("\n").slice(0, -1).filter((line) => line.startsWith('{"'));
    this.#adopted = lines.map((line) => JSON.parse(line));
  }

  /** Takes an entry for durable. */
  hear(root: RootAddress, entry: Entry): void {
    const place = placeOf(root, entry.seq);
    const text = entryText(entry);
    const known = this.heard.get(place);
    if (known === undefined) {
      this.heard.set(place, text);
      appendLine(this.#scene.paths.acks, { root, seq: entry.seq });
    } else if (known !== text) {
      this.problems.push(`${place} was told in two ways: ${known} and ${text}`);
    }
    const { command } = (entry.kind === "input" ? entry.body : {}) as { readonly command?: { key: string } };
    const ticket = this.tickets.find(({ key }) => key === command?.key);
    if (ticket === undefined) return;
    ticket.isAccepted = true;
    this.#first.resolve();
  }

  async #playPart(host: ActingHost, ordered: Ordered): Promise<void> {
    const { part, tickets } = ordered;
    if (ordered.session === undefined && this.#adopted.length > 0) {
      const roots = await host.listRoots();
      ordered.session = roots.find(({ kind, parent }) => kind === "session" && parent === undefined)?.address;
      if (ordered.session === undefined) this.problems.push("The session of the command is gone");
      for (const entry of this.#adopted) if (ordered.session !== undefined) this.hear(ordered.session, entry);
    }
    if (ordered.session === undefined) {
      ordered.session = await host.createSession(await this.#scene.orderOf(part));
      appendLine(this.#scene.paths.acks, { session: ordered.session });
    }
    const { session } = ordered;
    for (const ticket of tickets) {
      const order = {
        session,
        request: { text: ticket.text },
        key: ticket.key,
        fromSeq: this.#nextOf(session),
        answers: true,
      };
      const report = await host.prompt(order, (event) => {
        if (event.type !== "entries") return;
        for (const entry of event.entries) this.hear(event.root, entry);
      });
      const reply = canonicalJson(throughJson(report) as never);
      if (ticket.reply !== undefined && ticket.reply !== reply) {
        this.problems.push(`${ticket.key} was answered in two ways: ${ticket.reply} and ${reply}`);
      }
      if (ticket.reply === undefined) appendLine(this.#scene.paths.acks, { replied: ticket.key });
      ticket.reply = reply;
    }
  }

  #nextOf(session: RootAddress): number {
    let next = 1;
    while (this.heard.has(placeOf(session, next))) next += 1;
    return next;
  }

  async #answer(host: ActingHost, signal: AbortSignal): Promise<void> {
    const by = { kind: "operator", id: "local" } as const;
    // The same answer once more has the same end, whether the first one was taken or not (P3, P12).
    for (const [id, given] of this.#doubtful) await this.#give(host, id, given);
    while (!signal.aborted) {
      for (const question of await host.listQuestions()) {
        const { id, shown, subject: { kind, preview } } = question;
        if (this.#answered.has(id)) continue;
        const call = /id-\d-\d/.exec(preview)?.[0] ?? "";
        const isDoubt = kind === "uncertain";
        // What is still at the target may land yet: an operator looks when that is over.
        if (isDoubt && this.#scene.isBusy) continue;
        const lines = linesOfFile(this.#scene.paths.ledger).filter((line) => line.id === call);
        const isApplied = lines.some(({ what }) => what === "applied") || await this.#hasFile(call);
        const decision = this.#decide(question, call, isApplied);
        if (isDoubt) this.settled.push({ id: call, decision });
        await this.#give(host, id, { decision, by, shown, note: "seen in the ledger" });
      }
      await pause(lookMs);
    }
  }

  async #give(host: ActingHost, id: string, answer: GivenAnswer): Promise<void> {
    this.#doubtful.set(id, answer);
    try {
      await host.answer(id, answer);
    } catch (error) {
      this.#tellProblem(error);
      throw error;
    }
    this.#doubtful.delete(id);
    this.#answered.add(id);
  }

  async #hasFile(id: string): Promise<boolean> {
    return await Deno.stat(`${this.#scene.paths.folder}/ws/${id}.txt`).then(() => true, () => false);
  }

  /** That the owner died is no problem; anything else is. */
  #tellProblem(error: unknown): void {
    const code = (error as { readonly code?: unknown } | undefined)?.code;
    if (code === "door_closed") return;
    this.problems.push(
      `A request failed: ${error instanceof Error ? error.message : error} [${String(code)}]`,
    );
  }
}
