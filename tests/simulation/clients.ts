/** Clients and an operator: what they mean to do, what they were told, and what they repeat after every restart. */
import type { RootAddress } from "../../schemas/ids.ts";
import type { Budget } from "../../schemas/budget.ts";
import type { CatalogSource } from "../../schemas/catalog.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Decision } from "../../schemas/question.ts";
import { localOperator, principalText } from "../../schemas/principal.ts";
import { isSameJson } from "../../src/canonical.ts";
import { keys } from "../../src/journal/keys.ts";
import { StoreError } from "../../src/journal/store.ts";
import { type Acknowledgements, submit } from "../../src/kernel/command.ts";
import { KernelError, type StoredReply } from "../../src/kernel/kernel.ts";
import { passivate } from "../../src/kernel/passivate.ts";
import type { Runtime } from "../../src/runtime.ts";
import type { MemoryDisk } from "../support/memory_store.ts";
import type { Life } from "./life.ts";
import type { Outside } from "./outside.ts";
import { messageOf, type PlannedCommand, type Scenario, type Tool } from "./scenario.ts";
import { ownCapabilities } from "./own_tools.ts";
import { declarationsOf } from "./served_tools.ts";
import type { Sites } from "./sites.ts";
import { sourcesOfVersion } from "./targets.ts";

/** What a client knows of one of its commands. */
export interface Ticket {
  readonly command: PlannedCommand;
  /** Life in which it was given last; 0 before that. */
  givenIn: number;
  repeats: number;
  isAccepted: boolean;
  reply: StoredReply | undefined;
}

/** Something that a client or the operator could do now. */
export interface ClientAction {
  readonly name: string;
  run(): void;
}

/** Options of {@linkcode Clients}. */
export interface ClientsOptions {
  readonly scenario: Scenario;
  /** What the session with this index may spend. */
  readonly budgetOf: (index: number) => Budget | undefined;
  readonly disk: MemoryDisk;
  readonly outside: Outside;
  /** True if clients repeat themselves and roots are put to sleep, as chance has it. */
  readonly isUnruly: boolean;
  /** Refusals that a client may meet in this run, and try again. */
  readonly excuses: ReadonlySet<string>;
  readonly sites: Sites;
  readonly trace: (line: string) => void;
  /** Told of what no client should see: a lie, or a refusal. */
  readonly complain: (rule: string, message: string) => void;
}

/** The address of no session. */
const nobody: RootAddress = "session/ses_NOBODY";

export const principal = principalText(localOperator);

function agentWith(tools: readonly Tool[]): AgentDefinition {
  return AgentDefinition.parse({
    name: "play",
    model: "play/swarm",
    tools: tools.map((tool) => tool.name),
    capabilities: ownCapabilities,
    subagents: { max_depth: 2 },
  });
}

/** Times that roots are put to sleep in one life. */
const napsMax = 60;

interface Answered {
  readonly id: string;
  readonly decision: Decision;
  repeats: number;
}

/** Another answer than each. */
const contraries: { readonly [decision: string]: Decision } = { deny: "allow", abandon: "run_again" };
const doubtful: ReadonlySet<string> = new Set(["run_again", "mark_applied", "mark_not_applied"]);

/** All clients of one run. */
export class Clients {
  readonly sessions: (RootAddress | undefined)[];
  readonly tickets: readonly Ticket[];
  /** What was shown under each question's id: it never changes (K3). */
  readonly shown = new Map<string, string>();
  /** What persons saw of each question. */
  readonly seen = new Map<string, string>();
  readonly #answered: Answered[] = [];
  /** How often roots were put to sleep in each life. */
  readonly #naps = new Map<number, number>();
  readonly #options: ClientsOptions;
  readonly #making = new Map<number, number>();

  constructor(options: ClientsOptions) {
    this.#options = options;
    this.sessions = Array.from({ length: options.scenario.sessions });
    this.tickets = options.scenario.commands.map((command) => ({
      command,
      givenIn: 0,
      repeats: 0,
      isAccepted: false,
      reply: undefined,
    }));
  }

  /** True once every command has its reply. */
  get areContent(): boolean {
    return this.tickets.every((ticket) => ticket.reply !== undefined);
  }

