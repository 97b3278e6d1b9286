/** Pins: what each tool of a server was when the server was approved, and which tools differ from that (B91). */
import { z } from "zod";
import { type Failure, failure } from "../../schemas/failure.ts";
import { Digest } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { canonicalBytes } from "../canonical.ts";
import type { Seams } from "../seams.ts";
import { isRecord, jsonProblem } from "./json_bounds.ts";

/** One tool as its server told of it, and its hash. */
export const ToolPin = z.strictObject({
  hash: Digest,
  /** Title, description, schemas and annotations, as they came. */
  told: z.record(z.string(), z.unknown()),
});
/** One tool as its server told of it. */
export type ToolPin = Readonly<z.infer<typeof ToolPin>>;

const byName = z.record(z.string().max(limits.toolNameCharactersMax), ToolPin);

/** The pins of one declaration. */
export const Pins = z.strictObject({
  approved: byName,
  /** Tools that wait for an approval, as they were told last. */
  waiting: byName,
});
/** The pins of one declaration. */
export type Pins = Readonly<z.infer<typeof Pins>>;

/** Why a tool waits for an approval. */
export type Drift = "changed" | "renamed" | "crowded";

/** What a list means for what was approved. */
export interface Review {
  readonly pins: Pins;
  /** Tools that must not be called, and why. */
  readonly drifted: ReadonlyMap<string, Drift>;
  /** True if more than half of what was approved is something else now: then the server is another one. */
  readonly isAnother: boolean;
}

/** What of a tool is pinned: all that a model or a person may be told of it. */
const pinnedFields = ["title", "description", "inputSchema", "outputSchema", "annotations"];

/** The pins of the tools of a list that can be offered, put to those of its pieces before; of two with one name, the first. */
export async function pinTools(
  raw: readonly unknown[],
  offered: ReadonlySet<string>,
  digest: Seams["digest"],
  pins: Map<string, ToolPin> = new Map(),
): Promise<ReadonlyMap<string, ToolPin>> {
  for (const one of raw) {
    if (!isRecord(one)) continue;
    const { name } = one;
    if (typeof name !== "string" || !offered.has(name) || pins.has(name)) continue;
    const told: Record<string, unknown> = {};
    for (const field of pinnedFields) if (one[field] !== undefined) told[field] = keepable(one[field]);
    const hash = await digest(canonicalBytes({ name, told } as unknown as Json));
    pins.set(name, { hash, told });
  }
  return pins;
}

/** A field as it is; as text where it is no JSON by the rules of the project, so that a change of it still shows. */
function keepable(value: unknown): unknown {
  return jsonProblem({ value }) === undefined ? value : JSON.stringify(value);
}

/**
 * Compares what a server tells with what was approved. Without pins all of it is approved: the server was let in just
 * now. A new tool is approved at first sight as well, unless an approved one is gone whose place it may have taken.
 */
export function reviewTools(pins: Pins | undefined, told: ReadonlyMap<string, ToolPin>): Review {
  if (pins === undefined) {
    return {
      pins: { approved: Object.fromEntries(told), waiting: {} },
      drifted: new Map(),
      isAnother: false,
    };
  }
  const approved = new Map(Object.entries(pins.approved));
  const before = new Map(Object.entries(pins.waiting));
  const isOneGone = [...approved.keys()].some((name) => !told.has(name));
  const drifted = new Map<string, Drift>();
  for (const [name, pin] of told) {
    const known = approved.get(name);
    if (known?.hash === pin.hash) continue;
    if (known !== undefined) drifted.set(name, "changed");
    else if (isOneGone || before.has(name)) drifted.set(name, "renamed");
    else if (approved.size >= limits.mcpPinsMax) drifted.set(name, "crowded");
    else approved.set(name, pin);
  }
  const changed = [...drifted.values()].filter((drift) => drift === "changed").length;
  const waiting = [...told].filter(([name]) => drifted.has(name));
  return {
    pins: { approved: Object.fromEntries(approved), waiting: Object.fromEntries(waiting) },
    drifted,
    isAnother: changed > Object.keys(pins.approved).length / 2,
  };
}

/** Why a server is not used of whose approved tools most are something else now. */
export function driftFailure(server: string): Failure {
  return failure(
    "mcp_tools_drifted",
    `The server "${server}" is not used: more than half of its approved tools are not any more what was approved; ` +
      `troupe mcp trust ${server} shows them, and approves them`,
  );
}

/** Why a tool is not enabled: one clause, for the catalog. */
export function driftReason(drift: Drift, server: string): string {
  const what = {
    changed: "it is not any more what was approved",
    renamed: "it came when an approved tool was gone, whose place it may take",
    crowded: `the server has shown more than ${limits.mcpPinsMax} tools`,
  };
  return `${what[drift]}; troupe mcp trust ${server} shows it, and approves it`;
}
