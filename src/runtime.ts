/** Composition root of a runtime that owns its store: opens, recovers, runs, and stops it. */
import { catalogOf } from "../actors/library.ts";
import { pathOf } from "./ancestors.ts";
import type { RootRecord } from "../schemas/entry.ts";
import type { RootAddress } from "../schemas/ids.ts";
import type { HostCall } from "../schemas/invocation.ts";
import type { McpDeclaration } from "../schemas/manifest.ts";
import { rootMessages, type SessionMessage } from "../schemas/message.ts";
import { principalText } from "../schemas/principal.ts";
import { cleanMessage, createDoorRedactor, mayBeSecret } from "./effects/clean.ts";
import { AgentDesk } from "./agents/agent_desk.ts";
import { Conversations } from "./effects/conversation.ts";
import type { Attempt } from "./effects/adapter.ts";
import type { Performers } from "./effects/performer.ts";
import { findClosedQuestion } from "./effects/closed_question.ts";
import { RawArguments } from "./effects/raw_arguments.ts";
import { QuestionDesk, type QuestionDeskOptions } from "./effects/question_ask.ts";
import { type Journal, openJournal } from "./journal/journal.ts";
import type { Sharing } from "./journal/root_ownership.ts";
import type { Store, StoreError } from "./journal/store.ts";
import { type Acknowledgements, submit } from "./kernel/command.ts";
import { type Kernel, KernelError, type KernelEvent, observersOf } from "./kernel/kernel.ts";
import { begin } from "./kernel/patience.ts";
import { passivateIdle } from "./kernel/passivate.ts";
import type { Recovery } from "./kernel/recover.ts";
import type { Made } from "./kernel/create_once.ts";
import { createKernel, type KernelParts } from "./kernel/start.ts";
import { halt, stop } from "./kernel/stop.ts";
import { machineCode } from "./machine_code.ts";
import { resume } from "./resume.ts";
import { type ForkOrder, forkSession } from "./forks.ts";
import type { ForkReport } from "../schemas/fork.ts";
import { createSession, declareServers, spawnSession } from "./births.ts";
import { createOwnPerformers } from "./own_performers.ts";
import {
  type ProgramRegistration,
  ProgramRegistry,
  type RegisteredProgram,
} from "./programs/program_registry.ts";
import { expectPrograms, noPrograms, type ReturningProgram } from "./programs/program_row.ts";
import { unnamedInstallation } from "./records/record_id.ts";
import { SuspendedCalls } from "./mcp/suspended_calls.ts";
import type { Redactor } from "./redact/redactor.ts";
import { type RefreshReport, refreshServers, tellConnection } from "./refresh.ts";
import type { HostPerformers, HostServices } from "./host_services.ts";
import { Schedules } from "./schedules.ts";
import { refuseForeign } from "./foreign.ts";
import type { Seams } from "./seams.ts";
import type { SessionDraft } from "./session_draft.ts";
import { loadNamed } from "./shared_sources.ts";
import { type GivenBy, givenBy, type SpawnOrder } from "./spawn_order.ts";
import { TaskDesk } from "./tasks/task_desk.ts";
import { reportWhenOver } from "./lost_turn.ts";
import { promptOf } from "./prompt_images.ts";
import type { TurnReport } from "./turn_report.ts";

/** Options of {@linkcode startRuntime}. */
export interface RuntimeOptions {
  readonly store: Store;
  readonly seams: Seams;
  readonly performers: (services: HostServices) => HostPerformers;
  /** Everything waits for the disk. Default false: only what could hurt does (K9). */
  readonly strict?: boolean;
  /** True while somebody can answer questions; if not, every question is a denial. */
  readonly hasAnswerer?: () => boolean;
  /** Who may answer questions. By default persons only: no program and no agent (B26). */
  readonly mayAnswer?: QuestionDeskOptions["mayAnswer"];
  /** Called once if the runtime can never write again: its store was taken over, or is broken. */
  readonly onFatal?: (error: StoreError) => void;
  /** Chooses among ready roots; the first by default. */
  readonly pick?: (count: number) => number;
  /** Hash of the machines' code; tests of upgrades give another. */
  readonly code?: string;
  /** The forms of stored states; tests of upgrades give others. */
  readonly stateFormats?: KernelParts["stateFormats"];
  /** Wires the machines; tests of faults give machines that fail. */
  readonly wire?: KernelParts["wire"];
  /** Takes secrets out of what comes in. By default one that knows no secret by value. */
  readonly redactor?: Redactor;
  /** Programs that are connected before anything goes on; others come later by `registerProgram`. */
  readonly programs?: readonly ProgramRegistration[];
  /** True: no schedule becomes due in this runtime. Default false. */
  readonly holdsSchedules?: boolean;
  /** Set where other runtimes write the same store: each root then has an owner (K17). */
  readonly sharing?: Sharing;
  /** Roots kept awake when idle. Default 1,000. */
  readonly awakeMax?: number;
}

