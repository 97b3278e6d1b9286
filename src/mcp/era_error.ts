/** A server that cannot be spoken to in the words of one era; those of another may do. */
export class EraError extends Error {
  override readonly name = "EraError";
}
