/** What holds for every policy: rules may tighten, never widen. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { authorize } from "../../actors/policy/authorize.ts";
import { stricter } from "../../actors/policy/approval.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import { AgentDefinition, ToolOverride } from "../../schemas/agent.ts";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import { TrustLevel } from "../../schemas/provenance.ts";
import { higherRisk } from "../../actors/risk.ts";
import { ApprovalPolicy, RiskLevel } from "../../schemas/tool.ts";
import { sourceOf, toolOf } from "../support/desk.ts";
import { grantFor, sealedEntry } from "../support/tools.ts";

const approval = fc.constantFrom(...ApprovalPolicy.options);
const risk = fc.constantFrom(...RiskLevel.options);
const toolName = fc.constantFrom("get_page", "make_page", "delete_page");
const mode = fc.constantFrom(...PermissionMode.options);
const pattern = fc.constantFrom("get_page", "get_*", "mcp.*", "mcp.docs.get_page", "mcp.*.delete_*", "*");

/** Everything that the verdict on one call of one tool depends on. */
interface Setting {
  readonly kind: "runtime" | "agent" | "mcp";
  readonly name: string;
  readonly own: ApprovalPolicy;
  readonly risk: RiskLevel;
  readonly trust: TrustLevel;
  readonly remote: boolean;
  readonly sideEffects: boolean;
  readonly mode: PermissionMode;
  readonly capabilities: readonly string[];
  readonly policy: HostPolicy;
  readonly override: ToolOverride;
  readonly isGranted: boolean;
}

const hostPolicy: fc.Arbitrary<HostPolicy> = fc.record({
  // Mostly none: what is switched off tells nothing of the other rules.
  deny: fc.oneof(
    { weight: 4, arbitrary: fc.constant<string[]>([]) },
    fc.array<string>(pattern, { maxLength: 2 }),
  ),
  allow: fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    fc.array<string>(pattern, { maxLength: 3 }),
  ),
  risk_ceiling: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, risk),
  tools: fc.dictionary(fc.constantFrom("get_page", "mcp.docs.get_page", "delete_page"), approval, {
    maxKeys: 2,
  }),
  capabilities: fc.dictionary(
    fc.constantFrom("mcp.call:docs", "mcp.call:*", "tool.call:make_page"),
    approval,
    {
      maxKeys: 2,
    },
  ),
  risks: fc.dictionary(risk, approval, { maxKeys: 3 }),
  default: approval,
  effects: fc.constant({}),
  connect: fc.constant("prompt" as const),
});

const override: fc.Arbitrary<ToolOverride> = fc.record({
  risk,
  approval_policy: approval,
  enabled: fc.boolean(),
}, { requiredKeys: [] });

const setting: fc.Arbitrary<Setting> = fc.record({
  kind: fc.constantFrom("runtime", "agent", "mcp"),
  name: toolName,
  own: approval,
  risk,
  trust: fc.constantFrom(...TrustLevel.options),
  remote: fc.boolean(),
  sideEffects: fc.boolean(),
  mode,
  capabilities: fc.subarray(["mcp.call:docs", "mcp.call:*", "tool.call:*"]),
  policy: hostPolicy,
  override,
  isGranted: fc.boolean(),
});

const verdicts = ["allow", "ask", "deny"];

function canonicalOf(given: Setting): string {
  return given.kind === "mcp" ? `mcp.docs.${given.name}` : given.name;
}

/** The entry that the catalog makes of the setting's tool. */
function entryIn(given: Setting): CatalogEntry {
  const { own: approvalPolicy, risk: riskLevel, sideEffects } = given;
  const tool = toolOf(given.name, { approvalPolicy, riskLevel, sideEffects });
  const provenance = { source: given.kind, origin: "a test", trust: given.trust };
  const agent = AgentDefinition.parse({
    name: "clerk",
    model: "scripted/script.yaml",
    tools: given.kind === "runtime" ? [given.name] : [],
    capabilities: given.capabilities,
    overrides: { [canonicalOf(given)]: given.override },
  });
  const resolution = resolveCatalog({
    coreRevision: "core-1",
    agent,
    policy: given.policy,
    sources: [sourceOf(given.kind, [tool], { provenance, remote: given.remote })],
    epoch: 1,
  });
  assert.ok("catalog" in resolution, "failure" in resolution ? resolution.failure.message : "");
  const entry = resolution.catalog.entries[0];
  assert.ok(entry);
  return entry;
}

