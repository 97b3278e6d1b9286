/** The rules of tokens, and how their text looks. */
import assert from "node:assert/strict";
import { changeTokens, isValid } from "../../actors/access.ts";
import { accessLimits } from "../../schemas/access_limits.ts";
import { AuditMessage, TokenId, type TokenRecord } from "../../schemas/access.ts";
import { clarify } from "../../src/tools/clarify.ts";
import { RootRecord } from "../../schemas/entry.ts";
import { localOperator } from "../../schemas/principal.ts";
import { readLifetime } from "../../src/cli/token/lifetime.ts";
import { findAudit } from "../../src/api/access/token_fold.ts";
import { createApiToken } from "../../src/door/token.ts";
import { cleanText, createDoorRedactor } from "../../src/effects/clean.ts";
import { openApiStage, programScopes, someProgram } from "../support/api_stage.ts";
import { ActorApiError } from "../../src/client.ts";
import { ApiScope } from "../../schemas/api_scope.ts";
import { flush } from "../support/puppet.ts";

function id(at: number): TokenId {
  return TokenId.parse(`tok_${String(at).padStart(26, "0")}`);
}

function digest(at: number): string {
  return `sha256:${String(at).padStart(64, "0")}`;
}

function issue(at: number, expiresAt: number | null = null): AuditMessage {
  return AuditMessage.parse({
    type: "token.issue",
    id: id(at),
    digest: digest(at),
    expiresAt,
    principal: { kind: "program", id: "ci" },
    scopes: ["sessions:read"],
    by: localOperator,
  });
}

/** The tokens after some messages, and the last answer. */
function after(messages: readonly AuditMessage[], at = 1_000, tokens: readonly TokenRecord[] = []) {
  let reply;
  for (const message of messages) ({ tokens, reply } = changeTokens(tokens, message, at));
  return { tokens, code: reply?.result === "refused" ? reply.code : reply?.result };
}

Deno.test("tokens are bounded, each is issued once, and what ended long ago is forgotten (I12)", () => {
  const many = Array.from({ length: accessLimits.tokensMax }, (_, at) => issue(at, 2_000));
  const full = after(many);
  assert.equal(full.code, "done");
  assert.equal(after([issue(999)], 1_000, full.tokens).code, "tokens_full");
  assert.equal(
    after([issue(0)], 1_000, full.tokens.slice(1, 3).concat(full.tokens.slice(0, 1))).code,
    "token_taken",
  );
  // Those that ended stay listed, as many as may open at once, and for thirty days.
  const later = after([issue(999)], 2_000, full.tokens);
  assert.equal(later.code, "done");
  assert.equal(later.tokens.length, accessLimits.tokensMax);
  const muchLater = after([issue(1_000)], 2_000 + accessLimits.endedTokensMs, later.tokens);
  assert.deepEqual(muchLater.tokens.map((one) => one.id), [id(999), id(1_000)]);
});

Deno.test("a token is revoked once, for good, and rotated once, while it opens", () => {
  const by = localOperator;
  const rotate = (at: number) =>
    AuditMessage.parse({
      type: "token.rotate",
      token: id(1),
      next: { id: id(at), digest: digest(at), expiresAt: null },
      by,
    });
  const revoke = (at: number) => AuditMessage.parse({ type: "token.revoke", token: id(at), by });
  const rotated = after([issue(1), rotate(2)]);
  assert.deepEqual(rotated.tokens.map((one) => one.expiresAt), [
    1_000 + accessLimits.rotationOverlapMs,
    null,
  ]);
  assert.equal(after([rotate(3)], 1_000, rotated.tokens).code, "token_replaced");
  // A rotation never lengthens a life.
  assert.equal(after([issue(1, 1_500), rotate(2)]).tokens[0]?.expiresAt, 1_500);
  const revoked = after([revoke(1)], 1_100, rotated.tokens);
  assert.equal(revoked.code, "done");
  assert.deepEqual(revoked.tokens.map((one) => isValid(one, 1_100)), [false, true]);
  const again = after([revoke(1)], 1_200, revoked.tokens);
  assert.deepEqual([again.code, again.tokens[0]?.revokedAt], ["done", 1_100]);
  assert.equal(after([revoke(9)]).code, "token_not_found");
  assert.equal(after([issue(1), revoke(1), rotate(2)]).code, "token_ended");
});

