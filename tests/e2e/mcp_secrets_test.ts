/** Variables of the operator in a server's environment: only those that its manifest names, and never in the records. */
import assert from "node:assert/strict";
import {
  bodiesOf,
  callOf,
  entriesOf,
  type Line,
  onMcpStage,
  planned,
  sessionIn,
  startWith,
  writeMcpAgent,
} from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";

/** Servers that are given a secret: one says how long it is, two tell it before they die, one lacks its own. */
async function writeSecretive(stage: Stage): Promise<void> {
  const ledger = stage.path("ledger");
  const env = { TOKEN: "Bearer ${E2E_TOKEN}" };
  await stage.write({
    "config/troupe/troupe.yaml": 'policy: { effects: { "mcp.mutters.*": idempotent } }\n',
  });
  await writeMcpAgent(stage, {
    servers: {
      keeps: planned(stage, { name: "keeps" }, { env: { ...env, PLAIN: "$E2E_TOKEN $$" } }),
      mutters: planned(stage, { name: "mutters", mutters: "TOKEN", ledger, diesInCalls: 1 }, { env }),
      tells: planned(stage, { name: "tells", tells: "TOKEN" }, { env }),
      lacks: planned(stage, { name: "lacks" }, { env: { ...env, A: "${E2E_LACKING}", B: "${E2E_EMPTY}" } }),
    },
    answers: [
      { calls: [callOf("keeps__variables"), callOf("mutters__search")] },
      { expect: "mutters found", text: "finished" },
    ],
  });
}

/** Every file below a folder, but for one, as one text of bytes. */
async function bytesBelow(folder: string, except: string): Promise<string> {
  const texts: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) texts.push(await bytesBelow(path, except));
    else if (name !== except) texts.push(new TextDecoder("latin1").decode(await Deno.readFile(path)));
  }
  return texts.join("\n");
}

// DM-53, DM-67
Deno.test("secret of a server is put in once it was allowed, and stands in no entry, file, line or export (DM-53, DM-67)", async () => {
  await onMcpStage(async (stage) => {
    await writeSecretive(stage);
    const secret = `hunter2-${crypto.randomUUID()}`;
    const variables = { E2E_TOKEN: secret, E2E_EMPTY: "", SECRET_X: "of nobody's concern" };
    const order = ["run", "agent", "a needle for the store", "--workspace", "ws"];
    // Nobody allows anything: then nobody looks whether a variable is there.
    const denied = await (await startWith(stage, variables, ...order)).ended;
    assert.match(denied.out, /^ {2}✗ lacks {2}mcp_connect_denied: /m);
    const ended = await (await startWith(stage, variables, ...order, "--answer", "allow")).ended;
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.out, /^ {2}✗ lacks {2}mcp_variable_missing: .*E2E_EMPTY, E2E_LACKING/m);
    assert.match(
      ended.out,
      /^ {2}✗ tells {2}mcp_connect_failed: .*cannot log in with "Bearer \[redacted\]"$/m,
    );
    assert.match(ended.out, /✓ mcp\.mutters\.search .* mutters found/);

    const texts = [denied, ended].flatMap(({ out, err }) => [out, err]);
    const id = sessionIn(ended);
    for (const root of [`session/${id}`, `connection/mutters@${id}`, `connection/tells@${id}`]) {
      texts.push(await stage.output("log", root));
      await stage.output("export", root, "-o", `${root.replace("/", "-")}.jsonl`);
    }
    const told = texts.join("\n");
    for (const server of ["mutters", "tells"]) {
      assert.match(
        told,
        new RegExp(`mcp_connect\\w+: ${server}: .*its last words: .*cannot log in with "Bearer \\[redacted`),
      );
    }
    const stored = await bytesBelow(stage.folder, "variables");
    assert.ok(stored.includes("a needle for the store") && stored.includes("[redacted]"));
    assert.ok(!told.includes(secret) && !stored.includes(secret));
    await assertEnvironment(stage, secret);
  });
});

/** The server has what it was given and what every program needs, and nothing else of ours. */
async function assertEnvironment(stage: Stage, secret: string): Promise<void> {
  const [kept] = bodiesOf(await entriesOf(stage, "last"), "outcome", "mcp.call");
  const pairs: readonly (readonly [string, number])[] = JSON.parse(
    String((kept?.["value"] as Line)["model"]),
  );
  const given = new Map(pairs);
  assert.equal(given.get("TOKEN"), `Bearer ${secret}`.length);
  assert.equal(given.get("PLAIN"), "$E2E_TOKEN $$".length);
  const harmless = ("COLORTERM HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TEMP TERM TMP TMPDIR TZ USER")
    .split(" ");
  const others = [...given.keys()].filter((name) => !harmless.includes(name));
  assert.deepEqual(others, ["PLAIN", "TOKEN", "TROUPE_OWNER", "TROUPE_SPAWN"]);
}