/** A prompt that was given: accepted means durable; the report comes when its turn has ended, durably. */
export interface GivenPrompt {
  readonly accepted: Acknowledgements["accepted"];
  readonly report: Promise<TurnReport>;
}

/** A running runtime. */
export interface Runtime {
  readonly kernel: Kernel;
  readonly journal: Journal;
  readonly questions: QuestionDesk;
  readonly conversations: Conversations;
  readonly recovery: Recovery;
  readonly schedules: Schedules;
  readonly tasks: TaskDesk;
  readonly agents: AgentDesk;
  readonly programs: ProgramRegistry;
  /** Programs that were connected when the last runtime ended. */
  readonly returning: ReadonlyMap<string, ReturningProgram>;
  /** Makes a session and its catalog; resolves once both are durable. */
  createSession(draft: SessionDraft): Promise<RootAddress>;
  /** Makes a session that goes on from an entry of another one; resolves once it is durable. Performs nothing (K24). */
  forkSession(order: ForkOrder): Promise<ForkReport>;
  /**
   * Makes a session by a command: the same key again, or the same name, yields the session that is there (K14). Another
   * content under the same key is refused.
   */
  spawnSession(order: SpawnOrder): Promise<Made>;
  /** Declares all MCP servers of a session anew; they hold from its next turn on (AR-42). Resolves once durable. */
  declareServers(session: RootAddress, servers: readonly McpDeclaration[]): Promise<void>;
  /** Asks the open servers of a session for their tools again; resolves with what became of each (AR-15). */
  refreshServers(session: RootAddress): Promise<readonly RefreshReport[]>;
  /** Gives a prompt. The same key and text again is the same prompt (K14). */
  prompt(session: RootAddress, text: string, given?: string | GivenBy): Promise<GivenPrompt>;
  /**
   * Calls one tool of a session under all its gates, in a turn that asks no model (DM-12). The same key and call again is
   * the same call (CM-57): it is answered with what the first one yielded.
   */
  call(session: RootAddress, call: HostCall, given?: string | GivenBy): Promise<GivenPrompt>;
  /**
   * Connects a program of this process and answers what its agent's sessions can call (CM-109); the same again is a
   * refresh. It must be connected anew after a restart: until then its tools are not called. Throws `ProgramError`.
   */
  registerProgram(registration: ProgramRegistration): Promise<RegisteredProgram>;
  /** Gives any message of a session's protocol as a command. */
  send(session: RootAddress, message: SessionMessage, given?: string | GivenBy): Promise<Acknowledgements>;
  /** Hears of entries (once durable) and of progress. Returns how to stop. */
  watch(listener: (event: KernelEvent) => void): () => void;
  listRoots(): readonly RootRecord[];
  /** Waits until nothing is queued or undurable, then puts idle roots beyond the bound to sleep. */
  rest(): Promise<void>;
  /** Stops: waits for effects that could hurt, aborts the others, makes durable what was written, closes the store. */
  stop(): Promise<void>;
}

