/** What the rules of the house know about paths and syntax trees. */

/** A node of the linter's syntax tree. */
export type Node = Deno.lint.Node;

const root = decodeURIComponent(new URL("../", import.meta.url).pathname);

/** The path of a linted file below the project, with `/`. */
export function projectPath(context: Deno.lint.RuleContext): string {
  const path = context.filename.replaceAll("\\", "/").replace(/^file:\/\//, "");
  return path.startsWith(root) ? path.slice(root.length) : path.replace(/^\.\//, "");
}

/** Whether a path lies in one of some folders (which end in `/`) or is one of some files. */
export function liesIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}

/** `a.b.c` of a chain of plain or quoted members; undefined for anything else. */
export function dottedName(node: Node): string | undefined {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression") return undefined;
  const object = dottedName(node.object);
  const property = propertyName(node);
  return object === undefined || property === undefined ? undefined : `${object}.${property}`;
}

/** As {@linkcode dottedName}, without the names that the global object has. */
export function globalName(node: Node): string | undefined {
  return dottedName(node)?.replace(/^(?:(?:globalThis|self|window)\.)+/, "");
}

/** The name of a key, if it is written down rather than computed. */
export function keyName(key: Node, computed: boolean): string | undefined {
  if (key.type === "Identifier" && !computed) return key.name;
  return key.type === "Literal" && typeof key.value === "string" ? key.value : undefined;
}

/** Whether an identifier only names a member, a key or a type, and refers to no variable. */
export function isOnlyName(node: Deno.lint.Identifier): boolean {
  const { parent } = node;
  switch (parent.type) {
    case "MemberExpression":
      return !parent.computed && isSame(parent.property, node);
    case "Property":
      return !parent.computed && !parent.shorthand && isSame(parent.key, node);
    case "MethodDefinition":
    case "PropertyDefinition":
    case "TSPropertySignature":
    case "TSMethodSignature":
      return !parent.computed && isSame(parent.key, node);
    case "TSTypeQuery":
    case "TSTypeReference":
    case "TSQualifiedName":
      return true;
    default:
      return false;
  }
}

function isSame(a: Node, b: Node): boolean {
  return a.range[0] === b.range[0] && a.range[1] === b.range[1];
}

function propertyName(node: Deno.lint.MemberExpression): string | undefined {
  return keyName(node.property, node.computed);
}