  /** What could be done now in a life that runs. `isIdle`: nothing else happens, so nobody waits for better moments. */
  actions(life: Life, isIdle: boolean): ClientAction[] {
    const { runtime } = life;
    if (runtime === undefined || life.isStopping) return [];
    const found: ClientAction[] = [];
    for (let index = 0; index < this.sessions.length; index++) {
      if (this.sessions[index] === undefined && this.#making.get(index) !== life.number) {
        found.push({ name: `make session ${index}`, run: () => this.#make(life, runtime, index) });
      }
    }
    for (const ticket of this.tickets) {
      if (this.#mayGive(life, runtime, ticket, isIdle)) {
        found.push({ name: `give ${ticket.command.key}`, run: () => this.give(life, runtime, ticket) });
      }
    }
    for (const { id } of runtime.questions.list()) {
      found.push({ name: `answer ${id}`, run: () => this.#answer(runtime, id) });
    }
    return found;
  }

  /** What leads nowhere: commands given twice, roots put to sleep. */
  whims(life: Life): ClientAction[] {
    const { runtime } = life;
    if (runtime === undefined || life.isStopping || !this.#options.isUnruly) return [];
    const naps = this.#naps.get(life.number) ?? 0;
    const awake = naps < napsMax ? [...runtime.kernel.roots.keys()] : [];
    const found = awake.map((address): ClientAction => ({
      name: `passivate ${address}`,
      run: () => {
        this.#naps.set(life.number, naps + 1);
        passivate(runtime.kernel, address);
      },
    }));
    const answered = this.#answered.at(-1);
    if (answered !== undefined && answered.repeats < 2) {
      found.push({ name: `answer ${answered.id} again`, run: () => this.#answerAgain(runtime, answered) });
    }
    for (const ticket of this.tickets) {
      if (ticket.repeats > 2 || (ticket.givenIn !== life.number && ticket.reply === undefined)) continue;
      found.push({ name: `repeat ${ticket.command.key}`, run: () => this.give(life, runtime, ticket) });
    }
    return found;
  }

  /** Gives a command, for the first time or again: under the same key, with the same content (K14). */
  give(life: Life, runtime: Runtime, ticket: Ticket): void {
    if (ticket.givenIn > 0) ticket.repeats += 1;
    ticket.givenIn = life.number;
    const { key } = ticket.command;
    this.#submit(runtime, ticket.command).then(({ accepted, reply }) => {
      accepted().then(() => this.#hearAccepted(ticket), () => {});
      reply.then((stored) => this.#hearReply(ticket, stored), () => {});
    }, (error) => {
      if (runtime.kernel.stopped !== undefined) return;
      const code = error instanceof KernelError || error instanceof StoreError ? error.code : String(error);
      // A root that this life has given up is for the next one.
      if (code !== "root_quarantined") ticket.givenIn = 0;
      if (!this.#options.excuses.has(code)) this.#options.complain("K14", `${key} was refused: ${code}`);
    });
  }

  #mayGive(life: Life, runtime: Runtime, ticket: Ticket, isIdle: boolean): boolean {
    const { command } = ticket;
    if (this.sessions[command.to] === undefined) return false;
    if (command.relayTo !== undefined && this.#addressOf(command.relayTo) === undefined) return false;
    if (ticket.givenIn === life.number || ticket.reply !== undefined) return false;
    if (ticket.givenIn > 0 || isIdle) return true;
    const isReady = command.after.every((key) => this.#ticketOf(key)?.reply !== undefined);
    return isReady && (command.during === undefined || this.#runs(runtime, command.during, command.to));
  }

  #addressOf(session: number): RootAddress | undefined {
    return session < 0 ? nobody : this.sessions[session];
  }

  #ticketOf(key: string): Ticket | undefined {
    return this.tickets.find((ticket) => ticket.command.key === key);
  }

  #runs(runtime: Runtime, what: string, session: number): boolean {
    const address = this.sessions[session] ?? "";
    if (what !== "harm" && what !== "repeat") {
      return this.#options.outside.attempts.some((one) =>
        one.name === what && one.root === address && !one.isOver
      );
    }
    const root = runtime.kernel.roots.get(address);
    return [...root?.ports.values() ?? []].some(({ id, request }) =>
      request.effect !== "idempotent" && (what === "harm" || root?.attempts.has(id))
    );
  }

  #submit(runtime: Runtime, command: PlannedCommand): Promise<Acknowledgements> {
    const session = this.sessions[command.to] ?? "";
    if (command.kind !== "catalog") {
      // Through the kernel: the runtime refuses to relay to an address that there is not, and some here are none.
      const message = messageOf(command, this.#addressOf(command.relayTo ?? 0)) as never;
      return submit(runtime.kernel, { root: session, message, ref: { principal, key: command.key } });
    }
    return submit(runtime.kernel, {
      root: session.replace("session/", "catalog/"),
      message: {
        type: "catalog.change",
        sources: this.#sourcesOf(Number(command.key.slice(1)) % 3) as never,
      },
      ref: { principal, key: command.key },
    });
  }

  #sourcesOf(version: number): readonly CatalogSource[] {
    return sourcesOfVersion(version, this.#options.scenario.tools);
  }

  #make(life: Life, runtime: Runtime, index: number): void {
    this.#making.set(index, life.number);
    runtime.createSession({
      agent: agentWith(this.#options.scenario.tools),
      coreRevision: "core-1",
      home: "simulation",
      sources: this.#sourcesOf(1),
      servers: declarationsOf(this.#options.scenario.servers ?? 0),
      policy: HostPolicy.parse({}),
      budget: this.#options.budgetOf(index),
      // Nobody resumes anything here: who waits for a person would never end.
      ...(index % 2 === 1 ? { recovery: { waits: "automatic" as const } } : {}),
    }).then((address) => {
      this.sessions[index] ??= address;
      this.#options.trace(`${life.number} session ${index} is ${address}`);
      const row = this.#options.disk.get(keys.head(address));
      if (row === null) this.#options.complain("I7", `${address} was acknowledged and is not in the store`);
    }, (error) => {
      if (runtime.kernel.stopped === undefined) this.#options.complain("I7", `No session: ${error}`);
    });
  }

  #hearAccepted(ticket: Ticket): void {
    const { key } = ticket.command;
    ticket.isAccepted = true;
    if (this.#options.disk.get(keys.command(principal, key)) === null) {
      this.#options.complain("K14", `${key} was accepted, and its row is not in the store`);
    }
  }

  #hearReply(ticket: Ticket, reply: StoredReply): void {
    const { key } = ticket.command;
    const row = this.#options.disk.get(keys.reply(principal, key));
    if (!isSameJson(row?.value, reply)) {
      this.#options.complain("K14", `${key} was replied to, and another reply or none is in the store`);
    }
    if (ticket.reply !== undefined && !isSameJson(ticket.reply, reply)) {
      this.#options.complain("K14", `${key} has two replies`);
    }
    ticket.reply ??= reply;
  }

  #answer(runtime: Runtime, id: string): void {
    const question = runtime.questions.list().find((one) => one.id === id);
    if (question === undefined) return;
    const decision = this.#options.scenario.decide(question.subject);
    this.#options.trace(`operator answers ${id}: ${decision}`);
    this.#answered.push({ id, decision, repeats: 0 });
    runtime.questions.answer(id, { decision, by: localOperator, shown: question.shown, note: "as planned" });
  }

  /** Somebody answers what is answered already, and says the contrary: that changes nothing. */
  #answerAgain(runtime: Runtime, answered: Answered): void {
    const { id, decision } = answered;
    answered.repeats += 1;
    // After a crash the same question may be open again, since its answer was not durable.
    if (runtime.questions.list().some((one) => one.id === id)) return;
    const other = contraries[decision] ?? (doubtful.has(decision) ? "abandon" : "deny");
    const shown = this.shown.get(id);
    if (shown === undefined) return;
    const refused = () => this.#options.trace(`operator answers ${id} again: ${other} is refused`);
    try {
      Promise.resolve(runtime.questions.answer(id, { decision: other, by: localOperator, shown })).then(
        () => this.#options.complain("I5", `${id} took another answer after ${decision}`),
        refused,
      );
    } catch {
      refused();
    }
  }

  /** A question was shown: it must be durable, and show what it always showed (K3). */
  seeQuestion(life: Life, id: string, shown: string): void {
    const [root = "", position = ""] = id.split("#");
    const head = this.#options.disk.get(keys.head(root))?.value as { readonly seq: number } | undefined;
    if ((head?.seq ?? 0) < Number(position.split(".")[0])) {
      this.#options.complain("K3", `The question ${id} was shown before it was durable`);
    }
    const before = this.shown.get(id);
    if (before !== undefined && before !== shown) {
      this.#options.complain("K3", `The question ${id} shows something else now`);
    }
    this.shown.set(id, shown);
    const { runtime } = life;
    if (runtime === undefined) return;
    const question = runtime.questions.list().find((one) => one.id === id);
    this.seen.set(id, JSON.stringify(question?.subject ?? {}));
    if (!this.#options.sites.strikes("person_prompt") || life.isStopping) return;
    Promise.resolve().then(() => life.isAlive && this.#answer(runtime, id));
  }
}
