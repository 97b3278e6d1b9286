/** What a tool says of itself, asked in a jail; and what the runtime makes of it, which is less (DM-29). */
import { capabilityProblem } from "../../actors/policy/known_capability.ts";
import { refuseName } from "../../actors/naming.ts";
import { stricter } from "../../actors/policy/approval.ts";
import { AuthoredDefinition, type DoorPermissions } from "../../schemas/authored.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import { schemaProblem } from "../../schemas/json_schema.ts";
import { limits } from "../../schemas/limits.ts";
import { ToolDefinition } from "../../schemas/tool.ts";
import type { JailPool } from "../jail/jail_pool.ts";
import type { Clock } from "../seams.ts";
import { z } from "zod";
import { toolCode } from "./tool_code.ts";
import type { ToolFile } from "./tool_file.ts";

/** Kinds of resources that stand for the doors of a tool, as its definition and every catalog have them. */
export const doorKinds = {
  net: "network",
  read: "file.read",
  write: "file.write",
  secrets: "secret",
} as const;

/** Most places behind all doors of one tool: what a definition has room for. */
const placesMax = 16;

/** What a tool needs besides its gate, by the doors that it names. */
export function doorCapabilities({ net, read, write, secrets }: DoorPermissions): readonly string[] {
  return [
    ...(net.length > 0 ? ["network.fetch"] : []),
    ...(read.length > 0 ? ["fs.read"] : []),
    ...(write.length > 0 ? ["fs.write"] : []),
    ...secrets.map((name) => `secret.bind:${name}`),
  ];
}

/** Asks a tool file what its tool is, without any right. One that throws, loops or says nonsense is refused by name. */
export async function describeTool(
  file: ToolFile,
  { pool, clock }: { readonly pool: JailPool; readonly clock: Clock },
): Promise<ToolDefinition | Failure> {
  const looked = await toolCode(file.file, file.text);
  if ("message" in looked) return looked;
  const late = new AbortController();
  const over = new AbortController();
  void clock.sleepUntil(clock.now() + limits.jailDescribeMsMax, over.signal).then(() => late.abort());
  const end = await pool.run({ type: "describe", code: looked.code }, {
    signal: late.signal,
    cpuMsMax: limits.jailDescribeCpuMsMax,
  });
  over.abort();
  const refuse = (why: string) =>
    failure("tool_failed", `Cannot use the tool file ${file.file}: ${why}`.slice(0, 2_000));
  if (end.type === "failed") return refuse(end.message);
  if (end.type !== "described") {
    const why = late.signal.aborted
      ? `it did not say within ${limits.jailDescribeMsMax / 1_000} s`
      : "why" in end
      ? end.why
      : "";
    return refuse(`asked what it is, ${why}`);
  }
  const parsed = AuthoredDefinition.safeParse(end.definition);
  if (!parsed.success) return refuse(z.prettifyError(parsed.error).replace(/\s+/g, " "));
  const problem = problemOf(parsed.data, file.name);
  return problem === undefined ? definitionOf(parsed.data, file) : refuse(problem);
}

function problemOf(
  { name, input, capability, capabilities, permissions }: AuthoredDefinition,
  expected: string,
): string | undefined {
  if (name !== expected) return `it is called "${name}"; a file has the name of its tool`;
  const places = Object.values(permissions).flat().length;
  if (places > placesMax) return `its permissions name ${places} places, at most ${placesMax} are allowed`;
  const wrong = [...(capability === undefined ? [] : [capability]), ...capabilities].map(capabilityProblem)
    .find((one) => one !== undefined);
  if (wrong !== undefined) return wrong;
  if (input["type"] !== "object") return "its input is no object; write input: z.object({ ... })";
  return refuseName({ kind: "agent" }, name)?.message ?? schemaProblem(input);
}

/**
 * The definition as catalogs get it. What its doors can do decides what a repeat does, not its own word: without a way
 * out nothing can be applied. A door that asks a person where the built-in tool of its kind does makes the tool ask.
 */
function definitionOf(told: AuthoredDefinition, { fingerprint }: ToolFile): ToolDefinition {
  const { name, permissions } = told;
  const acts = permissions.net.length > 0 || permissions.write.length > 0;
  const resources = Object.entries(doorKinds).flatMap(([door, kind]) =>
    permissions[door as keyof DoorPermissions].map((scope) => ({ kind, scope }))
  );
  const capabilities = [...new Set([...told.capabilities, ...doorCapabilities(permissions)])];
  return ToolDefinition.parse({
    name,
    title: told.title === "" ? name : told.title,
    description: told.description,
    version: fingerprint.slice("sha256:".length, "sha256:".length + 12),
    inputSchema: told.input,
    riskLevel: told.risk,
    sideEffects: acts,
    resources,
    timeoutMs: told.timeout_ms,
    outputPolicy: {},
    effectClass: acts ? told.effect_class : "idempotent",
    capability: told.capability ?? `tool.call:${name}`,
    capabilities,
    approvalPolicy: acts ? stricter(told.approval_policy, "prompt") : told.approval_policy,
    parallelSafe: told.parallel_safe,
  });
}
