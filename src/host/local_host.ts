/** The store of this process: its runtime does what commands ask for, and what comes by the door. */
import { z } from "zod";
import { Recovery } from "../../schemas/recovery.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { HostConfig } from "../../schemas/config.ts";
import { localOperator, principalText } from "../../schemas/principal.ts";
import { KernelError } from "../kernel/kernel.ts";
import { reach, refreshRecords } from "../kernel/reach.ts";
import type { Runtime } from "../runtime.ts";
import type { TaskLogs } from "../tasks/task_log.ts";
import { readTasks } from "../tasks/task_rows.ts";
import { readLive } from "../why/read_actors.ts";
import { readTokens } from "../api/access/token_fold.ts";
import type { TokenDesk } from "../api/access/token_desk.ts";
import type { Answerers } from "./answerers.ts";
import { answerQuestion } from "./answering.ts";
import { cancelSession } from "./canceling.ts";
import type { ActingHost, CloseOptions, SessionOrder } from "./host.ts";
import type { Declarer } from "./declarer.ts";
import { followLog } from "./host_tasks.ts";
import { LazyTokens } from "./host_tokens.ts";
import { writeHome } from "./session_home.ts";
import { givePrompt } from "./prompting.ts";
import { watchRoot } from "./watch_root.ts";

/** What a local host is made of. */
export interface LocalHostParts {
  readonly runtime: Runtime;
  readonly config: HostConfig;
  readonly answerers: Answerers;
  readonly declarer: Declarer;
  /** What tasks say while they run. */
  readonly logs: TaskLogs;
  /** Lets go of everything, in reverse order of opening. */
  readonly release: (options: CloseOptions) => Promise<void>;
}

/** The host of a process that owns its store. */
export interface LocalHost extends ActingHost {
  /** Who may use the API by an issued token. */
  openTokens(): Promise<TokenDesk>;
}

/** Makes the host of a process that owns its store. */
export function createLocalHost(parts: LocalHostParts): LocalHost {
  const { runtime, answerers, declarer, release } = parts;
  const { journal, questions } = runtime;
  const tokens = new LazyTokens(runtime.kernel);
  return {
    ...tokens.methods,
    openTokens: tokens.open,
    listTokens: () => readTokens(journal, runtime.kernel.records.values()),
    owner: undefined,
    listRoots: async () => {
      await refreshRecords(runtime.kernel);
      return sorted(runtime.listRoots());
    },
    readHead: (root) => journal.readHead(root),
    readPages: (root, fromSeq) => journal.readPages(root, fromSeq),
    readBlob: (digest) => journal.readBlob(digest),
    readActors: (root) => Promise.resolve(readLive(runtime.kernel, root)),
    async *follow(root, fromSeq, signal) {
      for await (const event of watchRoot(runtime, root, { fromSeq, questions: false, signal })) {
        if (event.type === "entries") yield event.entries;
        // Nothing more comes, and whoever follows should know: its record says why.
        else if (event.type === "quarantined") yield [];
      }
    },
    createSession: (order) => createSession(parts, order),
    forkSession: (order) => runtime.forkSession(order),
    declareServers: async (session, home, servers) => {
      await reach(runtime.kernel, session);
      const capabilities = await capabilitiesOf(runtime, session);
      await runtime.declareServers(session, await declarer.declare(home, servers, capabilities));
    },
    refreshServers: (session) => runtime.refreshServers(session),
    prompt: (order, hear) => givePrompt({ runtime, answerers }, order, hear),
    cancel: (session, order) => cancelSession(runtime, session, order),
    listTasks: (session) => readTasks(journal, session),
    cancelTask: (session, task, reason) => runtime.tasks.cancel(session, task, reason),
    untilTaskEnded: (session, task, signal) => runtime.tasks.untilOver(session, task, signal),
    followTask: (owner, id, options) =>
      followLog({ desk: runtime.tasks, logs: parts.logs }, { owner, id }, options),
    deleteSchedule: async (schedule) => {
      const gone = await runtime.schedules.remove(schedule, principalText(localOperator));
      if ("code" in gone) throw new KernelError("root_not_found", gone.message);
      return gone.status;
    },
    listQuestions: () => Promise.resolve(questions.list()),
    answer: (id, answer) => answerQuestion(runtime, id, answer),
    close: async (options = {}) => {
      await tokens.close(options.hurry ?? false);
      await release(options);
    },
  };
}

function sorted(roots: readonly RootRecord[]): readonly RootRecord[] {
  return [...roots].sort((left, right) =>
    left.createdAt - right.createdAt || (left.address < right.address ? -1 : 1)
  );
}

async function createSession(
  { runtime, config, declarer }: LocalHostParts,
  order: SessionOrder,
): Promise<RootAddress> {
  return await runtime.createSession({
    agent: order.agent,
    coreRevision: order.coreRevision,
    home: writeHome(order.home),
    sources: await declarer.sources(order.home),
    policy: config.policy,
    servers: await declarer.declare(order.home, order.servers, order.agent.capabilities),
    mode: order.mode,
    scope: order.scope,
    budget: order.budget,
    recovery: order.agent.recovery ?? Recovery.parse({}),
    title: order.title,
  });
}

const Created = z.looseObject({ input: z.looseObject({ agent: AgentDefinition }) });

/** What a session's agent was granted when it began, whatever its folder says by now. */
async function capabilitiesOf({ journal }: Runtime, session: RootAddress): Promise<readonly string[]> {
  for await (const { body } of journal.readEntries(session)) {
    return Created.safeParse(body).data?.input.agent.capabilities ?? [];
  }
  return [];
}
