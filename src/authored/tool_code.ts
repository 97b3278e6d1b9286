/** The code of a tool file as a jail is given it: JavaScript without types, and without any import. */
import type { Node } from "acorn";
import { type Failure, failure } from "../../schemas/failure.ts";

/** Code that may be run in a jail, with the lines of its file; or why not. */
export type ToolCode = { readonly code: string } | Failure;

/** Looks through the text of `file`, `tools/<name>.ts` or `.js`. The names of both are in every refusal, with the line. */
export async function toolCode(file: string, text: string): Promise<ToolCode> {
  const plain = file.endsWith(".ts") ? await withoutTypes(file, text) : { code: text };
  if ("message" in plain) return plain;
  const { parse } = await import("acorn");
  let tree: Node;
  try {
    tree = parse(plain.code, { ecmaVersion: "latest", sourceType: "module" });
  } catch (error) {
    const at = error instanceof SyntaxError && "pos" in error ? Number(error.pos) : 0;
    const why = error instanceof Error ? error.message.replace(/ \(\d+:\d+\)$/, "") : "it cannot be parsed";
    return refused(file, lineOf(plain.code, at), why);
  }
  const found = findImport(tree);
  return found === undefined ? plain : refused(file, lineOf(plain.code, found.start), importAdvice);
}

const importAdvice = "a tool imports nothing; zod comes as ({ z }), and all else by ctx";

async function withoutTypes(file: string, text: string): Promise<ToolCode> {
  const { transformSync } = await import("amaro");
  try {
    // Types become blanks, so that lines and columns stay what they are.
    return { code: transformSync(text, { mode: "strip-only" }).code };
  } catch (error) {
    const { message = "it cannot be parsed", startLine = 1 } = error as {
      readonly message?: string;
      readonly startLine?: number;
    };
    return refused(file, startLine, message.split("\n")[0] ?? "");
  }
}

/** The first place that brings in other code, or says where this one stands. Walks all of the tree, whatever it holds. */
function findImport(tree: Node): Node | undefined {
  const waiting: unknown[] = [tree];
  let first: Node | undefined;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== "object" || next === null) continue;
    if (isImport(next as Node) && (first === undefined || (next as Node).start < first.start)) {
      first = next as Node;
    }
    for (const value of Object.values(next)) {
      if (typeof value === "object" && value !== null) waiting.push(value);
    }
  }
  return first;
}

/** `import x from`, `import(x)`, `import.meta`, `export … from`. */
function isImport(
  node: Node & { readonly source?: unknown; readonly meta?: { readonly name?: string } },
): boolean {
  const { type, source, meta } = node;
  if (type === "ImportDeclaration" || type === "ImportExpression") return true;
  if (type === "MetaProperty") return meta?.name === "import";
  return /^Export(?:Named|All)Declaration$/.test(type) && source !== null && source !== undefined;
}

function lineOf(code: string, at: number): number {
  return code.slice(0, at).split("\n").length;
}

function refused(file: string, line: number, why: string): Failure {
  return failure("tool_failed", `Cannot use the tool file ${file}, line ${line}: ${why}`.slice(0, 1_000));
}
