/** The programs that are connected to a runtime: parts of this process, or others by the API (CM-47, CM-109). */
import { z } from "zod";
import type { AgentDefinition } from "../../schemas/agent.ts";
import type { CapabilityHandshake } from "../../schemas/capability.ts";
import type { CatalogSource } from "../../schemas/catalog.ts";
import type { HostPolicy } from "../../schemas/config.ts";
import { limits } from "../../schemas/limits.ts";
import {
  ProgramIdentity,
  ProgramManifest,
  type ProgramRequest,
  type ProgramResult,
} from "../../schemas/program.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { deepFreeze } from "../canonical.ts";
import type { Seams } from "../seams.ts";
import type { ToolUseContext } from "../tools/tool.ts";
import { makeHandshake } from "./handshake.ts";
import type { Mailbox } from "./mailbox.ts";
import { ProgramError } from "./program_error.ts";

/** Carries out one call. Says no by its result; throws only on a fault. */
export type ProgramHandler = (request: ProgramRequest, use: ToolUseContext) => Promise<ProgramResult>;

/** A program to be registered, and the agent that it serves. */
export interface ProgramRegistration {
  /** What the host has made sure of. */
  readonly identity: ProgramIdentity;
  /** What the program says. */
  readonly manifest: ProgramManifest;
  /** By the name of the tool: one for each tool and each implementation, and no other. */
  readonly handlers?: { readonly [tool: string]: ProgramHandler };
  /** Instead of handlers: how the calls reach a program that is no part of this process. */
  readonly mailbox?: Mailbox;
  readonly agent: AgentDefinition;
  readonly coreRevision: string;
  readonly policy: HostPolicy;
  /** The runtime's own sources. */
  readonly sources: readonly CatalogSource[];
}

/** A program that is connected. */
export interface RegisteredProgram {
  readonly handshake: CapabilityHandshake;
  /** All sources for sessions of its agent: the runtime's, then the program's. */
  readonly sources: readonly CatalogSource[];
  /** The program's alone. */
  readonly own: readonly CatalogSource[];
  /** Ends the connection: calls that come after it are not made. */
  withdraw(): void;
}

/** What is called of a program. */
export interface ConnectedProgram {
  readonly fingerprint: string;
  /** Names of its tools; undefined for one that was connected before a restart and has not come back yet. */
  readonly tools: ReadonlySet<string> | undefined;
  readonly handlers: ReadonlyMap<string, ProgramHandler>;
  readonly mailbox?: Mailbox | undefined;
}

/** A program that may come back. */
export interface Expected {
  readonly fingerprint: string;
  readonly mailbox: Mailbox;
}

/** Options of {@linkcode ProgramRegistry}. */
export interface ProgramRegistryOptions {
  readonly installation: string;
  readonly digest: Seams["digest"];
}

/** The connected programs by name. The newest registration of a name holds; an older release is called no more. */
export class ProgramRegistry {
  readonly #options: ProgramRegistryOptions;
  readonly #programs = new Map<string, ConnectedProgram>();

  constructor(options: ProgramRegistryOptions) {
    this.#options = options;
  }

  /** The program of a name, if it is connected. */
  find(program: string): ConnectedProgram | undefined {
    return this.#programs.get(program);
  }

  /** Lets the calls of a program wait that was connected when an earlier runtime ended, as long as its mailbox is open. */
  expect(program: string, { fingerprint, mailbox }: Expected): void {
    this.#programs.set(program, { fingerprint, tools: undefined, handlers: new Map(), mailbox });
  }

  /** A program is gone whose calls went through this mailbox. */
  forget(program: string, mailbox: Mailbox): void {
    if (this.#programs.get(program)?.mailbox === mailbox) this.#programs.delete(program);
  }

  /**
   * Checks a program and connects it; the same again is a refresh (CM-39). Throws {@linkcode ProgramError}: then an
   * earlier registration of the name still holds.
   */
  async register(registration: ProgramRegistration): Promise<RegisteredProgram> {
    const identity = parsed(ProgramIdentity, registration.identity, "identity");
    const manifest = parsed(ProgramManifest, registration.manifest, "manifest");
    const { program, fingerprint } = identity;
    if (manifest.fingerprint !== fingerprint) {
      throw new ProgramError(
        "program_fingerprint_mismatch",
        `Program "${program}" says that it is ${short(manifest.fingerprint)}, but ${
          short(fingerprint)
        } was authenticated: authenticate the new release, or start the old one`,
      );
    }
    const offered = [...manifest.tools, ...manifest.implementations];
    const handlers = handlersOf(program, offered, registration);
    const { agent, coreRevision, policy, mailbox } = registration;
    const own = sourcesOf(identity, manifest, mailbox !== undefined);
    const sources = [...registration.sources, ...own];
    const { installation, digest } = this.#options;
    const handshake = deepFreeze(
      await makeHandshake({
        program,
        manifest,
        agent,
        coreRevision,
        policy,
        sources,
        installation,
        digest,
      }),
    );
    if (this.#programs.size >= limits.programsMax && !this.#programs.has(program)) {
      throw new ProgramError(
        "program_invalid",
        `Cannot connect "${program}": ${limits.programsMax} programs are connected`,
      );
    }
    const tools = new Set(offered.map(({ name }) => name));
    const connected = { fingerprint, tools, handlers, mailbox };
    this.#programs.set(program, connected);
    return {
      handshake,
      sources,
      own,
      withdraw: () => {
        if (this.#programs.get(program) === connected) this.#programs.delete(program);
      },
    };
  }
}

function parsed<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const found = schema.safeParse(value);
  if (found.success) return found.data;
  const problem = z.prettifyError(found.error).replace(/\s+/g, " ").slice(0, 400);
  throw new ProgramError("program_invalid", `Cannot register the program: its ${what} is wrong: ${problem}`);
}

function handlersOf(
  program: string,
  tools: readonly ToolDefinition[],
  { handlers = {}, mailbox }: ProgramRegistration,
): ReadonlyMap<string, ProgramHandler> {
  const names = new Set(tools.map(({ name }) => name));
  const without = mailbox === undefined
    ? [...names].find((name) => !Object.hasOwn(handlers, name))
    : undefined;
  const over = Object.keys(handlers).find((name) => !names.has(name));
  if (names.size < tools.length || without !== undefined || over !== undefined) {
    const problem = without !== undefined
      ? `has no handler for its tool "${without}"`
      : over !== undefined
      ? `has a handler "${over}" and no tool of that name`
      : "offers two tools of one name";
    throw new ProgramError("program_invalid", `Cannot register the program "${program}": it ${problem}`);
  }
  return new Map(Object.entries(handlers));
}

/** What a program offers, as sources: it has no say in what kind they are. */
function sourcesOf(
  { program, fingerprint, trust }: z.output<typeof ProgramIdentity>,
  { tools, implementations, preparesRounds }: z.output<typeof ProgramManifest>,
  remote: boolean,
): readonly CatalogSource[] {
  const source: CatalogSource = {
    kind: "program",
    provenance: { source: "program", origin: program, trust, fingerprint },
    adapter: "program",
    remote,
    ...(preparesRounds ? { prepares: true as const } : {}),
    tools,
  };
  const others: CatalogSource = { ...source, role: "implementations", tools: implementations };
  return [...(tools.length > 0 ? [source] : []), ...(implementations.length > 0 ? [others] : [])];
}

function short(digest: string): string {
  return digest.slice(0, "sha256:".length + 12);
}
