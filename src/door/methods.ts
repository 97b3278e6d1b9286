/** What the owner does for each method: what its own commands would do. */
import type { Entry } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import { throughJson } from "../canonical.ts";
import type { ActingHost, HostEvent } from "../host/host.ts";
import { EventQueue, EventsLostError } from "../host/event_queue.ts";
import {
  type DoorEnd,
  type DoorItem,
  type DoorMethod,
  type DoorParams,
  doorVersion,
  writeQuestion,
} from "./protocol.ts";
import { taskMethods } from "./task_methods.ts";
import { tokenMethods } from "./token_methods.ts";

/** What a method may use besides its parameters. */
export interface MethodCall<M extends DoorMethod> {
  readonly host: ActingHost;
  readonly params: DoorParams<M>;
  /** Sends a piece; resolves when there is room for the next one. */
  readonly send: (item: DoorItem<M>) => Promise<void>;
  /** Aborts when the client has gone, or asked to stop. */
  readonly signal: AbortSignal;
  /** Ends another request of the same connection. */
  readonly stop: (request: number) => void;
}

type Method<M extends DoorMethod> = (call: MethodCall<M>) => Promise<DoorEnd<M>>;

/** Text in one piece of an answer, in characters: far below the bound of a line, whatever its encoding. */
const pieceCharactersMax = 1_000_000;
/** Bytes of a blob in one piece. A multiple of three, so that every piece is whole base64. */
const blobPieceBytes = 3 * 100_000;
const rootsPerPiece = 1_000;
const actorsPerPiece = 50;

/** One method each: leave one out and this does not compile. */
export const methods: { readonly [M in DoorMethod]: Method<M> } = {
  ping: () => Promise.resolve({ pid: Deno.pid, v: doorVersion }),
  sessions: async ({ host, send }) => {
    const roots = await host.listRoots();
    for (let at = 0; at < roots.length; at += rootsPerPiece) await send(roots.slice(at, at + rootsPerPiece));
    return null;
  },
  head: ({ host, params }) => host.readHead(params.root),
  entries: async ({ host, params, send, signal }) => {
    const { root, from, follow, max = Infinity } = params;
    const pages = follow ? host.follow(root, from, signal) : host.readPages(root, from);
    let left = max;
    for await (const page of pages) {
      // A stream that is followed ends by itself, with what it has heard until now.
      if (signal.aborted && !follow) break;
      for (const piece of piecesOf(page.slice(0, left))) await send(piece);
      left -= page.length;
      if (left <= 0) break;
    }
    return null;
  },
  actors: async ({ host, params, send }) => {
    const live = await host.readActors(params.root);
    if (live === undefined) return null;
    const { actors, ...rest } = live;
    for (let at = 0; at < actors.length; at += actorsPerPiece) {
      await send(actors.slice(at, at + actorsPerPiece));
    }
    return rest;
  },
  blob: async ({ host, params, send }) => {
    const bytes = await host.readBlob(params.digest);
    for (let at = 0; at < bytes.length; at += blobPieceBytes) {
      await send(bytes.subarray(at, at + blobPieceBytes).toBase64());
    }
    return null;
  },
  create: ({ host, params }) => host.createSession(params),
  fork: ({ host, params }) => host.forkSession(params),
  servers: async ({ host, params: { session, home, servers } }) => {
    await host.declareServers(session, home, servers);
    return null;
  },
  refresh: async ({ host, params }) => [...await host.refreshServers(params.session)],
  prompt: givePrompt,
  cancel: ({ host, params: { session, ...order } }) => host.cancel(session, order),
  ...taskMethods,
  ...tokenMethods,
  unschedule: ({ host, params }) => host.deleteSchedule(params.schedule),
  questions: async ({ host, send }) => {
    for (const question of await host.listQuestions()) await send([writeQuestion(question)]);
    return null;
  },
  answer: async ({ host, params }) => {
    const { question, ...answer } = params;
    await host.answer(question, { ...answer, by: localOperator });
    return null;
  },
  stop: ({ params, stop }) => {
    stop(params.request);
    return Promise.resolve(null);
  },
};

/** Entries in pieces that fit into a line. */
function* piecesOf(entries: readonly Entry[]): Iterable<Entry[]> {
  let piece: Entry[] = [];
  let size = 0;
  for (const entry of entries) {
    const length = JSON.stringify(entry).length;
    if (piece.length > 0 && size + length > pieceCharactersMax) {
      yield piece;
      [piece, size] = [[], 0];
    }
    piece.push(entry);
    size += length;
  }
  if (piece.length > 0) yield piece;
}

/** The turn goes on whatever becomes of the client: it was accepted. Only its questions then have nobody to answer. */
async function givePrompt({ host, params, send, signal }: MethodCall<"prompt">): Promise<DoorEnd<"prompt">> {
  const { from, ...order } = params;
  const queue = new EventQueue<HostEvent>(limits.watchEventsBufferedMax);
  const sent = (async () => {
    const events = queue.take();
    for (let event = await events.next();; event = await events.next()) {
      if (signal.aborted || event.value === "closed") return;
      if (event.done) throw new EventsLostError("Cannot keep up: too many events were waiting; ask again");
      for (const piece of eventPieces(event.value)) await send(piece);
    }
  })();
  const report = host.prompt({ ...order, fromSeq: from, gone: signal }, (event) => queue.push(event));
  report.catch(() => {}); // A client that lost its place does not wait for it.
  sent.catch(() => {});
  try {
    // A client that is too slow is told so at once, not at the end of its turn.
    await Promise.race([report, sent]);
  } finally {
    queue.close();
  }
  await sent;
  return throughJson(await report) as DoorEnd<"prompt">;
}

function* eventPieces(event: HostEvent): Iterable<DoorItem<"prompt">> {
  switch (event.type) {
    case "entries":
      for (const entries of piecesOf(event.entries)) yield { type: "entries", root: event.root, entries };
      return;
    case "question":
      yield { type: "question", question: writeQuestion(event.question) };
      return;
    case "progress":
    case "question_closed":
    case "quarantined":
      yield event;
  }
}
