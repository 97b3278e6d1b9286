/** The pure decisions of a supervisor: who restarts with whom, when, and when enough is enough. */
import type { Failure } from "../schemas/failure.ts";
import type { PortRequestOf } from "../schemas/effect.ts";
import type { ChildSpec, SupervisorPolicy } from "../schemas/supervision.ts";

/** Children of one supervisor, and endings that wait. Beyond it a child is not added, and an ending is only noted. */
export const supervisedChildrenMax = 1_000;
/** Restarts remembered; beyond it the oldest count no more. */
const restartMarksMax = 1_000;

/** A child that ended: by a crash, or by itself (`failure` is null). */
export interface Ending {
  readonly child: string;
  readonly failure: Failure | null;
  readonly at: number;
}

/** A restart that happened, for the count of intensity. */
export interface RestartMark {
  readonly child: string;
  readonly at: number;
}

/** What is being done about one ending. */
export interface RestartPlan {
  readonly ending: Ending;
  /** `leave`: not restarted; `restart`: the children of `stop`, then a wait, then those of `start`; `escalate`. */
  readonly verdict: "leave" | "restart" | "escalate";
  /** Restarts within the period, this one not counted. */
  readonly restarts: number;
  /** Still to be stopped, in reverse start order. */
  readonly stop: readonly ChildSpec[];
  /** Still to be started, in start order. */
  readonly start: readonly ChildSpec[];
  /** The child that is being stopped or started now. */
  readonly current: ChildSpec | null;
  readonly dueAtMs: number;
  readonly jitterMs: number;
}

/** What a supervisor remembers of its children. */
export interface Ledger {
  /** In start order. */
  readonly children: readonly ChildSpec[];
  readonly restarts: readonly RestartMark[];
  /** Endings that wait, oldest first. */
  readonly queue: readonly Ending[];
  readonly plan: RestartPlan | null;
}

/** True if a child can be added: there is room, or it is known. */
export function hasRoomForChild(ledger: Ledger, child: string): boolean {
  return ledger.children.length < supervisedChildrenMax || ledger.children.some((one) => one.child === child);
}

/** True if a child's ending can wait: there is room, or one waits already. */
export function hasRoomForEnding(ledger: Ledger, child: string): boolean {
  return ledger.queue.length < supervisedChildrenMax || ledger.queue.some((one) => one.child === child);
}

/** Adds a child at the end of the start order; one that is known keeps its place and gets the new spec. */
export function addChild(ledger: Ledger, spec: ChildSpec): Ledger {
  const isKnown = ledger.children.some((one) => one.child === spec.child);
  const children = isKnown
    ? ledger.children.map((one) => one.child === spec.child ? spec : one)
    : [...ledger.children, spec];
  return { ...ledger, children };
}

/** Forgets a child: it is not restarted any more, also not by the plan at hand. What is under way goes on. */
export function removeChild(ledger: Ledger, child: string): Ledger {
  const others = <T extends { readonly child: string }>(list: readonly T[]) =>
    list.filter((one) => one.child !== child);
  const { plan } = ledger;
  return {
    children: others(ledger.children),
    restarts: others(ledger.restarts),
    queue: others(ledger.queue),
    plan: plan === null ? null : { ...plan, stop: others(plan.stop), start: others(plan.start) },
  };
}

/** Queues an ending. One waiting ending a child is enough: the first one says when. */
export function queueEnding(ledger: Ledger, ending: Ending): Ledger {
  if (ledger.queue.some((one) => one.child === ending.child)) return ledger;
  return { ...ledger, queue: [...ledger.queue, ending] };
}

/** Takes the oldest ending and plans what to do about it. Crashes that no longer count are forgotten here. */
export function planNext(ledger: Ledger, policy: SupervisorPolicy): Ledger {
  const [ending, ...queue] = ledger.queue;
  if (ending === undefined) return { ...ledger, plan: null };
  const spec = ledger.children.find((one) => one.child === ending.child) ??
    { child: ending.child, ...policy.childDefault };
  const restarts = ledger.restarts.filter((mark) => mark.at > ending.at - policy.periodMs);
  const next = { ...ledger, queue, restarts };
  if (!isRestarted(spec, ending)) return leave(next, spec, ending);
  const counted =
    restarts.filter((mark) => policy.strategy !== "one_for_one" || mark.child === ending.child).length;
  if (counted >= policy.restartsMax) return escalate(next, spec, ending, counted);
  return restart(next, spec, { ending, policy, counted });
}

/** Moves the next child to be stopped to `current`. */
export function nextStop(ledger: Ledger): Ledger {
  const [current, ...stop] = ledger.plan?.stop ?? [];
  return ledger.plan === null
    ? ledger
    : { ...ledger, plan: { ...ledger.plan, stop, current: current ?? null } };
}

