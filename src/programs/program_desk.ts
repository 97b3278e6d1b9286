/**
 * The programs that are connected over the API: who each one is, whom it serves, and what becomes of its tools and calls
 * when it goes (CM-33, CM-39, CM-109). What must outlive a runtime stands in a row; everything else comes back with it.
 */
import type { AgentDefinition } from "../../schemas/agent.ts";
import { definitionOf, type RegisterParams, type RegisterResult } from "../../schemas/api_program.ts";
import type { CatalogSource } from "../../schemas/catalog.ts";
import type { HostConfig } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import { type Principal, principalText } from "../../schemas/principal.ts";
import { programLimits } from "../../schemas/program_limits.ts";
import { canonicalBytes } from "../canonical.ts";
import { keys } from "../journal/keys.ts";
import { setRows } from "../kernel/set_rows.ts";
import type { Runtime } from "../runtime.ts";
import type { Seams } from "../seams.ts";
import { builtinSources } from "../tools/builtin.ts";
import { Mailbox } from "./mailbox.ts";
import { ProgramCatalogs } from "./program_catalogs.ts";
import { ProgramError } from "./program_error.ts";
import type { RegisteredProgram } from "./program_registry.ts";
import { ProgramReports } from "./program_reports.ts";
import type { ProgramRow } from "./program_row.ts";

/** What the desk works with. */
export interface ProgramDeskParts {
  readonly runtime: Pick<Runtime, "kernel" | "programs" | "returning" | "watch">;
  readonly seams: Seams;
  readonly config: Pick<HostConfig, "policy" | "programs">;
}

/** Who registers a program. */
export interface ProgramOwner {
  readonly principal: Principal;
  /** True if it serves the sessions of all principals. */
  readonly seesAll: boolean;
  /** The connection whose end is the end of the program. */
  readonly connection: string;
}

/** The agent that a program serves. */
export interface ServedAgent {
  readonly definition: AgentDefinition;
  readonly coreRevision: string;
}

/** A program that is connected, or was when an earlier runtime ended. */
interface Served {
  readonly row: ProgramRow;
  readonly connection: string | undefined;
  readonly mailbox: Mailbox;
  readonly reports: ProgramReports;
  /** Set once it has come (back). */
  readonly here?: { readonly given: RegisterParams; readonly registered: RegisteredProgram };
}

/** The connected programs of one runtime. */
export class ProgramDesk {
  readonly #parts: ProgramDeskParts;
  readonly #served = new Map<string, Served>();
  readonly #catalogs: ProgramCatalogs;
  /** One registration or farewell after another. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: ProgramDeskParts) {
    this.#parts = parts;
    this.#catalogs = new ProgramCatalogs(
      parts.runtime.kernel,
      (agent, owner) => this.sourcesFor(agent, owner),
    );
    for (const [program, { row, mailbox }] of parts.runtime.returning) {
      this.#serve(program, {
        row,
        mailbox,
        connection: undefined,
        reports: this.#reportsOf(program, mailbox),
      });
    }
  }

  /** Forgets reports that nobody repeats any more. */
  async begin(): Promise<void> {
    await ProgramReports.sweep(this.#parts.runtime.kernel);
  }

  /** Nothing lapses any more: the runtime has stopped. */
  stop(): void {
    for (const { mailbox } of this.#served.values()) mailbox.end();
  }

  /** Connects a program, or refreshes what it brings (CM-39). Throws {@linkcode ProgramError}; then nothing changed. */
  register(owner: ProgramOwner, given: RegisterParams, agent: ServedAgent): Promise<RegisterResult> {
    return this.#alone(() => this.#register(owner, given, agent));
  }

  /** What a connected program is answered now. */
  refresh(owner: ProgramOwner, program: string, agent: ServedAgent): Promise<RegisterResult> {
    return this.#alone(async () => {
      const { here, connection, row } = this.#of(owner, program);
      if (here === undefined) throw gone(program);
      const as = { ...owner, connection: connection ?? owner.connection };
      return await this.#register(as, { ...here.given, registration: row.registration }, agent);
    });
  }

  /** The name of the agent that a program of this owner serves. */
  agentOf(owner: ProgramOwner, program: string): string {
    return this.#of(owner, program).row.agent;
  }

  /** The calls and reports of a program of this owner that is connected. */
  find(owner: ProgramOwner, program: string): Pick<Served, "mailbox" | "reports"> {
    return this.#of(owner, program);
  }

  /** The mailbox of one registration. Refuses one that another took the place of, or that must register first. */
  mailboxOf(owner: ProgramOwner, program: string, registration: string): Mailbox {
    const { here, mailbox, row } = this.#of(owner, program);
    if (here === undefined || row.registration !== registration) {
      throw new ProgramError(
        "program_replaced",
        `This is not the registration of "${program}" that holds: register it, and go on with what is answered`,
      );
    }
    return mailbox;
  }

  /** What programs bring to the sessions of an agent and an owner. */
  sourcesFor(agent: string, owner: string): readonly CatalogSource[] {
    return [...this.#served.values()].flatMap(({ row, here }) =>
      here !== undefined && row.agent === agent && (row.seesAll || principalText(row.principal) === owner)
        ? here.registered.own
        : []
    );
  }