function verdictOn(given: Setting): string {
  const { capabilities, mode } = given;
  const entry = sealedEntry(entryIn(given));
  const grants = given.isGranted ? [grantFor(entry, "rule", { capabilities, mode })] : [];
  return authorize({ entry, capabilities, mode, grants, rule: "rule", at: 1_000, epoch: 1 }).verdict;
}

/** How strict the verdict is: 0 allow, 1 ask, 2 deny. */
function strictness(given: Setting): number {
  return verdicts.indexOf(verdictOn(given));
}

function never(
  name: string,
  tightened: (given: Setting) => fc.Arbitrary<Setting>,
  from: (given: Setting) => Setting = (given) => given,
): void {
  Deno.test(`policy never widens a verdict by ${name}`, () => {
    const pair = setting.map(from).chain((given) => fc.tuple(fc.constant(given), tightened(given)));
    fc.assert(fc.property(pair, ([given, then]) => {
      assert.ok(strictness(then) >= strictness(given));
    }));
  });
}

/** Any value as strict or stricter. */
function atLeastAsStrict(from: ApprovalPolicy): fc.Arbitrary<ApprovalPolicy> {
  return approval.map((other) => stricter(from, other));
}

never(
  "an agent's override",
  (given) => override.map((added) => ({ ...given, override: added })),
  (given) => ({
    ...given,
    override: {},
  }),
);

never(
  "an agent's stricter approval",
  (given) =>
    atLeastAsStrict(given.override.approval_policy ?? "auto").map((approval_policy) => ({
      ...given,
      override: { ...given.override, approval_policy },
    })),
);

never(
  "a stricter tool",
  (given) =>
    fc.record({ own: atLeastAsStrict(given.own), risk: risk.map((other) => higherRisk(given.risk, other)) })
      .map((changes) => ({ ...given, ...changes })),
);

never("a stricter rule of the host", (given) =>
  approval.map((least) => {
    const raise = (rules: { readonly [key: string]: ApprovalPolicy }) =>
      Object.fromEntries(Object.entries(rules).map(([key, rule]) => [key, stricter(rule, least)]));
    const { tools, capabilities, risks, default: otherwise } = given.policy;
    const policy = HostPolicy.parse({
      ...given.policy,
      tools: raise(tools),
      capabilities: raise(capabilities),
      risks: raise({ ...risks }),
      default: stricter(otherwise, least),
    });
    return { ...given, policy };
  }));

never("a rule of the host that denies", (given) =>
  fc.constantFrom<Partial<HostPolicy>>(
    { tools: { ...given.policy.tools, [canonicalOf(given)]: "deny" } },
    { risks: { ...given.policy.risks, low: "deny" } },
    { default: "deny" },
  ).map((rules) => ({ ...given, policy: { ...given.policy, ...rules } })));

never(
  "lower trust",
  (given) =>
    fc.constantFrom(...TrustLevel.options.slice(TrustLevel.options.indexOf(given.trust)))
      .map((trust) => ({ ...given, trust })),
);

never("distance", (given) => fc.constant({ ...given, remote: true }));

never(
  "taking capabilities away",
  (given) => fc.subarray([...given.capabilities]).map((capabilities) => ({ ...given, capabilities })),
);

never("taking a session's grant away", (given) => fc.constant({ ...given, isGranted: false }));

/** The host's policy with these changes. */
function withPolicy(given: Setting, changes: Partial<HostPolicy>): Setting {
  return { ...given, policy: { ...given.policy, ...changes } };
}

// DM-14, DM-22
never(
  "a pattern that denies (DM-14)",
  (given) => pattern.map((one) => withPolicy(given, { deny: [...given.policy.deny, one] })),
);

