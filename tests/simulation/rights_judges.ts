/** Judges of who may do and see what: child agents against their parents, sessions against each other. */
import type { AgentDefinition } from "../../schemas/agent.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { rootInputs } from "../../schemas/message.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import { peek } from "../../src/peek.ts";
import type { Case } from "./judges.ts";

/** Modes from the strictest to the freest. */
const modes: readonly PermissionMode[] = ["plan", "default", "auto"];

/** Asks both. */
export function judgeRights(one: Case): void {
  judgeChildren(one);
  judgeSight(one);
}

function inputOf(entries: readonly Entry[] | undefined) {
  return rootInputs.session.safeParse(peek(entries?.[0]?.body, "input")).data;
}

function modelsOf({ model, model_fallbacks: others = [] }: AgentDefinition): readonly string[] {
  return [model, ...others];
}

/** I10: a child has no tool, capability, model, mode, depth or budget that its parent has not; it acts for no person. */
function judgeChildren({ streams, complain }: Case): void {
  for (const [root, entries] of streams) {
    const child = root.startsWith("session/") ? inputOf(entries) : undefined;
    if (child?.parent === undefined) continue;
    const parent = inputOf(streams.get(child.parent.session));
    if (parent === undefined) {
      complain("I10", `${root} has no parent that can be read`);
      continue;
    }
    const more = [
      ...child.agent.tools.filter((name) => !parent.agent.tools.includes(name)),
      ...child.agent.capabilities.filter((name) => !parent.agent.capabilities.includes(name)),
      ...modelsOf(child.agent).filter((name) => !modelsOf(parent.agent).includes(name)),
      ...modes.indexOf(child.mode) > modes.indexOf(parent.mode) ? [child.mode] : [],
      ...excessBudget(child.budget, parent.budget),
    ];
    if (more.length > 0) complain("I10", `${root} may do more than its parent: ${more.join(", ")}`);
    if ((child.scope?.depth ?? 0) <= (parent.scope?.depth ?? 0)) {
      complain("I10", `${root} is no deeper than its parent`);
    }
    if (child.principal.kind !== "agent") complain("I10", `${root} acts for a person`);
  }
}

type Amounts = { readonly [field: string]: number | undefined } | undefined;

function excessBudget(child: Amounts, parent: Amounts): string[] {
  return Object.entries(parent ?? {}).filter(([field, amount]) =>
    amount !== undefined && (child?.[field] ?? Infinity) > amount
  ).map(([field]) => field);
}

/** What a command's text says of whom it is for. */
export function markOf(key: string): string {
  return `mark-${key}.`;
}

/** I10: what a client tells one session is seen by that one, by its children, and by whom it is relayed to; by nobody else. */
function judgeSight({ evidence: { clients }, records, streams, complain }: Case): void {
  const parents = new Map(records.map(({ address, parent }) => [address, parent]));
  const isWithin = (root: RootAddress, session: RootAddress): boolean => {
    for (let at: RootAddress | undefined = root; at !== undefined; at = parents.get(at)) {
      if (at === session || at.endsWith(`@${session.slice("session/".length)}`)) return true;
    }
    return false;
  };
  const texts = new Map([...streams].map(([root, entries]) => [root, JSON.stringify(entries)]));
  for (const { command: { key, to, relayTo } } of clients.tickets) {
    const mine = [to, ...relayTo === undefined ? [] : [relayTo]].map((index) => clients.sessions[index]);
    for (const [root, text] of texts) {
      if (!text.includes(markOf(key)) || mine.some((one) => one !== undefined && isWithin(root, one))) {
        continue;
      }
      complain("I10", `${root} has seen what only ${mine.join(" and ")} was told by ${key}`);
    }
  }
}
