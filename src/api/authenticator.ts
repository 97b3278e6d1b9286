/** Who asks over a network: the one seam between a carrier, which has a request's head, and what is known of tokens. */
import type { ApiFailure } from "./api_failure.ts";
import type { Caller } from "./caller.ts";

/** What of a request is known before anything of its body is read. */
export interface RequestHead {
  /** The header `Authorization`, as it came; undefined if there is none, or more than one. */
  readonly authorization: string | undefined;
  /** Address of the other side, without its port. */
  readonly peer: string;
}

/** A refusal, as it is written down. */
export interface Refused {
  readonly code: string;
  readonly peer: string;
  readonly principal?: string | undefined;
  readonly method?: string | undefined;
}

/** Finds out who asks. */
export interface Authenticator {
  /** Hears of everybody who was refused, for the record. */
  onRefused?(refused: Refused): void;
  /**
   * Who asks, with the rights that its token has by now. A refusal, and nothing thrown, if the head shows nobody: every
   * such refusal is `token_invalid` with the same text, whatever was wrong, so that nothing is learned by trying.
   */
  authenticate(head: RequestHead): Promise<Caller | ApiFailure>;
}
