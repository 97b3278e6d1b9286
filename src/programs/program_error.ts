/** Why a program is not registered. */
import type { FailureCode } from "../../schemas/failure.ts";

/** A registration that is refused. Nothing of it holds. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
  /** Stable; for programs. */
  readonly code: FailureCode;
  constructor(code: FailureCode, message: string) {
    super(message);
    this.code = code;
  }
}
