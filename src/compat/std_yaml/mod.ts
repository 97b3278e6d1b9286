/**
 * Stand-in for jsr:@std/yaml, for places where only npm can be reached: the one call that we make, with the same
 * name, answers and errors, over the nearest relative of the original. It takes effect through "links" in
 * deno.json; deleting that line (and refreshing deno.lock) brings the original back.
 */
import * as jsYaml from "js-yaml";

/** How plain scalars become values; "core" knows null, booleans and numbers, nothing else. */
export type SchemaType = "failsafe" | "json" | "core" | "default";

/** Options of {@linkcode parse}. */
export interface ParseOptions {
  /** Which plain scalars are more than strings. "default" adds dates and merge keys. */
  readonly schema?: SchemaType;
}

/** Text that is not YAML, with the place where reading stopped. */
export class YamlSyntaxError extends SyntaxError {
  override readonly name = "YamlSyntaxError";
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1. */
  readonly column: number;
  /** Counted from 0, in UTF-16 units. */
  readonly offset: number;

  constructor(reason: string, line: number, column: number, offset: number) {
    super(`${reason} at line ${line}, column ${column}`);
    this.line = line;
    this.column = column;
    this.offset = offset;
  }
}

/** The part of the npm package that this file stands on; the package ships without types. */
interface JsYaml {
  readonly load: (text: string, options: { readonly schema: unknown }) => unknown;
  readonly FAILSAFE_SCHEMA: unknown;
  readonly JSON_SCHEMA: unknown;
  readonly CORE_SCHEMA: unknown;
  readonly DEFAULT_SCHEMA: unknown;
  readonly YAMLException: new () => Error & {
    readonly reason: string;
    readonly mark?: { readonly line: number; readonly column: number; readonly position: number };
  };
}

const yaml: JsYaml = jsYaml;

const schemas: { readonly [K in SchemaType]: unknown } = {
  failsafe: yaml.FAILSAFE_SCHEMA,
  json: yaml.JSON_SCHEMA,
  core: yaml.CORE_SCHEMA,
  default: yaml.DEFAULT_SCHEMA,
};

/** Reads one document; empty text is null. Throws {@linkcode YamlSyntaxError}. */
export function parse(text: string, options: ParseOptions = {}): unknown {
  try {
    return yaml.load(text, { schema: schemas[options.schema ?? "default"] }) ?? null;
  } catch (error) {
    if (!(error instanceof yaml.YAMLException)) throw error;
    const { line, column, position } = error.mark ?? { line: 0, column: 0, position: 0 };
    throw new YamlSyntaxError(error.reason, line + 1, column + 1, position);
  }
}
