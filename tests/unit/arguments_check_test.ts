/** What a built-in tool is called with can make policy stricter, and never anything else. */
import assert from "node:assert/strict";
import { checkArguments, isSecretPath } from "../../actors/policy/arguments_check.ts";
import { authorize, type Verdict } from "../../actors/policy/authorize.ts";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import { ApprovalPolicy } from "../../schemas/tool.ts";
import { toolOf } from "../support/desk.ts";
import { entryFor } from "../support/tools.ts";

const order: readonly Verdict[] = ["allow", "ask", "deny"];

function verdictOf(entry: CatalogEntry, path: string, mode: PermissionMode): Verdict {
  const request = { entry, arguments: { path }, capabilities: ["fs.read"], mode, grants: [], rule: "r" };
  return authorize({ ...request, at: 1_000, epoch: 1 }).verdict;
}

Deno.test("arguments of a built-in tool only tighten what policy resolved, in every mode (DM-21)", () => {
  for (const approvalPolicy of ApprovalPolicy.options) {
    for (const mode of PermissionMode.options) {
      for (const changes of [{}, { mayPassUnasked: true }]) {
        const entry = entryFor(toolOf("read_file", { approvalPolicy }), changes);
        const [plain, secret] = [verdictOf(entry, "a.txt", mode), verdictOf(entry, ".env", mode)];
        const told = `${approvalPolicy} ${mode} ${plain} ${secret}`;
        assert.ok(order.indexOf(secret) >= order.indexOf(plain), told);
        assert.equal(secret, approvalPolicy === "deny" ? "deny" : "ask", told);
      }
    }
  }
});

Deno.test("arguments of tools of agents, programs and servers are looked at by nobody: their policy is their own (DM-21)", () => {
  for (const sourceKind of ["agent", "program", "mcp"] as const) {
    const entry = entryFor(toolOf("read_file"), { sourceKind, governance: "replaceable" });
    assert.equal(checkArguments(entry, { path: ".env" }), undefined);
    assert.equal(verdictOf(entry, ".env", "default"), "allow");
  }
  // A tool of the runtime stays one, whoever carries it out.
  const rebound = entryFor(toolOf("read_file"), { sourceKind: "program", governance: "whitelist_only" });
  assert.equal(verdictOf(rebound, ".env", "default"), "ask");
});

Deno.test("files that usually hold secrets are known by their names", () => {
  const secret = [
    ".env",
    ".ENV",
    "config/.env.production",
    "./a/../.env",
    "deploy\\id_rsa",
    "keys/server.PEM",
    "home/.ssh/config",
    ".aws/credentials",
    ".git-credentials",
    "vault.kdbx",
  ];
  for (const path of secret) assert.equal(isSecretPath(path), true, path);
  const plain = [
    "",
    ".",
    "env",
    ".environment",
    ".env.example",
    ".env.sample",
    "src/keys.ts",
    "key",
    "pem/readme.md",
    "docs/ssh/config",
    "id_rsa.pub",
    "monkey.txt",
  ];
  for (const path of plain) assert.equal(isSecretPath(path), false, path);
});
