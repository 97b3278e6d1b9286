/** What the tools of a session keep together: changed by merge patches, in the order in which a turn merges them (LC-19). */
import { type Failure, failure } from "../../schemas/failure.ts";
import { isJson, type Json, type JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { throughJson } from "../canonical.ts";
import type { TaskNews } from "../../schemas/ids.ts";

/** The state with one change: objects are merged, null removes, everything else replaces. Neither is changed itself. */
export function mergeState(state: JsonObject, change: JsonObject): JsonObject {
  const merged = new Map<string, Json>(Object.entries(state));
  for (const [key, wanted] of Object.entries(change)) {
    if (wanted === null) merged.delete(key);
    else if (isObject(wanted)) merged.set(key, mergeState(objectIn(merged.get(key)), wanted));
    else merged.set(key, wanted);
  }
  return Object.fromEntries(merged);
}

function objectIn(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a call brings about beside its result. */
export interface CallEffects {
  /** Changes of the session's state, in order. */
  readonly changes: readonly JsonObject[];
  /** Tasks of whose end the result tells the model. */
  readonly told: readonly TaskNews[];
}

/** Of a call that brings about nothing beside its result. */
export const noEffects: CallEffects = { changes: [], told: [] };

/** Takes the changes of one call while it runs. They count once its outcome stands in the journal, and only then. */
export class StateChanges {
  readonly #changes: JsonObject[] = [];
  readonly #told = new Set<TaskNews>();
  #state: JsonObject;
  #bytes = 0;
  #isOver = false;

  /** `state` is the session's as the call's stage began. */
  constructor(state: JsonObject) {
    this.#state = state;
  }

  /** Queues a change. Returns why it is not taken, if it is not. */
  take(change: JsonObject): Failure | undefined {
    if (this.#isOver) return failure("tool_canceled", "The call is over: it changes nothing any more");
    if (!isJson(change) || !isObject(change)) {
      return failure("arguments_invalid", "A change of the session's state is a JSON object");
    }
    const state = mergeState(this.#state, change);
    const bytes = this.#bytes + bytesOf(change);
    const isTooMuch = bytes > limits.stateChangeBytesMax || bytesOf(state) > limits.sessionStateBytesMax ||
      this.#changes.length >= limits.stateChangesMax;
    if (isTooMuch) {
      const [one, all] = [limits.stateChangeBytesMax, limits.sessionStateBytesMax];
      return failure(
        "too_large",
        `Cannot keep this: a call may change ${one} bytes, and a session keep ${all}`,
      );
    }
    this.#changes.push(throughJson(change));
    this.#state = state;
    this.#bytes = bytes;
    return undefined;
  }

  /** The result of the call tells the model how a task ended. */
  tell(task: TaskNews): void {
    if (!this.#isOver) this.#told.add(task);
  }

  /** All that was queued; nothing is taken from now on. */
  end(): CallEffects {
    this.#isOver = true;
    return { changes: this.#changes, told: [...this.#told] };
  }
}

function bytesOf(value: Json): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