/** Moves the next child to be started to `current`. What it suffered before this start is settled by it. */
export function nextStart(ledger: Ledger): Ledger {
  const { plan } = ledger;
  const [current, ...start] = plan?.start ?? [];
  if (plan === null || current === undefined) return ledger;
  const queue = ledger.queue.filter((ending) => ending.child !== current.child);
  return { ...ledger, queue, plan: { ...plan, start, current } };
}

/** A start that did not end well is one more crash of that child. */
export function failStart(ledger: Ledger, failure: Failure, at: number): Ledger {
  const child = ledger.plan?.current?.child;
  return child === undefined ? ledger : queueEnding(ledger, { child, failure, at });
}

/** Ends the plan at hand. What a child in quarantine still suffered is settled by it. */
export function closePlan(ledger: Ledger): Ledger {
  const { plan, queue } = ledger;
  if (plan?.verdict !== "escalate") return { ...ledger, plan: null };
  return { ...ledger, plan: null, queue: queue.filter((ending) => ending.child !== plan.ending.child) };
}

/** The wait before a restart. */
export function timerRequest(plan: RestartPlan): PortRequestOf<"timer.set"> {
  const { dueAtMs, jitterMs } = plan;
  const label = `restart ${plan.ending.child}`.slice(0, 100);
  return { port: "timer.set", effect: "idempotent", args: { dueAtMs, jitterMs, label } };
}

/** Starts a child, from snapshot and journal or from nothing. */
export function startRequest({ child, comeBack }: ChildSpec): PortRequestOf<"child.start"> {
  const mode = comeBack === "clean" ? "clean" : "resume";
  return { port: "child.start", effect: "idempotent", args: { child, mode } };
}

/** Stops a child; in quarantine it takes no messages until an operator looks at it. */
export function stopRequest(
  { child, stopGraceMs }: ChildSpec,
  quarantine: boolean,
): PortRequestOf<"child.stop"> {
  return { port: "child.stop", effect: "idempotent", args: { child, graceMs: stopGraceMs, quarantine } };
}

/** True if an ending is answered by a restart: every one, crashes only, none. */
function isRestarted(spec: ChildSpec, ending: Ending): boolean {
  if (spec.comeBack === "never") return false;
  switch (spec.restart) {
    case "permanent":
      return true;
    case "transient":
      return ending.failure !== null;
    case "temporary":
      return false;
  }
}

function leave(ledger: Ledger, spec: ChildSpec, ending: Ending): Ledger {
  const plan = { ...emptyPlan(ending), verdict: "leave" as const };
  return { ...removeChild(ledger, spec.child), plan };
}

function escalate(ledger: Ledger, spec: ChildSpec, ending: Ending, restarts: number): Ledger {
  const plan = { ...emptyPlan(ending), verdict: "escalate" as const, restarts, current: spec };
  return { ...removeChild(ledger, spec.child), plan };
}

function emptyPlan(ending: Ending): RestartPlan {
  return {
    ending,
    verdict: "leave",
    restarts: 0,
    stop: [],
    start: [],
    current: null,
    dueAtMs: ending.at,
    jitterMs: 0,
  };
}

/** What a restart is decided by. */
interface RestartCase {
  readonly ending: Ending;
  readonly policy: SupervisorPolicy;
  readonly counted: number;
}

function restart(ledger: Ledger, spec: ChildSpec, { ending, policy, counted }: RestartCase): Ledger {
  const children = ledger.children.some((one) => one.child === spec.child)
    ? ledger.children
    : [...ledger.children, spec];
  const place = children.findIndex((one) => one.child === spec.child);
  const group = children.filter((one, index) =>
    one.child === spec.child || policy.strategy === "one_for_all" ||
    (policy.strategy === "rest_for_one" && index > place)
  );
  const delayMs = Math.min(policy.backoffFirstMs * 2 ** counted, policy.backoffMsMax);
  const plan: RestartPlan = {
    ...emptyPlan(ending),
    verdict: "restart",
    restarts: counted,
    stop: group.filter((one) => one.child !== spec.child).reverse(),
    start: group.filter((one) =>
      one.child === spec.child || (one.restart !== "temporary" && one.comeBack !== "never")
    ),
    dueAtMs: ending.at + delayMs,
    jitterMs: Math.floor(delayMs / 2),
  };
  const gone = new Set(group.filter((one) => !plan.start.includes(one)).map((one) => one.child));
  if (!hasRoomForChild(ledger, spec.child)) gone.add(spec.child);
  return {
    ...ledger,
    children: children.filter((one) => !gone.has(one.child)),
    queue: ledger.queue.filter((one) => !gone.has(one.child)),
    restarts: [...ledger.restarts, { child: ending.child, at: ending.at }].slice(-restartMarksMax),
    plan,
  };
}
