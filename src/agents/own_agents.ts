/** The child agents of one session, as a call of its tools sees them. */
import type { Failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { cleanText } from "../effects/clean.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { AgentDesk, Child, ChildOrder, GroupAwaited, Patience } from "./agent_desk.ts";
import type { CloseStrictness } from "../../schemas/child_agent.ts";

/** What a tool says of a child that it wants. */
export type WantedChild = Omit<ChildOrder, "owner" | "key" | "origin" | "known" | "signal">;

/** What a tool may do with children of its own session; of others it cannot even ask (CM-107). */
export interface OwnAgents {
  /** Begins a child that follows from this call: tried again, it is the same one (GA-54). */
  spawn(wanted: WantedChild): Promise<Child | Failure>;
  list(): Promise<readonly Child[]>;
  find(id: string): Promise<Child | undefined>;
  send(child: Child, text: string): Promise<Failure | undefined>;
  /** `member` tells several of one call apart. */
  close(child: Child, strictness: CloseStrictness, member?: string): Promise<Child>;
  untilTerminal(
    children: readonly Child[],
    patience: Patience,
  ): Promise<GroupAwaited>;
}

/** Whose children, and for which call. */
export interface AgentCall extends Pick<ChildOrder, "key" | "origin" | "known" | "signal"> {
  readonly owner: RootAddress;
  readonly redactor: Redactor;
}

/** The children of the session that calls. What they are told is without secrets, as everything that comes in. */
export function ownAgents(desk: AgentDesk, { redactor, ...call }: AgentCall): OwnAgents {
  const { owner, key, signal } = call;
  const clean = (text: string) => cleanText(redactor, text, "model");
  return Object.freeze({
    spawn: (wanted: WantedChild) =>
      desk.spawn({ ...call, ...wanted, content: clean(wanted.content), title: clean(wanted.title) }),
    list: () => desk.list(owner),
    find: (id: string) => desk.find(owner, id),
    send: (child: Child, text: string) => desk.send(child, { owner, key }, clean(text)),
    close: (child: Child, strictness: CloseStrictness, member = "") =>
      desk.close(child, { owner, key: `${key}${member}`, strictness, signal }),
    untilTerminal: (children: readonly Child[], patience: Patience) =>
      desk.untilTerminal(owner, children, { ...patience, signal }),
  });
}
