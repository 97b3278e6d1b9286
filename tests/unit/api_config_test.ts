/** `api` in the host's `troupe.yaml`. */
import assert from "node:assert/strict";
import { readHostSettings } from "../../src/host/home.ts";

/** What a configuration says of `api`, read from a file; or why it is refused. */
async function apiOf(yaml: string) {
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/troupe.yaml`;
    await Deno.writeTextFile(file, yaml);
    const { config } = await readHostSettings((name) => name === "TROUPE_CONFIG" ? file : undefined);
    return { folder, api: config.api, problem: "" };
  } catch (error) {
    return { folder, api: undefined, problem: String(error) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the key of api.jwt is named by a variable or a file beside the configuration, never written in it", async () => {
  const jwt = (rest: string) => `api: { jwt: { algorithm: HS256, issuer: i, audience: a, ${rest} } }\n`;
  const { folder, api } = await apiOf(jwt("key: 'file:keys/jwt'"));
  const rest = {
    algorithm: "HS256",
    issuer: "i",
    audience: "a",
    scopes_claim: "scope",
    principal: "program",
  };
  assert.deepEqual(api, { jwt: { ...rest, key: `file:${folder}/keys/jwt` } });
  assert.equal((await apiOf(jwt("key: 'env:KEY'"))).api?.jwt?.key, "env:KEY");
  assert.deepEqual((await apiOf("policy: {}\n")).api, {});
  assert.match((await apiOf(jwt("key: secret"))).problem, /env:NAME or file:PATH/);
  assert.match((await apiOf(jwt("key: 'env:KEY', none: true"))).problem, /none/);
  assert.match(
    (await apiOf("api: { jwt: { algorithm: none, key: 'env:K', issuer: i, audience: a } }\n")).problem,
    /algorithm/,
  );
  // Persons may be meant by it; the operator and agents may not.
  assert.match((await apiOf(jwt("key: 'env:KEY', principal: operator"))).problem, /principal/);
});
