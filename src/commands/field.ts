/** One argument as the program would get it. */

/** Stands for what is known only when the command runs. Never a character of a path or of an option. */
export const unknownMark = "\uFFFC";

/** An argument. */
export interface Field {
  /** Its text; {@linkcode unknownMark} where it is not known. */
  readonly text: string;
  /** True if it is certainly this text: no file names, no variables went into it. */
  readonly isExact: boolean;
}

/** An argument of which all is known. */
export function exactly(text: string): Field {
  return { text, isExact: true };
}

/** An argument of which nothing is known. */
export const unknownField: Field = { text: unknownMark, isExact: false };

/** The texts of arguments. */
export function textsOf(fields: readonly Field[]): string[] {
  return fields.map(({ text }) => text);
}

/** One program with its arguments, as it would be started. */
export interface Step {
  /** The program first. Never empty. */
  readonly words: readonly Field[];
  /** What it would read from its standard input, where that is known; undefined if it is not, or there is none. */
  readonly input: string | undefined;
  /** True if something else writes to its standard input. */
  readonly isFed: boolean;
  /** How many shells, substitutions and wrappers are around it. */
  readonly depth: number;
}
