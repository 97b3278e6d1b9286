/** What holds for every call: no effect is asked for before each of its gates has passed (I5, DM-19, DM-20). */
import assert from "node:assert/strict";
import fc from "fast-check";
import { PermissionMode } from "../../schemas/mode.ts";
import { Decision } from "../../schemas/question.ts";
import { ApprovalPolicy, RiskLevel } from "../../schemas/tool.ts";
import { type Call, startCall } from "../support/calls.ts";

/** One call of one tool, and what a person says if one is asked. `schema` is that of an object with a number `n`. */
interface Setting {
  readonly known: boolean;
  readonly enabled: boolean;
  readonly adapter: "builtin" | "mcp";
  readonly given: "fits" | "misfits" | "surplus" | "no object" | "held a secret" | "made one up";
  readonly needs: string | undefined;
  readonly capabilities: readonly string[];
  readonly approval: ApprovalPolicy;
  readonly risk: RiskLevel;
  readonly sideEffects: boolean;
  readonly mayPassUnasked: boolean;
  readonly mode: PermissionMode;
  readonly grants: readonly string[];
  readonly wasRefused: boolean;
  readonly decision: Decision | "cancel" | "expires";
}

const mostly = fc.constantFrom(true, true, true, true, true, false);

const setting: fc.Arbitrary<Setting> = fc.record({
  known: mostly,
  enabled: mostly,
  adapter: fc.constantFrom("builtin", "mcp"),
  given: fc.constantFrom(
    "fits",
    "fits",
    "fits",
    "fits",
    "misfits",
    "surplus",
    "no object",
    "held a secret",
    "made one up",
  ),
  needs: fc.constantFrom(undefined, "fs.read", "mcp.call:docs", "secret.bind:KEY"),
  capabilities: fc.subarray(["fs.read", "mcp.call:*", "mcp.call:docs", "secret.bind:*", "secret.bind:KEY"]),
  approval: fc.constantFrom(...ApprovalPolicy.options),
  risk: fc.constantFrom(...RiskLevel.options),
  sideEffects: fc.boolean(),
  mayPassUnasked: fc.boolean(),
  mode: fc.constantFrom(...PermissionMode.options),
  grants: fc.subarray(["look", 'look {"n":1}', 'look {"n":2}', "other", ""]),
  wasRefused: fc.constantFrom(false, false, false, true),
  decision: fc.constantFrom(...Decision.options, "cancel", "expires"),
});

function argumentsOf(given: Setting["given"]) {
  switch (given) {
    case "fits":
      return { arguments: { n: 1 } };
    case "misfits":
      return { arguments: { n: "one" } };
    case "surplus":
      return { arguments: { n: 1, more: true } };
    case "no object":
      return { arguments: undefined as never, argumentsText: "{n" };
    case "held a secret":
      return { arguments: undefined as never, argumentsText: '{"n":"[redacted]"}', hadSecret: true as const };
    case "made one up":
      return { arguments: { n: 1 }, hadSecret: true as const };
  }
}

function callFor(one: Setting): Call {
  const { needs, approval, risk, sideEffects, mayPassUnasked, enabled, adapter } = one;
  const inputSchema = {
    type: "object",
    properties: { n: { type: "integer" } },
    required: ["n"],
    additionalProperties: false,
  };
  return startCall({
    tool: {
      inputSchema,
      approvalPolicy: approval,
      riskLevel: risk,
      sideEffects,
      effectClass: sideEffects ? "non_idempotent" : "idempotent",
      ...(needs === undefined ? {} : { capability: needs }),
    },
    entry: { enabled, adapter, mayPassUnasked },
    request: { ...argumentsOf(one.given), ...(one.known ? {} : { entry: undefined as never }) },
    capabilities: one.capabilities,
    mode: one.mode,
    grants: one.grants,
    wasRefused: one.wasRefused,
  });
}