Deno.test("an audit that was taken out of service, or was cut, is not the one in use, nor is another installation's (CM-4)", async () => {
  const installation = `ins_${"1".repeat(26)}`;
  const bornIn = (address: string) => address.endsWith("foreign") ? `ins_${"2".repeat(26)}` : installation;
  const journal = {
    format: { format: 1, minReader: 1, createdAt: 0, installation },
    async *readPages(address: string) {
      const body = { machine: "audit", code: digest(1), input: { address, installation: bornIn(address) } };
      yield [{ v: 1, seq: 1, at: 0, kind: "created", type: "audit", cause: 1, epoch: 1, body }] as const;
    },
  };
  const record = (address: string, createdAt: number, rest = {}) =>
    RootRecord.parse({ v: 1, address, kind: "audit", createdAt, status: "active", title: "", ...rest });
  const found = (...records: readonly RootRecord[]) => findAudit(journal as never, records);
  const main = record("audit/main", 1);
  const cut = { cut: { seq: 1, lost: 2, epoch: 1 } };
  assert.equal(await found(main, record("audit/foreign", 2), record("audit/cut", 3, cut)), "audit/main");
  assert.equal(await found(main, record("audit/later", 2)), "audit/later");
  assert.equal(await found({ ...main, status: "quarantined" }, record("audit/foreign", 2)), undefined);
});

Deno.test("the life of a token is given in minutes, hours or days, within bounds, or as never", () => {
  assert.deepEqual(["30m", "12h", "90d", "never"].map(readLifetime), [
    1_800_000,
    43_200_000,
    7_776_000_000,
    null,
  ]);
  for (const text of ["", "0d", "1", "d", "1.5h", "-1d", "1w", "3651d", "9999999m"]) {
    assert.throws(() => readLifetime(text), { code: "option_invalid" }, text);
  }
});

Deno.test("the redactor knows a token by its looks wherever it stands, and takes no other text for one", async () => {
  const token = await createApiToken();
  assert.match(token, /^tr_[0-9a-f]{68}$/);
  const redactor = createDoorRedactor(undefined, { now: () => 0 });
  const cleaned = cleanText(redactor, `it is ${token}, keep it`, "model");
  assert.match(cleaned, /^it is .*, keep it$/);
  assert.ok(!cleaned.includes(token.slice(3, 20)), cleaned);
  const wrong = `it is ${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}, keep it`;
  assert.equal(cleanText(redactor, wrong, "model"), wrong);
});

Deno.test("who asked for a call does not decide it, even where the host lets programs decide (B26)", async () => {
  const stage = await openApiStage({
    builtins: [clarify],
    tools_of_agent: ["clarify"],
    answers: [
      { calls: [{ tool: "clarify", arguments: { question: "Which colour?", choices: ["red", "blue"] } }] },
      { text: "done" },
    ],
    runtime: { mayAnswer: () => true },
  });
  const decider = (principal = someProgram) => stage.client({ principal, scopes: new Set(ApiScope.options) });
  const { address } = await stage.run(stage.client({ scopes: programScopes }).spawn({ agent: "tester" }));
  await stage.run(stage.client().send({ address, text: "Hi" }));
  await flush(stage);
  const [question] = (await stage.run(decider().questions({}))).questions;
  assert.ok(question !== undefined);
  const given = { question: question.id, decision: "decline" as const, shown: question.shown };
  const own = { kind: "agent", id: address.slice("session/".length) } as const;
  for (const principal of [someProgram, own]) {
    const error = await stage.run(decider(principal).answer(given).then(() => undefined, (error) => error));
    assert.ok(error instanceof ActorApiError && error.code === "approver_in_chain", String(error));
  }
  const other = decider({ kind: "program", id: "other" });
  assert.equal((await stage.run(other.answer(given))).decision, "decline");
});
