/** Why a program is refused. */
/** What a program asked for is refused. Nothing of it holds. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
  /** Stable; for programs. */
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
