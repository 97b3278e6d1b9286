/** Whether one call gets the right verdict, and whether a grant covers what it says and nothing else. */
import assert from "node:assert/strict";
import { authorize, type Check } from "../../actors/policy/authorize.ts";
import { ruleKey } from "../../actors/policy/rule_key.ts";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import { ApprovalPolicy, type ToolDefinition } from "../../schemas/tool.ts";
import { toolOf } from "../support/desk.ts";
import { grantFor, sealedEntry } from "../support/tools.ts";

type EntrySketch = Partial<ToolDefinition> & Pick<CatalogEntry, "approvalBy" | "mayPassUnasked">;

function entryOf({ approvalBy, mayPassUnasked, ...changes }: EntrySketch, enabled = true): CatalogEntry {
  return sealedEntry({
    sourceKind: "runtime",
    canonicalName: "write_file",
    providerName: "write_file",
    definition: toolOf("write_file", { capability: "fs.write", ...changes }),
    provenance: { source: "runtime", origin: "built in", trust: "trusted_local" },
    coreRevision: "core-1",
    adapter: "builtin",
    binding: "",
    enabled,
    ...(enabled ? {} : { disabledBy: 'policy.deny of the host names "write_*"' }),
    ...(approvalBy === undefined ? {} : { approvalBy }),
    ...(mayPassUnasked === undefined ? {} : { mayPassUnasked }),
  });
}

const call: JsonObject = { path: "a.txt", content: "x" };

/** What differs from a call that nothing forbids. */
interface Circumstances {
  readonly grants?: readonly string[];
  readonly capabilities?: readonly string[];
  readonly mode?: PermissionMode;
  readonly given?: JsonObject;
}

function judge(entry: CatalogEntry, circumstances: Circumstances = {}) {
  const { grants = [], capabilities = ["fs.write"], mode = "default", given = call } = circumstances;
  const allowed = grants.filter((rule) => rule !== "").map((rule) =>
    grantFor(entry, rule, { capabilities, mode })
  );
  const rule = ruleKey(entry, given);
  return authorize({ entry, capabilities, mode, grants: allowed, rule, at: 1_000, epoch: 1 });
}

/** Checks as words: `mode allow plan`. */
function wordsOf(checks: readonly Check[]): string[] {
  return checks.map(({ check, verdict, by }) => `${check} ${verdict} ${by}`.trimEnd());
}

Deno.test("authorize allows what policy allows and asks where policy asks", () => {
  assert.equal(judge(entryOf({})).verdict, "allow");
  assert.equal(judge(entryOf({ approvalPolicy: "prompt" })).verdict, "ask");
});

/**
 * What the verdict must be, from what the requirements say and not from the code: anything off, missing or denied is a
 * denial; so is a side effect in `plan`; else a question, unless a grant or `auto` answers it.
 */
function expected(row: {
  readonly enabled: boolean;
  readonly isCapable: boolean;
  readonly mode: PermissionMode;
  readonly approvalPolicy: ApprovalPolicy;
  readonly isGranted: boolean;
  readonly sideEffects: boolean;
  readonly isEasy: boolean;
}): string {
  if (!row.enabled || !row.isCapable || row.approvalPolicy === "deny") return "deny";
  if (row.mode === "plan" && row.sideEffects) return "deny";
  if (row.approvalPolicy === "auto" || row.isGranted) return "allow";
  return row.mode === "auto" && row.isEasy && !row.sideEffects ? "allow" : "ask";
}

const both = [true, false] as const;

// The whole table: 2 x 2 x 3 x 3 x 2 x 2 x 2 = 288 rows.
Deno.test("authorize gives each row of mode, capability, approval, grant and switch its verdict (DM-19, LC-20, LC-21)", () => {
  let rows = 0;
  const seen = new Set<string>();
  for (const enabled of both) {
    for (const isCapable of both) {
      for (const mode of PermissionMode.options) {
        for (const approvalPolicy of ApprovalPolicy.options) {
          for (const isGranted of both) {
            for (const sideEffects of both) {
              for (const isEasy of both) {
                const row = { enabled, isCapable, mode, approvalPolicy, isGranted, sideEffects, isEasy };
                const entry = entryOf(
                  { approvalPolicy, sideEffects, ...(isEasy ? { mayPassUnasked: true } : {}) },
                  enabled,
                );
                const { verdict, failure, checks } = judge(entry, {
                  grants: isGranted ? [ruleKey(entry, call)] : [],
                  capabilities: isCapable ? ["fs.write"] : ["fs.read"],
                  mode,
                });
                assert.equal(verdict, expected(row), JSON.stringify(row));
                assert.equal(failure !== undefined, verdict === "deny", JSON.stringify(row));
                // The last check is the one that decided.
                assert.equal(checks.at(-1)?.verdict, verdict, JSON.stringify(row));
                seen.add(verdict);
                rows += 1;
              }
            }
          }
        }
      }
    }
  }
  assert.deepEqual([rows, [...seen].sort()], [288, ["allow", "ask", "deny"]]);
});

// Proves DM-19 (order of the checks that are policy's).
Deno.test("authorize denies first what is switched off, then what is not granted, then what the mode and policy deny", () => {
  const denied = entryOf({ approvalPolicy: "deny", sideEffects: true });
  const off = judge(entryOf({ approvalPolicy: "deny", sideEffects: true }, false), {
    capabilities: [],
    mode: "plan",
  });
  assert.match(off.reason, /switched off: policy\.deny of the host names "write_\*"$/);
  assert.equal(off.failure?.code, "policy_denied");
  assert.equal(judge(denied, { capabilities: [], mode: "plan" }).failure?.code, "capability_missing");
  assert.match(judge(denied, { mode: "plan" }).reason, /mode "plan"/);
  assert.equal(judge(denied, { mode: "plan" }).failure?.code, "policy_denied");
  assert.match(judge(denied).reason, /denied by policy/);
});

