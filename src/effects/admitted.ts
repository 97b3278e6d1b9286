/** Lets requests to a model in one by one: through the gate of their provider, which is closed for a while after a 429. */
import type { IntentId, RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { Admission, Queued } from "../model/admission.ts";
import { ModelError, type ModelProvider, splitModel } from "../model/provider.ts";
import type { Performance, PerformerResult } from "./performer.ts";

/** What is let in. */
export interface Admitted {
  readonly admission: Admission;
  readonly root: RootAddress;
  readonly id: IntentId;
  /** The whole string: provider, slash, model. */
  readonly model: string;
  readonly providerOf: (
    name: string,
    root: RootAddress,
    model: string,
  ) => ModelProvider | undefined | Promise<ModelProvider | undefined>;
}

/**
 * Does `work` once the provider may be asked. `waitedMs`: how long that took, which is not the request's own time. A wait
 * is noted in the journal, and shown while it lasts.
 */
export async function admitted(
  { admission, root, id, model, providerOf }: Admitted,
  call: Pick<Performance, "signal" | "note" | "report" | "standing">,
  work: (waitedMs: number) => Promise<PerformerResult>,
): Promise<PerformerResult> {
  const { provider, atOnce } = await gateOf(model, (name) => providerOf(name, root, model));
  // Any number at once: there is no gate, and none to be closed.
  if (atOnce === Infinity) return await work(0);
  const onWait = (queued: Queued, now: () => Queued) => {
    call.note?.(queuedNote, { intent: id, provider, ...queued });
    const words = (standing: Queued) => `waits to be let in to ${provider}: ${whyNot(standing, atOnce)}`;
    call.report({ type: "tool", message: words(queued) });
    call.standing?.(() => words(now()));
  };
  let lease;
  try {
    lease = await admission.enter({ provider, atOnce, signal: call.signal, onWait });
  } catch (error) {
    if (error instanceof ModelError) return { status: "failed", failure: error.failure };
    throw error;
  } finally {
    call.standing?.(undefined);
  }
  if (lease === undefined) return await work(0); // Nobody wants it any more: it says so itself.
  try {
    const result = await work(lease.waitedMs);
    if (result.status === "failed" && result.failure.code === "model_rate_limited") {
      admission.coolDown(provider, result.failure.retryAfterMs);
    }
    return result;
  } finally {
    lease.release();
  }
}

function whyNot({ ahead, coolsUntilMs }: Queued, atOnce: number): string {
  if (coolsUntilMs === null) return `${ahead} wait before it, for one of ${atOnce} places`;
  return `it wants to be left alone until ${new Date(coolsUntilMs).toISOString()}, ${ahead} wait before it`;
}

/** The note of a request that waits to be let in. */
export const queuedNote = "model.queued";

interface Gate {
  readonly provider: string;
  /** Requests that it takes at once. */
  readonly atOnce: number;
}

/** The gate of the provider that serves a model, whatever name it has there. One that cannot be had is told by whoever asks it. */
async function gateOf(
  model: string,
  find: (name: string) => ReturnType<Admitted["providerOf"]>,
): Promise<Gate> {
  const [name] = splitModel(model);
  const unknown = { provider: name, atOnce: limits.modelRequestsAtOnceDefault };
  try {
    const found = await find(name);
    return found === undefined
      ? unknown
      : { provider: found.name, atOnce: found.concurrency ?? unknown.atOnce };
  } catch {
    return unknown;
  }
}
