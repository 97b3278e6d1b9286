/** What holds for every policy: rules may tighten, never widen. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { authorize } from "../../actors/policy/authorize.ts";
import { stricter } from "../../actors/policy/approval.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import { AgentDefinition, ToolOverride } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import { TrustLevel } from "../../schemas/provenance.ts";
import { higherRisk } from "../../actors/risk.ts";
import { ApprovalPolicy, RiskLevel } from "../../schemas/tool.ts";
import { sourceOf, toolOf } from "../support/desk.ts";

const approval = fc.constantFrom(...ApprovalPolicy.options);
const risk = fc.constantFrom(...RiskLevel.options);
const toolName = fc.constantFrom("get_page", "make_page", "delete_page");

/** Everything that the verdict on one call of one tool depends on. */
interface Setting {
  readonly kind: "runtime" | "agent" | "mcp";
  readonly name: string;
  readonly own: ApprovalPolicy;
  readonly risk: RiskLevel;
  readonly trust: TrustLevel;
  readonly remote: boolean;
  readonly capabilities: readonly string[];
  readonly policy: HostPolicy;
  readonly override: ToolOverride;
  readonly isGranted: boolean;
}

const hostPolicy: fc.Arbitrary<HostPolicy> = fc.record({
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
  capabilities: fc.subarray(["mcp.call:docs", "mcp.call:*", "tool.call:*"]),
  policy: hostPolicy,
  override,
  isGranted: fc.boolean(),
});

const verdicts = ["allow", "ask", "deny"];

function canonicalOf(given: Setting): string {
  return given.kind === "mcp" ? `mcp.docs.${given.name}` : given.name;
}

/** How strict the verdict is: 0 allow, 1 ask, 2 deny. */
function strictness(given: Setting): number {
  const tool = toolOf(given.name, { approvalPolicy: given.own, riskLevel: given.risk });
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
  const grants = given.isGranted ? ["rule"] : [];
  const { verdict } = authorize({ entry, capabilities: given.capabilities, grants, rule: "rule" });
  return verdicts.indexOf(verdict);
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
