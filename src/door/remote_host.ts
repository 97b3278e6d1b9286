/** A store that another process holds, used through its door. */
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { TaskRecord } from "../../schemas/task.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { OpenQuestion } from "../effects/question_ask.ts";
import { EventQueue, EventsLostError } from "../host/event_queue.ts";
import type { ActingHost, HostEvent, TaskSaid } from "../host/host.ts";
import type { ActorState } from "../why/actor_state.ts";
import type { TurnReport } from "../turn_report.ts";
import type { DoorClient } from "./client.ts";
import { type DoorItem, type DoorParams, readQuestion } from "./protocol.ts";
import { remoteTokens } from "./remote_tokens.ts";

const entriesPerStretch = 2_000;

/** Makes the host of a process that does not own the store. `owner` is the process that does. */
export function createRemoteHost(client: DoorClient, owner: number): ActingHost {
  return {
    owner,
    listRoots: async () => {
      const roots: RootRecord[] = [];
      await client.call("sessions", {}, { onItem: (piece) => roots.push(...piece) });
      return roots;
    },
    readHead: (root) => client.call("head", { root }),
    readPages: (root, fromSeq) => readPages(client, root, fromSeq),
    readBlob: async (digest) => {
      const pieces: Uint8Array[] = [];
      await client.call("blob", { digest }, { onItem: (piece) => pieces.push(Uint8Array.fromBase64(piece)) });
      return new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
    },
    readActors: async (root) => {
      const actors: ActorState[] = [];
      const rest = await client.call("actors", { root }, { onItem: (piece) => actors.push(...piece) });
      return rest === null ? undefined : { ...rest, actors };
    },
    async *follow(root, fromSeq, signal) {
      let next = fromSeq;
      for await (const page of readPages(client, root, fromSeq)) {
        yield page;
        next = (page.at(-1)?.seq ?? next - 1) + 1;
      }
      yield* followOn(client, { root, from: next }, signal);
    },
    createSession: (order) => client.call("create", { ...order, servers: [...order.servers] }),
    forkSession: (order) => client.call("fork", { ...order }),
    declareServers: async (session, home, servers) => {
      await client.call("servers", { session, home, servers: [...servers] });
    },
    refreshServers: (session) => client.call("refresh", { session }),
    prompt: async ({ session, request, key, fromSeq, answers, gone }, hear) => {
      const report = await client.call("prompt", { session, request, key, from: fromSeq, answers }, {
        onItem: (item) => hear(eventOf(item)),
        ...(gone === undefined ? {} : { signal: gone }),
      });
      return { ...report, failure: report.failure } satisfies TurnReport;
    },
    cancel: (session, order) => client.call("cancel", { session, ...order }),
    listTasks: async (session) => {
      const tasks: TaskRecord[] = [];
      const params = session === undefined ? {} : { session };
      await client.call("tasks", params, { onItem: (piece) => tasks.push(...piece) });
      return tasks;
    },
    cancelTask: async (session, task, reason) =>
      await client.call("task_cancel", { session, task, reason }) ?? undefined,
    untilTaskEnded: async (session, task, signal) =>
      await client.call("task_end", { session, task }, { signal }) ?? undefined,
    followTask: (session, task, { follow, signal }) => followTask(client, { session, task, follow }, signal),
    ...remoteTokens(client),
    deleteSchedule: (schedule) => client.call("unschedule", { schedule }),
    listQuestions: async () => {
      const questions: OpenQuestion[] = [];
      await client.call("questions", {}, { onItem: (piece) => questions.push(...piece.map(readQuestion)) });
      return questions;
    },
    answer: async (question, { decision, shown, note, content }) => {
      const filled = content === undefined ? {} : { content: content as JsonObject };
      await client.call("answer", { question, decision, shown, note, ...filled });
    },
    close: () => client.close(),
  };
}

/** Asks for one stretch after the other: a long stream never waits in this process's memory. */
async function* readPages(
  client: DoorClient,
  root: RootAddress,
  fromSeq = 1,
): AsyncIterable<readonly Entry[]> {
  for (let from = fromSeq;;) {
    const stretch: Entry[] = [];
    const params = { root, from, follow: false, max: entriesPerStretch };
    await client.call("entries", params, { onItem: (piece) => stretch.push(...piece) });
    if (stretch.length > 0) yield stretch;
    if (stretch.length < entriesPerStretch) return;
    from = (stretch.at(-1)?.seq ?? from) + 1;
  }
}

async function* followOn(
  client: DoorClient,
  { root, from }: { readonly root: RootAddress; readonly from: number },
  signal: AbortSignal,
): AsyncIterable<readonly Entry[]> {
  const queue = new EventQueue<readonly Entry[]>(limits.watchEventsBufferedMax);
  const params = { root, from, follow: true };
  const ended = client.call("entries", params, { onItem: (piece) => queue.push(piece), signal });
  ended.then(() => queue.close(), () => queue.close());
  if (await (yield* queue.take()) === "lost") {
    throw new EventsLostError("Cannot keep up: too many entries were waiting; follow again");
  }
  await ended;
}

/** Pieces come at the pace of whoever reads them as far as there is room; beyond it the log itself forgets. */
async function* followTask(
  client: DoorClient,
  params: DoorParams<"task_log">,
  signal: AbortSignal,
): AsyncIterable<TaskSaid> {
  const queue = new EventQueue<TaskSaid>(limits.watchEventsBufferedMax);
  const ended = client.call("task_log", params, { onItem: (piece) => queue.push(piece), signal });
  ended.then(() => queue.close(), () => queue.close());
  if (await (yield* queue.take()) === "lost") {
    throw new EventsLostError("Cannot keep up: too much of the log was waiting; follow again");
  }
  await ended;
}

function eventOf(item: DoorItem<"prompt">): HostEvent {
  if (item.type === "question") return { type: "question", question: readQuestion(item.question) };
  return item as HostEvent;
}
