/** Ids, addresses and positions: who is meant, and where in which stream. */
import { z } from "zod";
import { limits } from "./limits.ts";

/** A minted id: a prefix, `_` and a ULID (26 characters, Crockford base 32, sorts by creation). */
function minted(prefix: string): RegExp {
  return new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`);
}

/** Id of a session, `ses_` and a ULID. */
export const SessionId = z.string().regex(minted("ses"), "must look like ses_ and 26 letters or digits")
  .brand("SessionId");
/** Id of a session. */
export type SessionId = z.infer<typeof SessionId>;

/** Id of an installation, that is of one store and what is kept in it: `ins_` and a ULID. */
export const InstallationId = z.string().regex(minted("ins"), "must look like ins_ and 26 letters or digits")
  .brand("InstallationId");
/** Id of an installation. */
export type InstallationId = z.infer<typeof InstallationId>;

/** Id of a background task: `tsk_` and a ULID. */
export const TaskId = z.string().regex(minted("tsk"), "must look like tsk_ and 26 letters or digits")
  .brand("TaskId");
/** Id of a background task. */
export type TaskId = z.infer<typeof TaskId>;

/** News of a task that a model was told: its end, or `#n`, the nth answer of the child agent that it runs. */
export const TaskNews = z.string().regex(/^tsk_[0-9A-HJKMNP-TV-Z]{26}(?:#[1-9][0-9]{0,8})?$/);
/** News of a task that a model was told. */
export type TaskNews = z.infer<typeof TaskNews>;

/** The kinds of root actors that this release knows; the first part of a root's address. */
export const RootKind = z.enum([
  "session",
  "catalog",
  "connection",
  "schedule",
  "supervisor",
  "task",
  "audit",
]);
/** A kind of root actor. */
export type RootKind = z.infer<typeof RootKind>;

/** Address of a root actor: `<kind>/<name>`, at most 128 bytes, for example `session/ses_01J…`. */
export const RootAddress = z.string().max(limits.idBytesMax).regex(
  /^[a-z]+\/[A-Za-z0-9_.@-]+$/,
  "must be an address such as session/ses_…",
);
/** Address of a root actor. */
export type RootAddress = z.infer<typeof RootAddress>;

/** Id of an MCP server: no underscore, so that the first `__` of a provider name splits one way. */
export const ServerId = z.string().regex(
  /^[a-z][a-z0-9-]{0,23}$/,
  "must be lower-case letters, digits and dashes, beginning with a letter, at most 24",
);
/** Id of an MCP server. */
export type ServerId = z.infer<typeof ServerId>;

/** Address of the connection to a server in the scope of one session: `connection/<server>@<id of the session>`. */
export function connectionAddress(server: ServerId, session: RootAddress): RootAddress {
  return `connection/${server}@${nameOf(session)}`;
}

/** Address of a task of a session: `task/<id>@<id of the session>`. Whoever builds it can mean no other session's. */
export function taskAddress(task: TaskId, session: RootAddress): RootAddress {
  return `task/${task}@${nameOf(session)}`;
}

/** The server that a connection leads to. */
export function serverOf(connection: RootAddress): ServerId {
  return nameOf(connection).replace(/@.*$/, "");
}

/** The session that a root belongs to: itself, or that of its catalog, connection, schedule or task; else undefined. */
export function sessionOf(root: RootAddress): RootAddress | undefined {
  switch (rootKindOf(root)) {
    case "session":
      return root;
    case "catalog":
      return `session/${nameOf(root)}`;
    case "connection":
    case "schedule":
    case "task":
      return `session/${nameOf(root).replace(/^[^@]*@/, "")}`;
    default:
      return undefined;
  }
}

function nameOf(root: RootAddress): string {
  return root.slice(root.indexOf("/") + 1);
}

/** Position of an intent inside its stream: `<seq of the entry that began the crank>.<n>` (K2). */
export const IntentId = z.string().regex(/^[1-9][0-9]*\.[0-9]+$/, "must be a position such as 12.0");
/** Position of an intent inside its stream. */
export type IntentId = z.infer<typeof IntentId>;

/** SHA-256 in lower-case hexadecimal, with its algorithm in front: `sha256:…`. */
export const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/, "must be sha256: and 64 hexadecimal digits");
/** A content hash. */
export type Digest = z.infer<typeof Digest>;

/** Id of an intent seen from outside its stream: `<address>#<seq>.<n>`. The idempotency key passed downstream. */
export function intentKey(root: RootAddress, id: IntentId): string {
  return `${root}#${id}`;
}

/** The kind in front of a root's address, or undefined if this release has no such kind. */
export function rootKindOf(address: RootAddress): RootKind | undefined {
  const kind = RootKind.safeParse(address.slice(0, address.indexOf("/")));
  return kind.success ? kind.data : undefined;
}

/** Orders intent ids by position, so that re-asks and stops happen in the order of the asks (K5). */
export function comparePositions(left: IntentId, right: IntentId): number {
  const [leftSeq = "0", leftN = "0"] = left.split(".");
  const [rightSeq = "0", rightN = "0"] = right.split(".");
  return Number(leftSeq) - Number(rightSeq) || Number(leftN) - Number(rightN);
}