never("a list of what is allowed, or a shorter one (DM-14)", (given) => {
  const { allow } = given.policy;
  const shorter = allow === undefined ? fc.array(pattern, { maxLength: 3 }) : fc.subarray([...allow]);
  return shorter.map((list) => withPolicy(given, { allow: list }));
});

never(
  "a lower ceiling of risk (DM-14)",
  (given) => {
    const levels = RiskLevel.options;
    const most = given.policy.risk_ceiling ?? "critical";
    return fc.constantFrom(...levels.slice(0, levels.indexOf(most) + 1))
      .map((ceiling) => withPolicy(given, { risk_ceiling: ceiling }));
  },
);

never("a higher risk (DM-22)", (given) =>
  risk.map((other) => ({
    ...given,
    risk: higherRisk(given.risk, other),
    override: { ...given.override, risk: higherRisk(given.override.risk ?? "low", other) },
  })));

never("side effects (LC-21)", (given) => fc.constant({ ...given, sideEffects: true }));

// LC-21: `plan` is the strictest mode, `auto` the loosest.
never(
  "a stricter mode: auto to default, default to plan (LC-21)",
  (given) => {
    const order: readonly PermissionMode[] = ["auto", "default", "plan"];
    return fc.constantFrom(...order.slice(order.indexOf(given.mode))).map((stricter) => ({
      ...given,
      mode: stricter,
    }));
  },
);

Deno.test("mode plan never lets a side effect through, whatever else allows it (LC-21)", () => {
  let effects = 0;
  fc.assert(
    fc.property(setting, (given) => {
      const plan: Setting = { ...given, mode: "plan" };
      const { sideEffects } = entryIn(plan).definition;
      if (sideEffects || given.sideEffects) assert.equal(verdictOn(plan), "deny");
      if (sideEffects && verdictOn({ ...given, mode: "default" }) !== "deny") effects += 1;
    }),
    { numRuns: 1_000 },
  );
  assert.ok(effects > 10, `${effects} calls that only the mode denied`);
});

Deno.test("mode auto never turns a denial into anything, and answers no question but those of low-risk reads (LC-21)", () => {
  // One call in ten is what the mode is for.
  const easy = setting.map((given): Setting => ({
    ...given,
    kind: "runtime",
    name: "get_page",
    own: "prompt",
    risk: "low",
    trust: "trusted_local",
    remote: false,
    sideEffects: false,
    isGranted: false,
    override: {},
  }));
  let answered = 0;
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: setting }, easy), (given) => {
      const before = verdictOn({ ...given, mode: "default" });
      const after = verdictOn({ ...given, mode: "auto" });
      if (before === after) return;
      assert.deepEqual([before, after], ["ask", "allow"]);
      const { definition, canonicalName } = entryIn(given);
      assert.deepEqual([definition.riskLevel, definition.sideEffects], ["low", false]);
      assert.notEqual(given.policy.tools[canonicalName], "prompt");
      answered += 1;
    }),
    { numRuns: 3_000 },
  );
  assert.ok(answered > 5, `${answered} questions answered by the mode`);
});

Deno.test("mode auto never answers a question that the host itself asks of a tool by name or capability (LC-21)", () => {
  const named = setting.chain((given) =>
    fc.constantFrom<Partial<HostPolicy>>(
      { tools: { [canonicalOf(given)]: "prompt" } },
      { tools: {}, capabilities: { "mcp.call:*": "prompt", "tool.call:*": "prompt" } },
    ).map((rules) => withPolicy({ ...given, mode: "auto", isGranted: false }, rules))
  );
  let asked = 0;
  fc.assert(
    fc.property(named, (given) => {
      const isMeant = given.policy.tools[canonicalOf(given)] === "prompt" || given.kind !== "runtime";
      if (isMeant) assert.notEqual(verdictOn(given), "allow");
      if (isMeant && verdictOn(given) === "ask") asked += 1;
    }),
    { numRuns: 1_000 },
  );
  assert.ok(asked > 5, `${asked} questions asked`);
});
