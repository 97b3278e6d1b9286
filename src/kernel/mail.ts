/** What waits in a mailbox: messages from outside, and outcomes of effects. */
import type { InputBody, RootRecord } from "../../schemas/entry.ts";
import type { IntentId } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import type { StoreKey } from "../journal/store.ts";
import type { PerformerResult } from "../effects/performer.ts";

/** The birth of a root. */
export interface CreatedMail {
  readonly kind: "created";
  readonly input: Json;
  readonly record: RootRecord;
  /** Rows to set besides, in the unit of the birth: what makes a repeat find this root (K14). */
  readonly rows?: readonly { readonly key: StoreKey; readonly value: Json }[] | undefined;
  readonly onAccepted?: (() => void) | undefined;
}

/** A message. `inbox` is the row that it came by, deleted in the unit that takes it (K13). */
export interface InputMail {
  readonly kind: "input";
  readonly body: InputBody;
  readonly inbox?: StoreKey | undefined;
  /** Row to set for the command that brought it (K14). */
  readonly commandRow?: { readonly key: StoreKey; readonly value: Json } | undefined;
  readonly onAccepted?: (() => void) | undefined;
}

/** What came back from an effect. `poisoned` is set on the second try of an outcome that a machine could not take. */
export interface OutcomeMail {
  readonly kind: "outcome";
  readonly id: IntentId;
  readonly attempt: number;
  readonly result: PerformerResult;
  readonly poisoned?: boolean | undefined;
}

/** One item of a mailbox. */
export type Mail = CreatedMail | InputMail | OutcomeMail;
