/** Who has access to the API by HTTP: issued tokens and what ends them, ownership, and what is written down. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { accessLimits } from "../../schemas/access_limits.ts";
import { keys } from "../../src/journal/keys.ts";
import type { Seams } from "../../src/seams.ts";
import { type HttpStage, onHttpStage, wholeOf } from "../support/http_stage.ts";
import { byTokens, issue, someScopes } from "../support/token_access.ts";

const traced = { "x-trace-id": "t" };

/** Status and body of an answer, with the same trace in all. */
async function told(
  stage: HttpStage,
  path: string,
  token: string,
  init: Parameters<HttpStage["ask"]>[1] = {},
) {
  const answer = await stage.ask(path, { ...init, token, headers: { ...traced, ...init.headers } });
  const headers = [...answer.headers].filter(([name]) => name !== "date");
  return { status: answer.status, text: await answer.text(), headers: JSON.stringify(headers) };
}

async function spawned(stage: HttpStage, token: string): Promise<string> {
  const answer = await stage.ask("/agents", { token, body: { agent: "tester" }, key: crypto.randomUUID() });
  assert.equal(answer.status, 201);
  return (await answer.json()).address;
}

async function auditOf({ host }: HttpStage, root = "audit/main"): Promise<readonly Entry[]> {
  return (await Array.fromAsync(host.readPages(root))).flat();
}

