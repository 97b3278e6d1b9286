/**
 * States of earlier forms, made into what the machines of this release know: one pure step for each version and kind of
 * root, applied where a snapshot or a checkpoint is put into a machine (K21). A change of a machine that reads states of
 * both forms needs none; one that does not raises the version of its kind, and adds the step.
 */
import type { RootKind } from "../schemas/ids.ts";
import type { Json } from "../schemas/json.ts";

/** Makes a persisted state of one version into one of the next. Pure; keeps children and open intents as they are. */
export type StateMigration = (state: Json) => Json;

/** The form of one kind's states, and how older ones become it. */
export interface StateFormat {
  readonly version: number;
  /** The step from version `n` to `n + 1`, by `n`. */
  readonly migrations: { readonly [from: number]: StateMigration };
}

/** The forms of all kinds. */
export type StateFormats = { readonly [K in RootKind]: StateFormat };

/** States that say no version are of this one. */
const first: StateFormat = { version: 1, migrations: {} };

/** The forms of this release. Leave a kind out and this does not compile. */
export const stateFormats: StateFormats = {
  session: first,
  catalog: first,
  connection: first,
  schedule: first,
  supervisor: first,
  task: first,
  audit: first,
};

/** What a stored state says of its version: nothing, if it is of the first one. */
export function versionMark({ version }: StateFormat): { readonly stateVersion?: number } {
  return version === 1 ? {} : { stateVersion: version };
}

/** A stored state as this release knows it. Throws if it is newer, or no step leads on. */
export function migrateState(
  state: Json,
  from: number | undefined,
  { version, migrations }: StateFormat,
): Json {
  let current = state;
  for (let at = from ?? 1; at !== version; at++) {
    const step = migrations[at];
    if (step === undefined) {
      throw new Error(`A state of version ${from ?? 1} is not known here, where version ${version} is`);
    }
    current = step(current);
  }
  return current;
}
