/** Secrets that a command is given: read once, right before it starts, and only for it (DM-82, DM-86). */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { ReadVariable } from "../mcp/variables.ts";
import { bindingSource, type SecretBinding } from "../tools/terminal.ts";

/** Where secrets are. */
export interface SecretPlaces {
  /** A variable of our environment. */
  readonly readVariable: ReadVariable;
  /** One of the host's secrets; undefined if there is none of that name, or it cannot be had. */
  readonly readSecret: ReadVariable;
}

/** What was read, by the variable that it is given in. */
export interface Bound {
  readonly values: { readonly [variable: string]: string };
}

/** Reads what is bound, variable by variable. A secret that cannot be had is a failure: nothing runs without it. */
export function readBound(
  bindings: readonly SecretBinding[],
  { readVariable, readSecret }: SecretPlaces,
): Bound | { readonly failure: Failure } {
  const values: Record<string, string> = {};
  for (const binding of bindings) {
    const { name, isVariable } = bindingSource(binding);
    const value = (isVariable ? readVariable(name) : readSecret(name)) ?? "";
    if (value === "" || value.includes("\0")) {
      const what = isVariable ? `the variable ${name} is not set` : `the host has no secret ${name}`;
      const message = `Cannot bind a secret: ${what}, or it cannot be used; look at troupe.yaml`;
      return { failure: failure("secret_unavailable", message) };
    }
    values[binding.variable] = value;
  }
  return { values };
}
