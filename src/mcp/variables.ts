/** `${NAME}` in a manifest: replaced from our own environment, and only once connecting was approved (DM-67). */

/** Reads a variable of our own environment. */
export type ReadVariable = (name: string) => string | undefined;

/** Values with their variables put in, and which of them are secrets from now on; or the variables that are missing. */
export type Expanded =
  | { readonly values: { readonly [name: string]: string }; readonly secrets: readonly string[] }
  | { readonly missing: readonly string[] };

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Puts variables in. A variable that is not set, or empty, is missing; `$NAME` and `$$` stand for themselves. */
export function expandVariables(
  templates: { readonly [name: string]: string },
  read: ReadVariable,
): Expanded {
  const missing = new Set<string>();
  const secrets = new Set<string>();
  const values = Object.entries(templates).map(([name, template]) => {
    const value = template.replaceAll(reference, (_, variable: string) => {
      const found = read(variable) ?? "";
      if (found === "") missing.add(variable);
      else secrets.add(found);
      return found;
    });
    return [name, value] as const;
  });
  if (missing.size > 0) return { missing: [...missing].sort() };
  return { values: Object.fromEntries(values), secrets: [...secrets] };
}

/** A text in which secrets are replaced, the longest first, so that none leaves a piece of another behind (DM-53). */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const longestFirst = [...secrets].sort((left, right) => right.length - left.length);
  return longestFirst.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}

/**
 * A JSON value in which secrets are replaced, in keys and values. What cannot be looked through, because it nests too
 * deeply, is withheld as a whole.
 */
export function withoutSecretsDeep<T>(value: T, secrets: readonly string[]): T {
  try {
    return cleanJson(value, secrets) as T;
  } catch {
    return "[withheld: it nests too deeply]" as T;
  }
}

function cleanJson(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "string") return withoutSecrets(value, secrets);
  if (Array.isArray(value)) return value.map((one) => cleanJson(one, secrets));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [
    withoutSecrets(key, secrets),
    cleanJson(one, secrets),
  ]);
  return Object.fromEntries(entries);
}