Deno.test("a token opens for its principal alone, stands nowhere, and once revoked ends its streams and its next request", () =>
  onHttpStage(byTokens(), async (stage) => {
    const [one, two] = [await issue(stage, "one"), await issue(stage, "two")];
    const address = await spawned(stage, one.secret);
    const view = JSON.parse((await told(stage, `/actors/${address}`, one.secret)).text);
    assert.equal(view.owner, "program:one");
    assert.equal((await told(stage, `/actors/${address}`, two.secret)).status, 404);
    const nobody = await told(stage, "/agents", "nobody");
    assert.equal(nobody.status, 401);

    const watches = await Promise.all([
      stage.ask(`/actors/${address}/watch?view=state`, { token: one.secret }),
      stage.ask(`/actors/${await spawned(stage, two.secret)}/watch?view=state`, { token: two.secret }),
    ]);
    assert.deepEqual(watches.map(({ status }) => status), [200, 200]);
    using kept = await stage.connect();
    const request = new TextEncoder().encode(
      `GET /v1/agents HTTP/1.1\r\nHost: 127.0.0.1:${stage.server.port}\r\n` +
        `Authorization: Bearer ${one.secret}\r\n\r\n`,
    );
    const bytes = new Uint8Array(65_536);
    const onKept = async () => {
      await kept.write(request);
      return new TextDecoder().decode(bytes.subarray(0, await kept.read(bytes) ?? 0)).slice(9, 12);
    };
    assert.equal(await onKept(), "200");
    const revoked = await stage.host.revokeToken(one.token.id);
    assert.ok(revoked.revokedAt !== null);
    // The stream ends by itself, and the very connection that was good before is not any more.
    assert.match(await wholeOf(watches[0]!), /event: error\ndata: {"code":"token_invalid"[^\n]*\n\n$/);
    assert.equal(await onKept(), "401");
    assert.deepEqual(await told(stage, "/agents", one.secret), nobody);
    assert.equal((await told(stage, "/agents", two.secret)).status, 200);
    await watches[1]!.body?.cancel();

    await stage.reopen();
    assert.deepEqual(await told(stage, "/agents", one.secret), nobody);
    assert.equal((await told(stage, "/agents", two.secret)).status, 200);
    const written = JSON.stringify([await auditOf(stage), stage.logged, await stage.host.listTokens()]);
    for (const { secret } of [one, two]) assert.ok(!written.includes(secret.slice(7)));
  }));

Deno.test("a stream ends when its token expires, though nothing is asked for", () =>
  onHttpStage(byTokens(), async (stage) => {
    const address = await spawned(stage, (await issue(stage, "brief")).secret);
    const { secret } = await stage.host.issueToken({
      principal: { kind: "program", id: "brief" },
      scopes: someScopes,
      expiresAt: Date.now() + 4_000,
    });
    const watch = await stage.ask(`/actors/${address}/watch?view=state`, { token: secret });
    assert.equal(watch.status, 200);
    assert.match(await wholeOf(watch), /event: error\ndata: {"code":"token_invalid"[^\n]*\n\n$/);
  }));

Deno.test("an answer that is waited for while its token is revoked is not given to it, and its turn goes on", () =>
  onHttpStage({
    ...byTokens(),
    config: { policy: { tools: { read_file: "prompt" } } },
    script:
      "answers:\n  - text: look\n    calls: [{ tool: read_file, arguments: { path: a.txt } }]\n  - text: done\n",
  }, async (stage) => {
    const [one, person] = [
      await issue(stage, "one"),
      await issue(stage, "ann", {
        kind: "operator",
        scopes: [...someScopes, "approvals:read", "approvals:decide"],
      }),
    ];
    const address = await spawned(stage, one.secret);
    const asked = told(stage, `/actors/${address}/ask`, one.secret, { body: { text: "Hi" }, key: "a" });
    const watch = await stage.ask(`/actors/${address}/watch?view=transcript`, { token: person.secret });
    let open: { readonly id: string; readonly shown: string }[] = [];
    for await (const _ of watch.body!) {
      open = JSON.parse((await told(stage, "/questions", person.secret)).text).questions;
      if (open.length > 0) break;
    }
    await stage.host.revokeToken(one.token.id);
    assert.equal((await asked).status, 401);
    const [{ id, shown } = { id: "", shown: "" }] = open;
    const path = `/questions/${encodeURIComponent(id)}/answer`;
    const body = { decision: "allow", shown };
    assert.equal((await told(stage, path, person.secret, { body, key: "b" })).status, 200);
    const turn = await told(stage, `/actors/${address}/ask`, person.secret, {
      body: { text: "Ho" },
      key: "c",
    });
    assert.equal(JSON.parse(turn.text).state, "ended");
  }));

Deno.test("after a rotation both tokens open for a day, then the new one alone; what has expired opens nothing", () => {
  let aheadMs = 0;
  const seams = (own: Seams) => ({ ...own, clock: { ...own.clock, now: () => Date.now() + aheadMs } });
  return onHttpStage({ ...byTokens(), seams }, async (stage) => {
    const old = await issue(stage, "one");
    const next = await stage.host.rotateToken(old.token.id, null);
    const short = await stage.host.issueToken({
      principal: { kind: "program", id: "brief" },
      scopes: someScopes,
      expiresAt: Date.now() + 3_600_000,
    });
    const statuses = async () => {
      const all = [old, next, short].map(async ({ secret }) => (await told(stage, "/agents", secret)).status);
      return await Promise.all(all);
    };
    assert.deepEqual(await statuses(), [200, 200, 200]);
    await assert.rejects(stage.host.rotateToken(old.token.id, null), { code: "token_replaced" });
    aheadMs = 3_600_001;
    assert.deepEqual(await statuses(), [200, 200, 401]);
    await assert.rejects(stage.host.rotateToken(short.token.id, null), { code: "token_ended" });
    aheadMs = accessLimits.rotationOverlapMs + 1;
    assert.deepEqual(await statuses(), [401, 200, 401]);
    const [first, second] = await stage.host.listTokens();
    assert.deepEqual([first?.replacedBy, second?.principal], [next.token.id, { kind: "program", id: "one" }]);
    await assert.rejects(
      stage.host.issueToken({ principal: { kind: "program", id: "x" }, scopes: someScopes, expiresAt: 1 }),
      { code: "token_expired" },
    );
  });
});

Deno.test("tokens of programs and agents never decide: such a one is not issued, and none of theirs reaches answers (B26)", () =>
  onHttpStage(byTokens(), async (stage) => {
    for (const kind of ["program", "agent"] as const) {
      for (const scope of ["approvals:decide", "admin"] as const) {
        const wanted = issue(stage, "x", { kind, scopes: ["sessions:read", scope] });
        await assert.rejects(wanted, { code: "scope_for_persons" }, `${kind} ${scope}`);
      }
    }
    const agent = await issue(stage, "x", { kind: "agent", scopes: [...someScopes, "approvals:read"] });
    const body = { decision: "allow" };
    const answered = await told(stage, "/questions/x/answer", agent.secret, { body, key: "k" });
    assert.deepEqual([answered.status, JSON.parse(answered.text).code], [403, "scope_missing"]);
    // What a request says of its own rights counts nothing (B07).
    const claimed = await told(stage, "/questions/x/answer", agent.secret, {
      body,
      key: "k",
      headers: { "x-scopes": "approvals:decide" },
    });
    assert.deepEqual([claimed.status, claimed.text], [403, answered.text]);
    assert.ok(stage.logged.some(({ event }) => event === "api.scope_claim_ignored"));
  }));

Deno.test("an id of somebody else, of nobody, or of no form at all is answered byte for byte the same (CM-19)", () =>
  onHttpStage({ ...byTokens(), rate: undefined }, async (stage) => {
    const [mine, other] = [await issue(stage, "mine"), await issue(stage, "other")];
    const foreign = await spawned(stage, other.secret);
    const missing = `session/ses_${"0".repeat(26)}`;
    const odd = [
      "1",
      "12",
      "0",
      "-1",
      "session/1",
      "%27",
      "ses_1",
      "x".repeat(300),
      "..%2f..%2fmeta",
      "session/%00",
    ];
    const scopes = [...someScopes, "log:export", "approvals:read"] as const;
    const all = await issue(stage, "mine", { scopes });
    const posts: { readonly [path: string]: unknown } = {
      send: { text: "x" },
      ask: { text: "x" },
      cancel: {},
      stop: {},
    };
    for (
      const part of ["", "/watch", "/tree", "/budget", "/why", "/export", "/send", "/ask", "/cancel", "/stop"]
    ) {
      const body = posts[part.slice(1)];
      const init = body === undefined ? {} : { body, key: `k${part}` };
      const answers = [];
      for (const id of [foreign, missing, ...odd]) {
        answers.push(await told(stage, `/actors/${id}${part}`, all.secret, init));
      }
      const [first] = answers;
      assert.deepEqual([first?.status, JSON.parse(first?.text ?? "").code], [404, "agent_not_found"], part);
      for (const [at, answer] of answers.entries()) {
        assert.deepEqual(answer, first, `${part} ${[foreign, missing, ...odd][at]}`);
      }
    }
    const asked = [];
    for (const id of [foreign, missing, "1", "x"]) {
      asked.push(await told(stage, `/questions?address=${id}`, all.secret));
      const spawn = { body: { agent: "tester", parent: id }, key: `s${id}` };
      const child = await told(stage, "/agents", mine.secret, spawn);
      asked.push({ ...child, status: child.status });
      asked.push(await told(stage, `/agents?before=${id}`, mine.secret));
    }
    assert.equal(new Set(asked.map(({ status, text }) => `${status} ${text}`)).size, 1);
    assert.equal((await told(stage, `/actors/${foreign}`, other.secret)).status, 200);
    // Nothing that leaves names anything by a number of the store's own.
    const list = JSON.parse((await told(stage, "/agents", other.secret)).text);
    assert.deepEqual(list.agents.map((one: { address: string }) => one.address), [foreign]);
    assert.match(foreign, /^session\/ses_[0-9A-Z]{26}$/);
  }));

Deno.test("tokens open the installation that they were issued in, and no other one with the same rows (CM-4)", () =>
  onHttpStage(byTokens(), async (stage) => {
    const { secret } = await issue(stage, "one");
    const first = (await auditOf(stage))[0]?.body as { readonly input: { readonly installation: string } };
    assert.match(first.input.installation, /^ins_/);
    await stage.reopen(async () => {
      const kv = await Deno.openKv(`${stage.folder}/store.db`);
      const key = [...keys.store()];
      const { value } = await kv.get<object>(key);
      await kv.set(key, { ...value, installation: `ins_${"0".repeat(26)}` });
      kv.close();
    });
    assert.equal((await told(stage, "/agents", secret)).status, 401);
    assert.deepEqual(await stage.host.listTokens(), []);
    // Here it has a record of its own, and the other one is left as it is.
    const here = await issue(stage, "two");
    assert.equal((await told(stage, "/agents", here.secret)).status, 200);
    const audits = (await stage.host.listRoots()).filter(({ kind }) => kind === "audit");
    assert.equal(audits.length, 2);
    const own = audits.find(({ address }) => address !== "audit/main")?.address ?? "";
    const [born] = await auditOf(stage, own);
    assert.equal((born?.body as typeof first).input.installation, `ins_${"0".repeat(26)}`);
  }));

Deno.test("refusals are written down by the minute, however many there are (B15), and changes of tokens one by one", () => {
  const nowMs = Date.now();
  const seams = (own: Seams) => ({ ...own, clock: { ...own.clock, now: () => nowMs } });
  return onHttpStage({ ...byTokens(), rate: undefined, seams }, async (stage) => {
    const { secret, token } = await issue(stage, "one");
    const statuses = new Map<number, number>();
    for (let at = 0; at < 50; at++) {
      const { status } = await told(stage, "/agents", `tr_${"0".repeat(68)}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    assert.deepEqual([...statuses], [[401, 10], [429, 40]]);
    for (let at = 0; at < 3; at++) {
      await told(stage, "/questions/q/answer", secret, { body: { decision: "allow" }, key: `k${at}` });
    }
    await stage.host.revokeToken(token.id);
    await stage.reopen();
    const entries = await auditOf(stage);
    assert.deepEqual(entries.map(({ kind, type }) => `${kind} ${type}`), [
      "created audit",
      "input token.issue",
      "reply ok",
      "input token.used",
      "input token.revoke",
      "reply ok",
      "input access.refused",
    ]);
    const { message } = entries.at(-1)?.body as { readonly message: { readonly refusals: unknown } };
    assert.deepEqual(message.refusals, [
      { code: "token_invalid", peer: "127.0.0.1", count: 50 },
      { code: "scope_missing", peer: "127.0.0.1", principal: "program:one", method: "answer", count: 3 },
    ]);
  });
});
