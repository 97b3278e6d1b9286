/** JSON Web Tokens as access to the API: one issuer, audience, algorithm and key, and one refusal for all else. */
import assert from "node:assert/strict";
import { exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import type { JwtConfig } from "../../schemas/api_config.ts";
import { openJwtAccess } from "../../src/api/access/jwt.ts";
import { type HttpStage, onHttpStage, wholeOf } from "../support/http_stage.ts";
import { byTokens } from "../support/token_access.ts";

const secret = "a shared secret of more than 32 bytes";
const base = {
  issuer: "https://issuer.example",
  audience: "troupe",
  scopes_claim: "scope",
  principal: "program",
} as const;
const shared: JwtConfig = { ...base, algorithm: "HS256", key: "env:JWT_KEY" };

function secondsNow(): number {
  return Math.floor(Date.now() / 1_000);
}

/** Claims that are good, but for what is given. */
function claims(change: JWTPayload = {}): JWTPayload {
  const good = { sub: "ci", scope: "sessions:read sessions:write", iss: base.issuer, aud: base.audience };
  return { ...good, exp: secondsNow() + 600, ...change };
}

function encoded(value: unknown): string {
  return new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value))
    .toBase64({ alphabet: "base64url", omitPadding: true });
}

function signed(
  payload: JWTPayload,
  header: { alg: string } & Record<string, unknown> = { alg: "HS256" },
  key = secret,
) {
  return new SignJWT(payload).setProtectedHeader(header).sign(new TextEncoder().encode(key));
}

async function told(stage: HttpStage, token: string, path = "/agents"): Promise<string> {
  const answer = await stage.ask(path, { token, headers: { "x-trace-id": "t" } });
  return `${answer.status} ${await answer.text()}`;
}

Deno.test("a JSON Web Token opens with what its claims say, and never with what is for persons; any fault is the same refusal", () =>
  onHttpStage(
    { ...byTokens({ config: shared, variables: { JWT_KEY: secret } }), rate: undefined },
    async (stage) => {
      const good = await signed(claims());
      const spawned = await stage.ask("/agents", { token: good, body: { agent: "tester" }, key: "k" });
      assert.equal(spawned.status, 201);
      const { address } = await spawned.json();
      assert.equal(JSON.parse((await told(stage, good, `/actors/${address}`)).slice(4)).owner, "program:ci");
      const list = claims({ scope: ["sessions:read", "approvals:decide", "admin"] } as JWTPayload);
      const asPerson = await stage.ask("/questions/q/answer", {
        token: await signed(list),
        body: { decision: "allow" },
        key: "k",
      });
      assert.deepEqual([asPerson.status, (await asPerson.json()).code], [403, "scope_missing"]);
      assert.match(
        await told(
          stage,
          await signed(claims({ sub: "other", scope: "sessions:read admin" })),
          `/actors/${address}`,
        ),
        /^404/,
      );

      const nobody = await told(stage, "nobody");
      assert.match(nobody, /^401/);
      const [head, body, mark] = good.split(".");
      const { publicKey, privateKey } = await generateKeyPair("EdDSA", { extractable: true });
      const pem = await exportSPKI(publicKey);
      const bad: { readonly [what: string]: string } = {
        "no signature": `${encoded({ alg: "none" })}.${body}.`,
        "none, signed": `${encoded({ alg: "none" })}.${body}.${mark}`,
        "another algorithm": await signed(claims(), { alg: "HS384" }),
        "a key pair": await new SignJWT(claims()).setProtectedHeader({ alg: "EdDSA" }).sign(privateKey),
        "another secret": await signed(claims(), { alg: "HS256" }, `${secret}.`),
        "a public key as secret": await signed(claims(), { alg: "HS256" }, pem),
        "changed claims": `${head}.${encoded(claims({ sub: "boss" }))}.${mark}`,
        "unknown critical header": await signed(claims(), { alg: "HS256", crit: ["b64", "x"], x: 1 }).catch(
          () => "a.b.c",
        ),
        "expired": await signed(claims({ exp: secondsNow() - 31 })),
        "no expiry": await signed(claims({ exp: undefined } as never)),
        "not yet valid": await signed(claims({ nbf: secondsNow() + 60 })),
        "another issuer": await signed(claims({ iss: "https://issuer.example/" })),
        "no issuer": await signed(claims({ iss: undefined } as never)),
        "another audience": await signed(claims({ aud: "other" })),
        "no audience": await signed(claims({ aud: undefined } as never)),
        "no subject": await signed(claims({ sub: undefined } as never)),
        "a subject of no form": await signed(claims({ sub: "operator:local" })),
        "an unknown scope": await signed(claims({ scope: "sessions:read everything" })),
        "no scopes": await signed(claims({ scope: undefined } as JWTPayload)),
        "too long": await signed(claims({ more: "x".repeat(8_192) })),
        "no parts": "a.b.c",
      };
      for (const [what, token] of Object.entries(bad)) {
        // No token has its refusals counted against the next case: the peer may be told to wait by then.
        const { status, body } = await stage.ask("/agents", { token });
        await body?.cancel();
        assert.ok(status === 401 || status === 429, `${what}: ${status}`);
      }
      const way = await openJwtAccess(shared, () => secret, { now: Date.now });
      for (const [what, token] of Object.entries(bad)) {
        const refused = await way.authenticate({ authorization: `Bearer ${token}`, peer: "127.0.0.1" });
        assert.ok("message" in refused && refused.code === "token_invalid", what);
        assert.ok(nobody.includes(refused.message), what);
      }
    },
  ));

Deno.test("with EdDSA the public key is taken for nothing else, and a stream ends with its token", async () => {
  const { publicKey, privateKey } = await generateKeyPair("EdDSA", { extractable: true });
  const pem = await exportSPKI(publicKey);
  const config: JwtConfig = { ...base, algorithm: "EdDSA", key: "env:JWT_KEY" };
  const sign = (change: JWTPayload) =>
    new SignJWT(claims(change)).setProtectedHeader({ alg: "EdDSA" }).sign(privateKey);
  await onHttpStage(byTokens({ config, variables: { JWT_KEY: pem } }), async (stage) => {
    const scope = "sessions:read sessions:write log:read";
    const good = await sign({ scope });
    const spawned = await stage.ask("/agents", { token: good, body: { agent: "tester" }, key: "k" });
    const { address } = await spawned.json();
    // The clocks may differ by 30 s, so this one holds for three seconds more, or four.
    const brief = await sign({ scope, exp: secondsNow() - 26 });
    const watch = await stage.ask(`/actors/${address}/watch?view=state`, { token: brief });
    assert.equal(watch.status, 200);
    assert.match(await wholeOf(watch), /event: error\ndata: {"code":"token_invalid"/);
    assert.match(await told(stage, brief), /^401/);
    // The public key is known to everybody: as the secret of HS256 it must open nothing.
    assert.match(await told(stage, await signed(claims(), { alg: "HS256" }, pem)), /^401/);
    assert.match(await told(stage, await sign({ aud: "other" })), /^401/);
  });
});

Deno.test("a key that cannot be had, or is none, is refused before anything is served", async () => {
  const open = (config: JwtConfig, key: string | undefined) =>
    openJwtAccess(config, () => key, { now: () => 0 });
  await assert.rejects(open(shared, undefined), { code: "jwt_key_invalid" });
  await assert.rejects(open(shared, "short"), { code: "jwt_key_invalid", message: /at least 32 bytes/ });
  await assert.rejects(open({ ...shared, algorithm: "EdDSA" }, secret), { code: "jwt_key_invalid" });
});
