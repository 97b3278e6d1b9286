/** Starts, cancels and ends effects. One performance per intent and runtime; outcomes go to the root's mailbox. */
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import { type IntentId, intentKey, type RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { PortKind, PortRequest } from "../../schemas/effect.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import { givenUp, noLongerWanted } from "../effects/deadline.ts";
import { exhaustionAdvice, isExhausted } from "../exhaustion.ts";
import type { Performance, Performer, PerformerResult } from "../effects/performer.ts";
import type { PortRecord } from "./desk.ts";
import { type Kernel, type Running, tell } from "./kernel.ts";
import { writeNote } from "./note.ts";
import { deliver } from "./route.ts";

/** What to start, and how. */
export interface Start {
  readonly root: RootAddress;
  readonly record: PortRecord;
  readonly attempt: number;
  /** True before the intent's unit is durable: then the id alone may not leave the process (K3). */
  readonly early: boolean;
  /** Called once the performance has ended, however it did. */
  readonly onEnd?: () => void;
}

/** Starts one performance. A no-op if the intent is running, was withdrawn, or the runtime has stopped (K22). */
export function start(kernel: Kernel, what: Start): void {
  const { root, record, attempt, early } = what;
  const key = intentKey(root, record.id);
  if (kernel.stopped !== undefined || record.withdrawn || kernel.running.has(key)) return;
  const running: Running = {
    attempt,
    effect: record.request.effect,
    abort: new AbortController(),
    started: true,
    late: [],
    isOver: false,
  };
  kernel.running.set(key, running);
  if (early && record.request.port === "mcp.call") noteEarly(kernel, key);
  perform(kernel, what, running, early ? earlyKey(kernel, root, key) : outsideKey(kernel, root, record.id));
}

/** What could hurt begins only while nobody else can have taken the root over; after a pause the store is asked (K17). */
function perform(kernel: Kernel, what: Start, running: Running, key: string): void {
  const { ownership } = kernel.journal;
  const { root, record: { request } } = what;
  if (request.effect === "idempotent" || ownership.holds(root)) return performNow(kernel, what, running, key);
  const own = intentKey(root, what.record.id);
  ownership.confirm(root).then((isOurs) => {
    if (isOurs && kernel.running.get(own) === running) performNow(kernel, what, running, key);
  }, (error) => finish(kernel, what, running, notBegun(request.effect, error)));
}

/** Nothing was begun: that is certain whatever its effect. */
function notBegun(effect: EffectClass, error: unknown): PerformerResult {
  const message = error instanceof Error ? error.message : String(error);
  const why = failure(
    "interrupted",
    `It was not begun, because the lease could not be looked at: ${message}`,
  );
  return { status: effect === "idempotent" ? "failed" : "canceled", failure: why };
}

function performNow(kernel: Kernel, what: Start, running: Running, key: string): void {
  const { root, record, attempt } = what;
  const performance: Performance = {
    root,
    id: record.id,
    key: downstreamKey(kernel, { root, request: record.request, own: key }),
    attempt,
    request: record.request,
    signal: running.abort.signal,
    report: (progress) => tell(kernel, { type: "progress", root, id: record.id, progress }),
    standing: (words) => void (running.standing = words),
    late: (result) => takeLate(kernel, what, running, result),
    note: (type, body) => {
      const live = kernel.roots.get(root);
      // Also after a cancel: until its grace is over, what became of the effect is waited for.
      const isAwaited = kernel.running.get(intentKey(root, record.id)) === running;
      if (kernel.stopped !== undefined || live === undefined || !isAwaited) return;
      writeNote(kernel, live, { kind: "note", type, body });
    },
  };
  const performer = kernel.performers[record.request.port] as unknown as Performer<PortKind>;
  const settle = (result: PerformerResult) => finish(kernel, what, running, result);
  try {
    performer(performance).then(settle, (error) => settle(fault(record.request.effect, error)));
  } catch (error) {
    // A performer that throws at once is treated like one that rejects, but never within the crank that started it.
    Promise.resolve().then(() => settle(fault(record.request.effect, error)));
  }
}

/**
 * The name of an intent outside. Behind a cut its position may have meant something else before (K3): a target that
 * deduplicates must not take the one for the other.
 */
function outsideKey({ records }: Kernel, root: RootAddress, id: IntentId): string {
  const cut = records.get(root)?.cut;
  const isAnother = cut !== undefined && Number.parseInt(id) > cut.seq;
  return isAnother ? `${intentKey(root, id)}@${cut.epoch}` : intentKey(root, id);
}

function earlyKey({ journal }: Kernel, root: RootAddress, key: string): string {
  return `${key}@${journal.ownership.epochOf(root)}`;
}

/** A call that is forgotten here is only tried again under its bare id, which harms nobody: early calls are idempotent. */
function noteEarly({ earlyCalls }: Kernel, key: string): void {
  earlyCalls.add(key);
  const [oldest] = earlyCalls;
  if (earlyCalls.size > limits.earlyCallsNotedMax && oldest !== undefined) earlyCalls.delete(oldest);
}

/** The key stays the first attempt's, so that a target that deduplicates meets the same key again. */
function downstreamKey(
  kernel: Kernel,
  { root, request, own }: { readonly root: RootAddress; readonly request: PortRequest; readonly own: string },
): string {
  if (!("origin" in request.args) || request.args.key === undefined) return own;
  const first = intentKey(root, request.args.key);
  return kernel.earlyCalls.has(first)
    ? earlyKey(kernel, root, first)
    : outsideKey(kernel, root, request.args.key);
}

function finish(kernel: Kernel, what: Start, running: Running, result: PerformerResult): void {
  what.onEnd?.();
  const key = intentKey(what.root, what.record.id);
  // After a cancel's grace the entry is gone: the late result goes on as evidence (K12).
  if (kernel.running.get(key) === running) kernel.running.delete(key);
  running.patience?.abort(givenUp);
  if (kernel.stopped !== undefined) return;
  const { id, request } = what.record;
  const { attempt, late } = running;
  end(kernel, what.root, { id, attempt, result: withDoubt(request.effect, attempt, result) });
  running.isOver = true;
  for (const one of late.splice(0)) end(kernel, what.root, { id, attempt, result: one });
}

/** What comes after a result is delivered after it, and so is evidence (K12). */
function takeLate(kernel: Kernel, { root, record }: Start, running: Running, result: PerformerResult): void {
  if (!running.isOver) return void running.late.push(result);
  if (kernel.stopped === undefined) end(kernel, root, { id: record.id, attempt: running.attempt, result });
}

/**
 * What the last attempt says, as far as it is true of them all: that it was not applied says nothing of an earlier one,
 * which a crash cut off (R3).
 */
function withDoubt(effect: EffectClass, attempt: number, result: PerformerResult): PerformerResult {
  if (attempt === 1 || effect === "idempotent" || result.status === "ok") return result;
  const message = `An earlier attempt may have been applied; the last one: ${result.failure.message}`;
  return { status: "unknown", failure: failure("tool_outcome_unknown", message) };
}

/** A performer's fault: what is known depends on what a repeat would do (R3). */
export function fault(effect: EffectClass, error: unknown): PerformerResult {
  const message = error instanceof Error ? error.message : String(error);
  if (effect === "idempotent" && isExhausted(error)) {
    return {
      status: "failed",
      failure: retryableFailure("resource_exhausted", `The effect failed: ${exhaustionAdvice}`),
    };
  }
  if (effect === "idempotent") {
    return { status: "failed", failure: failure("tool_failed", `The effect failed: ${message}`) };
  }
  return { status: "unknown", failure: failure("tool_outcome_unknown", `The effect broke off: ${message}`) };
}

/**
 * Answers a machine's cancel (K11): an effect that never started ends `canceled` at once; a running one is asked to
 * stop and its real outcome awaited; after its grace nothing more is known. `attempt` counts those of earlier runtimes.
 */
export function cancel(kernel: Kernel, root: RootAddress, record: PortRecord, attempt: number): void {
  const key = intentKey(root, record.id);
  const running = kernel.running.get(key);
  const { effect } = record.request;
  if (running === undefined || !running.started) {
    record.withdrawn = true;
    kernel.running.delete(key);
    return end(kernel, root, { id: record.id, attempt, result: withDoubt(effect, attempt, canceled()) });
  }
  running.abort.abort(noLongerWanted);
  const graceMs = graceOf(record.request.port);
  const graceEndsAt = kernel.seams.clock.now() + graceMs;
  const patience = running.patience ??= new AbortController();
  kernel.seams.clock.sleepUntil(graceEndsAt, patience.signal).then(() => {
    if (kernel.stopped !== undefined || kernel.running.get(key) !== running) return;
    kernel.running.delete(key);
    const result: PerformerResult = effect === "idempotent" ? canceled() : unknownAfterCancel(graceMs);
    end(kernel, root, { id: record.id, attempt: running.attempt, result });
  });
}

/** How long a canceled effect is waited for: 5 s; the work of a task until nothing of it is left (DM-104). Milliseconds. */
function graceOf(port: PortKind): number {
  return port === "task.run" ? limits.taskEndingMsMax : limits.cancelGraceMs;
}

function end(
  kernel: Kernel,
  root: RootAddress,
  outcome: { id: IntentId; attempt: number; result: PerformerResult },
): void {
  deliver(kernel, root, { kind: "outcome", ...outcome });
}

function canceled(): PerformerResult {
  return {
    status: "canceled",
    failure: failure("tool_canceled", "The call was canceled before it was made"),
  };
}

function unknownAfterCancel(graceMs: number): PerformerResult {
  const seconds = graceMs / 1_000;
  return {
    status: "unknown",
    failure: failure(
      "tool_outcome_unknown",
      `The call was canceled, and did not say within ${seconds} s whether it stopped`,
    ),
  };
}

/** Tells performers that nobody waits for these any more (K11: idempotent effects only). */
export function abandon(kernel: Kernel, root: RootAddress, ids: readonly IntentId[]): void {
  for (const id of ids) {
    const key = intentKey(root, id);
    kernel.running.get(key)?.abort.abort();
    kernel.running.delete(key);
  }
}

/**
 * Starts a re-ask behind the admission gate: at most 8 at once, so that a restart is no stampede (K19). None passes before
 * recovery is over: what they bring would all stand before the first thing that a client asks.
 */
export function restart(kernel: Kernel, what: Start): void {
  const key = intentKey(what.root, what.record.id);
  if (kernel.stopped !== undefined || what.record.withdrawn || kernel.running.has(key)) return;
  if (onlyWaits(what.record.request.port)) return start(kernel, what);
  const { effect } = what.record.request;
  const running: Running = {
    attempt: what.attempt,
    effect,
    abort: new AbortController(),
    started: false,
    late: [],
    isOver: false,
  };
  kernel.running.set(key, running);
  const begin = () => {
    if (kernel.running.get(key) !== running) return admitNext(kernel);
    kernel.reasks.active += 1;
    const { clock } = kernel.seams;
    clock.sleepUntil(clock.now() + kernel.seams.random() * limits.reaskJitterMs).then(() => {
      if (kernel.stopped !== undefined || kernel.running.get(key) !== running) return leaveGate(kernel);
      running.started = true;
      const own = outsideKey(kernel, what.root, what.record.id);
      perform(kernel, { ...what, onEnd: () => leaveGate(kernel) }, running, own);
    });
  };
  if (!kernel.paused && kernel.reasks.active < limits.reasksAtOnceMax) begin();
  else kernel.reasks.waiting.push(begin);
}

/** Recovery is over: opens the gate. */
export function openGate(kernel: Kernel): void {
  for (let places = limits.reasksAtOnceMax - kernel.reasks.active; places > 0; places--) admitNext(kernel);
}

/**
 * Timers, questions and the tasks of others wait, they do no work: the gate is not for them, and that they go on waiting
 * is no new attempt at anything.
 */
export function onlyWaits(port: PortKind): boolean {
  return port === "timer.set" || port === "question.ask" || port === "mcp.task";
}

function admitNext(kernel: Kernel): void {
  kernel.reasks.waiting.shift()?.();
}

function leaveGate(kernel: Kernel): void {
  kernel.reasks.active -= 1;
  admitNext(kernel);
}

/** A failure that says why an intent is not asked again. */
export function interrupted(attempts: number): Failure {
  return failure(
    "interrupted",
    `The runtime stopped ${attempts} times while this was under way, so it is given up`,
  );
}
