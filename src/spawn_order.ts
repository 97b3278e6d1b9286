/** Sessions and messages that come from somebody else than the operator at this machine. */
import type { GivenImage } from "../schemas/image.ts";
import type { RootAddress } from "../schemas/ids.ts";
import type { BirthRows } from "./kernel/create_once.ts";
import type { CommandRef } from "../schemas/message.ts";
import { localOperator, type Principal } from "../schemas/principal.ts";
import type { Labels } from "../schemas/spawned.ts";
import type { TraceId } from "../schemas/trace.ts";
import type { SessionDraft } from "./session_draft.ts";

/** A session that somebody wants by the API. */
export interface SpawnOrder {
  readonly draft: SessionDraft;
  readonly ref: CommandRef;
  /** What was asked for, as it is compared if the key comes again. */
  readonly content: unknown;
  readonly owner: Principal;
  readonly name?: string | undefined;
  readonly labels?: Labels | undefined;
  /** Rows that are set with its birth, if it is new. What it throws refuses the session. */
  readonly rows?: ((address: RootAddress) => BirthRows) | undefined;
}

/** How a command is known: by whom it is given, and under which key. Without a key it is one of its own. */
export interface GivenBy {
  readonly key?: string | undefined;
  /** The operator at this machine, if nobody else is said. */
  readonly by?: Principal | undefined;
  /** The trace that it belongs to: stands in the journal beside it, and goes with the calls of its turn (GA-27). */
  readonly trace?: TraceId | undefined;
  /** Of a prompt: what the model is shown with it. */
  readonly images?: readonly GivenImage[] | undefined;
}

/** Who gives a command. A text is a key of the operator's. */
export function givenBy(given: string | GivenBy = {}): GivenBy & { readonly by: Principal } {
  const own = typeof given === "string" ? { key: given } : given;
  return { ...own, by: own.by ?? localOperator };
}
