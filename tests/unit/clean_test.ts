/** The door of secrets: what comes in is cleaned once, before an entry, a view or a person has it. */
import assert from "node:assert/strict";
import { failure } from "../../schemas/failure.ts";
import {
  cleanAnswer,
  cleanFailure,
  cleanResult,
  cleanText,
  createDoorRedactor,
} from "../../src/effects/clean.ts";
import { settleEnvelope } from "../../src/effects/settle.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { readFile } from "../../src/tools/read_file.ts";
import { structuredEnvelope, textEnvelope } from "../../src/tools/tool.ts";
import { answerFor } from "../../src/records/entry_view.ts";
import { openStage, settled } from "../support/stage.ts";
import { createBlobs } from "../support/tools.ts";

const secret = "k3y-Of-The-D0cs-9f8e7d";
const known = new KnownSecrets();
known.add({ name: "DOCS_KEY", source: "env:DOCS_KEY", value: secret });
const redactor = createDoorRedactor(known);
const source = { source: "runtime", origin: "built in", trust: "trusted_local" } as const;
const definition = readFile.definition;

function answerWith(calls: readonly { readonly arguments: object }[], text = "") {
  return {
    text,
    calls: calls.map((call, index) => ({ callId: String(index), name: "look", ...call })) as never,
    usage: { inputTokens: 1, outputTokens: 1 },
    finishReason: "stop" as const,
    metadata: {},
  };
}

// DM-46, DM-49, DM-51
Deno.test("result is cleaned for each reader with its own mark, in every encoding, before it is kept (DM-49, DM-51)", async () => {
  const blobs = createBlobs();
  const base64 = btoa(`user:${secret}`);
  const settledResult = await settleEnvelope(
    structuredEnvelope({ header: `Bearer ${secret}`, [secret]: base64, plain: "stays" }),
    definition,
    { blobs, redactor, source },
  );
  const kept = [...blobs.kept.values()].map((bytes) => new TextDecoder().decode(bytes)).join();
  for (const view of [settledResult.model, settledResult.operator, kept]) {
    assert(!view.includes(secret) && !view.includes(base64.slice(8, 24)), view);
  }
  assert.match(settledResult.model, /\[redacted\].*stays/);
  assert.match(settledResult.operator, /DOCS_KEY/);
  assert.match(kept, /DOCS_KEY.*env:DOCS_KEY/);
});

Deno.test("result without secrets is the very same for everybody, whatever its size", () => {
  const envelope = textEnvelope("12 files, sha256:abc, page_token CAUQAA\n".repeat(20_000));
  assert.deepEqual(cleanResult(redactor, envelope), {
    model: envelope,
    operator: envelope,
    durable: envelope,
    debug: envelope,
  });
});

// DM-47
Deno.test("result that cannot be looked through is withheld as a whole (DM-47)", async () => {
  const withhold = () => ({ value: "[withheld: failed]", findings: [], isWithheld: true });
  const broken = { ...redactor, json: withhold, text: withhold };
  const { model } = await settleEnvelope(textEnvelope(secret), definition, {
    blobs: createBlobs(),
    redactor: broken as never,
    source,
  });
  assert.match(model, /^redaction_failed: /);
  assert.equal(cleanAnswer(broken as never, answerWith([], secret)), undefined);
});

Deno.test("answer is cleaned: what the model itself wrote like a secret goes on in memory, a secret of the host is refused", () => {
  const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
  const cleaned = cleanAnswer(
    redactor,
    answerWith([
      { arguments: { path: "README.md" } },
      { arguments: { header: secret } },
      { arguments: { text: token } },
      { arguments: { password: "hunter22", path: "a" } },
    ], `the key is ${secret}.`),
  );
  const { answer, raw } = cleaned ?? assert.fail();
  assert.equal(answer.text, "the key is [redacted].");
  // A person is told which, also if nothing of the answer was heard as it came.
  const told = { value: { text: answer.text, marks: answer.marks as never } };
  assert.equal(answerFor("operator", told), "the key is [redacted: DOCS_KEY].");
  assert.deepEqual(answer.calls, [
    { callId: "0", name: "look", arguments: { path: "README.md" } },
    { callId: "1", name: "look", argumentsText: '{"header":"[redacted]"}', hadSecret: true },
    { callId: "2", name: "look", arguments: { text: "[redacted]" }, hadSecret: true },
    { callId: "3", name: "look", arguments: { password: "[redacted]", path: "a" }, hadSecret: true },
  ]);
  assert.deepEqual([...raw], [[2, { text: token }], [3, { password: "hunter22", path: "a" }]]);
});

Deno.test("failures and texts are cleaned, and those without secrets stay what they are", () => {
  const plain = failure("tool_failed", "No such file");
  assert.equal(cleanFailure(redactor, plain), plain);
  const told = cleanFailure(redactor, { ...failure("model_failed", `refused ${secret}`), retryable: true });
  assert.deepEqual(told, { code: "model_failed", message: "refused [redacted: DOCS_KEY]", retryable: true });
  assert.equal(cleanText(redactor, `say ${secret}`, "model"), "say [redacted]");
});

// I9 for what passes the door: prompt, answer, arguments, result, as the journal has them.
Deno.test("session that is told a secret, answers with it and gets it from a tool has it in no entry", async () => {
  const stage = await openStage({
    answers: [
      { text: `I try ${secret}`, calls: [{ tool: "look" }, { tool: "look", arguments: { text: secret } }] },
      { text: `It said ${secret}` },
    ],
    tools: [{ name: "look", work: () => Promise.resolve(`found ${secret}`) }],
    redactor,
  });
  const session = await stage.session();
  const heard: unknown[] = [];
  stage.runtime.watch((event) => heard.push(event));
  const { report } = await settled(stage.world, stage.runtime.prompt(session, `use ${secret}`));
  const { outcome, text } = await settled(stage.world, report);
  assert.deepEqual([outcome, text], ["completed", "It said [redacted]"]);
  const journal = JSON.stringify(await stage.entries(session));
  assert(!journal.includes(secret));
  assert(!JSON.stringify(heard).includes(secret));
  assert.match(journal, /arguments_secret|arguments of \\"look\\" hold a secret/);
  assert.match(journal, /use \[redacted\]/);
  assert.equal(stage.ledger.length, 1);
  assert.equal((await stage.replay(session)).divergence, undefined);
});