/** Opens a store as its one owner, recovers what was open, and starts to run. */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { seams, holdsSchedules = false } = options;
  const made: { kernel: Kernel | undefined } = { kernel: undefined };
  const onFatal = (error: StoreError) => {
    if (made.kernel !== undefined) halt(made.kernel, error);
    options.onFatal?.(error);
  };
  const journal = await openJournal({ store: options.store, seams, onFatal, sharing: options.sharing });
  const conversations = new Conversations(journal);
  const redactor = options.redactor ?? createDoorRedactor(undefined, { now: () => seams.clock.now() });
  const suspended = new SuspendedCalls<Attempt>();
  const kernelOf = () => made.kernel as Kernel;
  const questions = new QuestionDesk({
    seams,
    hasAnswerer: options.hasAnswerer ?? (() => true),
    mayAnswer: options.mayAnswer,
    findClosed: (id) => findClosedQuestion(journal, id),
    isSecret: (text) => mayBeSecret(redactor, text),
    pathOf: (root) => pathOf(kernelOf().records, root),
    untilGone: (root, call) => suspended.untilGone(root, call),
  });
  const rawArguments = new RawArguments();
  const { installation = unnamedInstallation } = journal.format;
  const programs = new ProgramRegistry({ installation, digest: seams.digest });
  // Before anything goes on: what waits for a program meets it.
  const isShared = options.sharing !== undefined;
  const returning = isShared ? noPrograms : await expectPrograms(journal, programs, seams.clock);
  for (const registration of options.programs ?? []) await programs.register(registration);
  const schedules = new Schedules(kernelOf, redactor);
  const tasks = new TaskDesk(kernelOf);
  const agents = new AgentDesk(kernelOf, tasks);
  const services: HostServices = {
    conversations,
    rawArguments,
    suspended,
    journal,
    catalogOf,
    seams,
    redactor,
    programs,
    schedules,
    tasks,
    agents,
    tellConnection: (connection, message) => tellConnection(kernelOf(), connection, message),
  };
  const performers: Performers = {
    ...options.performers(services),
    ...createOwnPerformers({ seams, journal, questions, kernelOf, holdsSchedules }),
  };
  const kernel = createKernel({
    seams,
    journal,
    code: options.code ?? machineCode,
    strict: options.strict ?? false,
    performers,
    observer: observersOf(conversations, rawArguments),
    loadShelved: (hash) => loadNamed(journal, seams.digest, hash),
    pick: options.pick ?? (() => 0),
    wire: options.wire,
    stateFormats: options.stateFormats,
  });
  made.kernel = kernel;
  const recovery = await resume(kernel, { holdsSchedules });
  const desks = { questions, conversations, schedules, tasks, agents, programs, returning };
  return runtimeOf({ kernel, journal, recovery, ...desks }, { ...options, redactor });
}

type RuntimeParts = Pick<
  Runtime,
  | "kernel"
  | "journal"
  | "questions"
  | "conversations"
  | "recovery"
  | "schedules"
  | "tasks"
  | "agents"
  | "programs"
  | "returning"
>;

function runtimeOf(parts: RuntimeParts, options: RuntimeOptions & { readonly redactor: Redactor }): Runtime {
  const { kernel, journal, programs } = parts;
  const send: Runtime["send"] = (session, message, given) => {
    const { key, by, trace } = givenBy(given);
    const parsed = rootMessages.session.safeParse(message);
    if (!parsed.success) {
      const problem = parsed.error.issues[0];
      throw new KernelError(
        "message_invalid",
        `Cannot send this: ${problem?.path.join(".")} ${problem?.message}`,
      );
    }
    // Once, before the entry: whoever acts on it has the clean text, live and in replay.
    const data = cleanMessage(options.redactor, parsed.data);
    if (data.type === "session.relay" && !kernel.records.has(data.to)) {
      throw new KernelError(
        "relay_target_unknown",
        `No session has the address "${data.to}": look at troupe sessions`,
      );
    }
    refuseForeign(kernel, session, data);
    const ref = { principal: principalText(by), key: key ?? kernel.seams.nextId("cmd") };
    const isFresh = key === undefined;
    return submit(kernel, { root: session, message: data as never, ref, isFresh, trace });
  };
  const give = async (
    session: RootAddress,
    message: SessionMessage,
    given?: string | GivenBy,
  ): Promise<GivenPrompt> => {
    const sent = await send(session, message, given);
    const report = reportWhenOver(parts, session, sent);
    report.catch(() => {}); // Whoever wants it awaits it; at shutdown nobody may.
    return { accepted: sent.accepted, report };
  };
  return {
    ...parts,
    send,
    createSession: (draft) => begin(kernel, () => createSession(kernel, draft)),
    forkSession: (order) => begin(kernel, () => forkSession(kernel, order, options.redactor)),
    declareServers: (session, servers) => declareServers(kernel, session, servers),
    refreshServers: (session) => refreshServers(kernel, session),
    spawnSession: (order) => begin(kernel, () => spawnSession(kernel, order)),
    prompt: async (session, text, given) => {
      const { images = [] } = givenBy(given);
      if (images.length === 0) return await give(session, { type: "session.prompt", text }, given);
      return await give(session, await promptOf(kernel, text, images), given);
    },
    registerProgram: (registration) => programs.register(registration),
    call: (session, call, given) => give(session, { type: "session.call", call }, given),
    watch: (listener) => {
      kernel.watchers.add(listener);
      return () => kernel.watchers.delete(listener);
    },
    listRoots: () => [...kernel.records.values()],
    rest: async () => {
      await journal.writer.idle();
      passivateIdle(kernel, options.awakeMax ?? 1_000);
    },
    stop: () => stop(kernel, journal),
  };
}
