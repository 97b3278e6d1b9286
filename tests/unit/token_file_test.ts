/** The token of a store: made once, for its owner's eyes alone, and the only one that opens. */
import assert from "node:assert/strict";
import { ApiFailure } from "../../src/api/api_failure.ts";
import { openTokenFile } from "../../src/api/token_file.ts";
import { createSystemSeams } from "../../src/system_seams.ts";

const { digest } = createSystemSeams({ log: () => {} });

Deno.test("the token is made once, in a file of mode 0600, and it alone is the operator", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/store.db`, "");
    const { path, token, authenticate } = await openTokenFile(`${folder}/store.db`, digest);
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    assert.equal((await openTokenFile(`${folder}/store.db`, digest)).token, token);
    const shown = (authorization: string | undefined) => authenticate({ authorization, peer: "127.0.0.1" });
    const operator = await shown(`Bearer ${token}`);
    assert.ok(!(operator instanceof ApiFailure));
    assert.deepEqual(operator.principal, { kind: "operator", id: "local" });
    assert.ok(operator.scopes.has("approvals:decide") && !operator.scopes.has("admin"));
    const refusals = [
      undefined,
      "",
      "Bearer",
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      `Basic ${token}`,
    ];
    const told = await Promise.all(refusals.map(async (one) => {
      const refused = await shown(one);
      return refused instanceof ApiFailure ? `${refused.code} ${refused.message}` : "let in";
    }));
    assert.equal(new Set(told).size, 1);
    assert.match(told[0] ?? "", /^token_invalid /);
    await Deno.chmod(path, 0o640);
    await assert.rejects(openTokenFile(`${folder}/store.db`, digest), { code: "token_file_unsafe" });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
