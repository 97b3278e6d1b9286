/** Refusals of YAML text: a code, a place and what to do. */

/** A place in a text. */
export interface Place {
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in UTF-16 units. */
  readonly column: number;
}

/** Why a YAML text was refused. */
export type YamlErrorCode =
  | "yaml_too_large"
  | "yaml_too_deep"
  | "yaml_syntax"
  | "yaml_tab_refused"
  | "yaml_alias_refused"
  | "yaml_merge_refused"
  | "yaml_tag_refused"
  | "yaml_documents_refused"
  | "yaml_scalar_ambiguous"
  | "yaml_key_refused"
  | "yaml_key_duplicate"
  | "yaml_reading_differs";

/** A YAML text that was refused; the message carries file, line and column and says what to do. */
export class YamlError extends Error {
  override readonly name = "YamlError";
  /** Stable; for programs. */
  readonly code: YamlErrorCode;
  /** The name that the caller gave to the text. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in UTF-16 units. */
  readonly column: number;

  constructor(code: YamlErrorCode, file: string, place: Place, reason: string) {
    super(`Cannot read "${file}": ${file}:${place.line}:${place.column}: ${reason}`);
    this.code = code;
    this.file = file;
    this.line = place.line;
    this.column = place.column;
  }
}