/** The gates of a call in their order, each written down once more without the code that keeps it. */
function gatesOf(one: Setting): readonly (readonly [string, boolean])[] {
  const covers = (held: string, needed: string) =>
    held === needed || (held === "mcp.call:*" && needed.startsWith("mcp.call:"));
  const { needs } = one;
  return [
    ["name", one.known],
    ["schema", one.given === "fits" || one.given === "made one up"],
    ["enabled", one.enabled],
    ["capability", needs === undefined || one.capabilities.some((held) => covers(held, needs))],
    ["mode", one.mode !== "plan" || !one.sideEffects],
    ["policy", one.approval !== "deny"],
    ["refusal", !one.wasRefused],
  ];
}

/** True if a person must say yes to this very call. */
function mustAsk({ approval, mode, mayPassUnasked, sideEffects, risk, grants, needs }: Setting): boolean {
  const isHarmless = mayPassUnasked && !sideEffects && risk === "low";
  if (approval !== "prompt" || (mode === "auto" && isHarmless)) return false;
  // A secret is bound anew each time (DM-39).
  return needs?.startsWith("secret.bind:") === true ||
    !grants.includes(sideEffects ? 'look {"n":1}' : "look");
}

function decide(call: Call, { decision }: Setting): boolean {
  if (decision === "cancel") call.cancel();
  else if (decision === "expires") call.decide("deny", "expired");
  else call.decide(decision);
  return decision === "allow" || decision === "always_allow_for_session";
}

const effects: ReadonlySet<string> = new Set(["tool.call", "mcp.call", "tool.verify"]);

Deno.test("no effect is asked for unless the name, arguments, capability, mode, policy and person all allow it (DM-19, DM-20)", () => {
  let asked = 0;
  let refused = 0;
  const holds = fc.property(setting, (one) => {
    const call = callFor(one);
    const failed = gatesOf(one).find(([, passes]) => !passes)?.[0];
    const mayAsk = failed === undefined && mustAsk(one);
    const before = call.kinds().filter((kind) => effects.has(kind));
    assert.equal(
      call.reports().length,
      mayAsk ? 1 : 0,
      "a person is asked last, and only if all else allows it",
    );
    if (mayAsk) assert.deepEqual(before, [], "nothing may come before the answer");
    const isAllowed = failed === undefined && (!mayAsk || decide(call, one));
    const kinds = call.kinds().filter((kind) => effects.has(kind));
    assert.deepEqual(kinds, isAllowed ? [one.adapter === "mcp" ? "mcp.call" : "tool.call"] : [], failed);
    if (isAllowed) asked += 1;
    else refused += 1;
  });
  fc.assert(holds, { numRuns: 600 });
  // Neither side is empty, or this would prove nothing.
  assert.ok(asked > 20 && refused > 100, `${asked} asked, ${refused} refused`);
});

Deno.test("gates come in their order: the first that fails is the one on record (DM-19)", () => {
  const codes: { readonly [gate: string]: string } = {
    name: "tool_unknown",
    enabled: "policy_denied",
    capability: "capability_missing",
    mode: "policy_denied",
    policy: "policy_denied",
    refusal: "refused_before",
  };
  const checks: { readonly [gate: string]: string } = { name: "enabled", policy: "approval" };
  fc.assert(
    fc.property(setting, (one) => {
      const failed = gatesOf(one).find(([, passes]) => !passes)?.[0];
      if (failed === undefined) return;
      const call = callFor(one);
      const code = failed !== "schema"
        ? codes[failed]
        : one.given === "held a secret"
        ? "arguments_secret"
        : "arguments_invalid";
      assert.equal(call.result()?.failure?.code, code, failed);
      const notes = call.run.notes().filter(({ type }) => type === "invocation.judged");
      const { verdict, checks: told } = notes[0]?.body as unknown as {
        readonly verdict: string;
        readonly checks: readonly { readonly check: string; readonly verdict?: string }[];
      };
      assert.deepEqual([notes.length, verdict, told.at(-1)?.check], [1, "deny", checks[failed] ?? failed]);
    }),
    { numRuns: 300 },
  );
});