// Proves DM-31: each check is on record with its result and its rule, in order, up to the one that denied.
Deno.test("authorize records every check that it made, and the rule that decided", () => {
  const asked = entryOf({ approvalPolicy: "prompt", approvalBy: "host_risk" });
  const passed = ["enabled allow", "capability allow fs.write"];
  assert.deepEqual(wordsOf(judge(entryOf({})).checks), [...passed, "mode allow", "approval allow"]);
  assert.deepEqual(wordsOf(judge(asked).checks), [
    ...passed,
    "mode allow",
    "approval ask policy.risks of the host",
    "grant ask",
  ]);
  assert.deepEqual(
    wordsOf(judge(asked, { grants: [ruleKey(asked, call)] }).checks).at(-1),
    "grant allow session",
  );
  assert.deepEqual(wordsOf(judge(entryOf({ sideEffects: true }), { mode: "plan" }).checks), [
    ...passed,
    "mode deny plan",
  ]);
  assert.deepEqual(wordsOf(judge(asked, { capabilities: ["fs.read"] }).checks), [
    "enabled allow",
    "capability deny fs.write",
  ]);
  assert.deepEqual(wordsOf(judge(entryOf({}, false)).checks), [
    'enabled deny policy.deny of the host names "write_*"',
  ]);
  const easy = entryOf({ approvalPolicy: "prompt", approvalBy: "tool", mayPassUnasked: true });
  assert.deepEqual(wordsOf(judge(easy, { mode: "auto" }).checks), [
    ...passed,
    "mode allow auto",
    "approval allow mode auto",
  ]);
});

// Proves DM-31: what is on record holds none of what the call was given.
Deno.test("authorize records no argument of the call", () => {
  const writer = entryOf({ approvalPolicy: "prompt", sideEffects: true });
  const given = { path: "s3cret.txt" };
  const { checks } = judge(writer, { given, grants: [ruleKey(writer, given)] });
  assert.equal(checks.at(-1)?.check, "grant");
  assert.ok(!JSON.stringify(checks).includes("s3cret"));
});

// Proves LC-21: the entry's word alone is not enough.
Deno.test("authorize lets auto pass no entry that has side effects or risk, whatever it says of itself", () => {
  const asked = { approvalPolicy: "prompt", mayPassUnasked: true } as const;
  const auto = { mode: "auto" } as const;
  assert.equal(judge(entryOf(asked), auto).verdict, "allow");
  assert.equal(judge(entryOf({ ...asked, sideEffects: true }), auto).verdict, "ask");
  for (const riskLevel of ["medium", "high", "critical"] as const) {
    assert.equal(judge(entryOf({ ...asked, riskLevel }), auto).verdict, "ask", riskLevel);
  }
  assert.equal(judge(entryOf({ approvalPolicy: "prompt" }), auto).verdict, "ask");
});

Deno.test("authorize takes a session without a mode, of an earlier release, for one in the default mode", () => {
  const none = { mode: undefined as unknown as PermissionMode };
  assert.equal(judge(entryOf({ sideEffects: true }), none).verdict, "allow");
  assert.equal(judge(entryOf({ approvalPolicy: "prompt", mayPassUnasked: true }), none).verdict, "ask");
});

Deno.test("authorize lets a grant turn ask into allow and never a denial into anything", () => {
  const grants = [ruleKey(entryOf({}), call)];
  assert.equal(judge(entryOf({ approvalPolicy: "prompt" }), { grants }).verdict, "allow");
  assert.equal(judge(entryOf({ approvalPolicy: "deny" }), { grants }).verdict, "deny");
  assert.equal(judge(entryOf({ approvalPolicy: "prompt" }, false), { grants }).verdict, "deny");
  assert.equal(judge(entryOf({ approvalPolicy: "prompt" }), { grants, capabilities: [] }).verdict, "deny");
});

// Proves DM-38.
Deno.test("authorize never lets one mutation allow another", () => {
  const writer = entryOf({ approvalPolicy: "prompt", sideEffects: true });
  const grants = [ruleKey(writer, call)];
  const other = (given: JsonObject) => judge(writer, { grants, given }).verdict;
  assert.equal(other({ content: "x", path: "a.txt" }), "allow");
  assert.equal(other({ path: "b.txt", content: "x" }), "ask");
  assert.equal(other({ path: "a.txt", content: "y" }), "ask");
  assert.equal(other({ path: "a.txt" }), "ask");
});

Deno.test("authorize lets one grant cover all calls of a tool without side effects", () => {
  const reader = entryOf({ approvalPolicy: "prompt", sideEffects: false });
  const grants = [ruleKey(reader, call)];
  assert.equal(judge(reader, { grants, given: { path: "other" } }).verdict, "allow");
});

Deno.test("authorize has no rule for arguments too long to be shown, so always means once", () => {
  const writer = entryOf({ approvalPolicy: "prompt", sideEffects: true });
  const given = { content: "x".repeat(600) };
  const rule = ruleKey(writer, given);
  assert.equal(rule, "");
  assert.equal(judge(writer, { grants: ["", rule], given }).verdict, "ask");
});
