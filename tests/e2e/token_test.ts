/** `troupe token` as a process: what it prints, what it refuses, and that the store stays sound. */
import assert from "node:assert/strict";
import { assertRefused, onStage } from "./troupe.ts";

Deno.test("tokens are issued and rotated while no server runs; what cannot be is refused in one line", () =>
  onStage(async (stage) => {
    const program = ["--principal", "program:ci"];
    const created = await stage.run(
      "token",
      "create",
      ...program,
      "--scopes",
      "sessions:read",
      "--expires",
      "2h",
    );
    assert.equal(created.code, 0, created.err);
    assert.match(created.out, /^tr_[0-9a-f]{68}\n$/);
    const [, id = ""] = /^(tok_\w{26}) for program:ci, until .*: sessions:read$/m.exec(created.err) ?? [];
    const rotated = JSON.parse(await stage.output("token", "rotate", id, "--json"));
    assert.equal(rotated.principal, "program:ci");
    assert.match(rotated.secret, /^tr_/);
    assert.ok(Math.abs(rotated.expiresAt - rotated.createdAt - 7_200_000) < 60_000);
    const listed = (await stage.output("token", "list", "--json")).trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    assert.deepEqual(listed.map((one) => one.replacedBy), [rotated.id, null]);
    assert.ok(listed.every((one) => !("digest" in one) && !("secret" in one)));
    const refused = await stage.run("token", "create", ...program, "--scopes", "approvals:decide");
    assertRefused(refused, 2, "scope_for_persons");
    assert.match(await stage.output("doctor"), /nothing is wrong/);
  }));