  /** Sets right what a session was begun with while programs came or went. */
  async settle(session: string, agent: string): Promise<void> {
    await this.#catalogs.tell(session as never, agent);
  }

  /** A connection is over, and with it the programs that came by it. */
  async endConnection(connection: string): Promise<void> {
    const over = [...this.#served.values()].filter((one) => one.connection === connection);
    for (const { mailbox } of over) mailbox.close();
    await this.#turn;
  }

  async #register(owner: ProgramOwner, given: RegisterParams, agent: ServedAgent): Promise<RegisterResult> {
    const { runtime, seams, config } = this.#parts;
    const { program, fingerprint } = given;
    const before = this.#served.get(program);
    refuseTaken(before, owner, program);
    refuseLarge(given);
    const known = Object.hasOwn(config.programs, program) ? config.programs[program] : undefined;
    const isSame = before !== undefined && given.registration === before.row.registration;
    const registration = isSame ? before.row.registration : seams.nextId("prg");
    const mailbox = before === undefined || before.mailbox.isClosed
      ? new Mailbox({ program, clock: seams.clock }, registration)
      : before.mailbox;
    const others = [...this.#served].flatMap(([name, { row, here }]) =>
      name !== program && row.agent === given.agent && meets(row, owner) ? here?.registered.own ?? [] : []
    );
    const registered = await runtime.programs.register({
      identity: { program, ...(known ?? { fingerprint }) },
      manifest: {
        fingerprint,
        protocolMethods: given.protocol_methods,
        tools: given.tools.map(definitionOf),
        preparesRounds: given.prepares_rounds,
        configSchema: given.config_schema,
      },
      mailbox,
      agent: agent.definition,
      coreRevision: agent.coreRevision,
      policy: config.policy,
      sources: [...builtinSources, ...others],
    }).catch((error) => {
      if (mailbox !== before?.mailbox) mailbox.close();
      throw error;
    });
    mailbox.take(registration);
    const { principal, seesAll, connection } = owner;
    const row: ProgramRow = { principal, seesAll, fingerprint, agent: given.agent, registration };
    const reports = before?.reports ?? this.#reportsOf(program, mailbox);
    this.#serve(program, { row, connection, mailbox, reports, here: { given, registered } });
    await setRows(runtime.kernel, { sets: [{ key: keys.program(program), value: row }], deletes: [] });
    await this.#catalogs.tellAll(given.agent);
    // It may have served another agent before.
    if (before !== undefined && before.row.agent !== given.agent) {
      await this.#catalogs.tellAll(before.row.agent);
    }
    return { registration, lease_ms: programLimits.leaseGraceMs, ...structuredClone(registered.handshake) };
  }

  #serve(program: string, served: Served): void {
    const isWatched = this.#served.get(program)?.mailbox === served.mailbox;
    this.#served.set(program, served);
    if (isWatched) return;
    const { mailbox } = served;
    void mailbox.closed.then(() => this.#alone(() => this.#part(program, mailbox))).catch((error) => {
      const detail = { program, error: String(error) };
      this.#parts.seams.log({ level: "warning", event: "program.farewell_failed", detail });
    });
  }

  /** The program is gone: its tools leave the next catalog of every session (CM-45). */
  async #part(program: string, mailbox: Mailbox): Promise<void> {
    const { runtime } = this.#parts;
    const served = this.#served.get(program);
    if (served?.mailbox !== mailbox || runtime.kernel.stopped !== undefined) return;
    this.#served.delete(program);
    runtime.programs.forget(program, mailbox);
    await this.#catalogs.tellAll(served.row.agent);
    await setRows(runtime.kernel, { sets: [], deletes: [keys.program(program)] });
  }

  /** What is another principal's is not there. */
  #of({ principal }: ProgramOwner, program: string): Served {
    const served = this.#served.get(program);
    if (served === undefined || principalText(served.row.principal) !== principalText(principal)) {
      throw gone(program);
    }
    return served;
  }

  #reportsOf(program: string, mailbox: Mailbox): ProgramReports {
    const { runtime, seams } = this.#parts;
    return new ProgramReports({
      program,
      runtime,
      seams,
      mailbox: () => this.#served.get(program)?.mailbox ?? mailbox,
    });
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work, work);
    this.#turn = done.catch(() => {});
    return done;
  }
}

/** True if two programs may bring their tools to one session. */
function meets(row: ProgramRow, { principal, seesAll }: ProgramOwner): boolean {
  return seesAll || row.seesAll || principalText(row.principal) === principalText(principal);
}

function gone(program: string): ProgramError {
  return new ProgramError(
    "program_not_found",
    `No program "${program}" of yours is connected: register it first`,
  );
}

function refuseTaken(before: Served | undefined, { principal }: ProgramOwner, program: string): void {
  if (before === undefined || principalText(before.row.principal) === principalText(principal)) return;
  throw new ProgramError(
    "program_taken",
    `Somebody else's program is connected as "${program}": take another name`,
  );
}

function refuseLarge({ tools, config_schema: schema }: RegisterParams): void {
  const { length } = canonicalBytes({ tools, schema } as unknown as Json);
  if (length <= programLimits.manifestBytesMax) return;
  throw new ProgramError(
    "program_invalid",
    `The program's tools are ${length} bytes, at most ${programLimits.manifestBytesMax} fit: describe them in less`,
  );
}
