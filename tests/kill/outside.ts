/** The world outside: an append-only ledger that survives every kill, and the tool that acts on it. */

/** What happened to one call at its target. */
export interface LedgerLine {
  /**
   * `arrived`: it came; `applied`: it had its effect; `repeated`: the target knew its key and did nothing. `begun`: a
   * built-in tool that keeps no ledger was called.
   */
  readonly what: "arrived" | "applied" | "repeated" | "begun";
  /** Names the call: given by the script, the same over all attempts. */
  readonly id: string;
  /** The idempotency key that came with it. */
  readonly key: string;
  readonly effect: Effect;
}

/** The variable that names the ledger to a runtime. */
export const ledgerVariable = "TROUPE_KILL_LEDGER";

/** The three classes of effects. */
export const effects = ["idempotent", "conditional", "non_idempotent"] as const;
/** A class of effects. */
export type Effect = (typeof effects)[number];

/** Appends one line and flushes it. */
export function appendLine(path: string, line: unknown): void {
  using file = Deno.openSync(path, { append: true, create: true });
  file.writeSync(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
  file.syncDataSync();
}

/** The lines of a ledger; none if there is none. */
export function linesOfFile(path: string): LedgerLine[] {
  try {
    return Deno.readTextFileSync(path).split("\n").slice(0, -1).map((line) => JSON.parse(line));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** The tools of the test's servers by their names, one a class. */
export const toolsByName: { readonly [name: string]: Effect } = {
  apply_idempotent: "idempotent",
  apply_conditional: "conditional",
  apply_once: "non_idempotent",
};

/** What `tools/list` says. */
export const listedTools = Object.keys(toolsByName).map((name) => ({
  name,
  description: "Acts on the outside",
  inputSchema: { type: "object", properties: { id: { type: "string" }, size: { type: "integer" } } },
}));

/** Where a target writes, and the file that holds it back while it exists: its text is `before` or `after`. */
export interface Target {
  readonly ledger: string;
  readonly hold: string;
}

/** One call of a tool. */
export interface TargetCall {
  readonly tool: string;
  readonly id: string;
  readonly key: string;
  /** Characters of the answer. */
  readonly size: number;
}

/** Carries out one call, and gives the text of its answer. A conditional one has its effect once for each key. */
export async function applyCall(
  { ledger, hold }: Target,
  { tool, id, key, size }: TargetCall,
): Promise<string> {
  const effect = toolsByName[tool] ?? "non_idempotent";
  appendLine(ledger, { what: "arrived", id, key, effect });
  await untilLetGo(hold, "before");
  const isKnown = effect === "conditional" &&
    linesOfFile(ledger).some((line) => line.what === "applied" && line.key === key);
  appendLine(ledger, { what: isKnown ? "repeated" : "applied", id, key, effect });
  await untilLetGo(hold, "after");
  return `applied ${id} `.padEnd(size, "x");
}

async function untilLetGo(hold: string, when: string): Promise<void> {
  while (await Deno.readTextFile(hold).catch(() => "") === when) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A script for `sh` that acts in the same way, after a while: `sh act.sh ID [SECONDS]`. */
export function actScript({ ledger, hold }: Target): string {
  const line = '{"what":"%s","id":"%s","key":"","effect":"non_idempotent"}\\n';
  const held = (when: string) => `while [ "$(cat '${hold}' 2>/dev/null)" = ${when} ]; do sleep 0.02; done`;
  return `say() { printf '${line}' "$1" "$2" >> '${ledger}'; sync '${ledger}'; }
say arrived "$1"
${held("before")}
sleep "\${2:-0}"
say applied "$1"
${held("after")}
echo "applied $1"
`;
}
