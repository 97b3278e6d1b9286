/** Every way out of a runtime, with secrets planted in every way in: none of them comes out, whatever is asked for. */
import assert from "node:assert/strict";
import { callOf, onMcpStage, planned, startWith, trustAgent, until, writeMcpAgent } from "./mcp_stage.ts";
import { type Ended, linesOf, type Stage } from "./troupe.ts";

/** Looks like a key of a known kind, and is the model's own: in arguments, never among the host's secrets. */
const modelsOwn = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
/** Files that the test itself wrote secrets into. */
const given = ["key", "a.txt", "script.yaml", "variables"];

/** Where it is as good to say nothing. */
const nothingSaid = /^/;

interface Planted {
  readonly fromEnv: string;
  readonly fromFile: string;
}

/** One way out: what it gave, and what shows that it gave what the secrets were in. */
type Sinks = { readonly [name: string]: readonly [text: string, witness: RegExp] };

/** Secrets in a file, an answer, arguments, a server's variables, its last words, a failure and a prompt. */
async function plant(stage: Stage, { fromEnv, fromFile }: Planted): Promise<void> {
  await stage.write({
    "config/troupe/troupe.yaml": JSON.stringify({
      secrets: { DOCS_KEY: "env:E2E_DOCS", FILE_KEY: "file:key" },
      policy: { tools: { search_files: "prompt" }, effects: { "mcp.docs.*": "idempotent" } },
    }),
    "config/troupe/key": `${fromFile}\n`,
  });
  await Deno.chmod(stage.path("config/troupe/key"), 0o600);
  const plan = { name: "docs", mutters: "TOKEN", ledger: stage.path("ledger"), diesInCalls: 1 };
  const shared = {
    servers: { docs: planned(stage, plan, { env: { TOKEN: "Bearer ${FILE_KEY}" } }) },
    tools: ["read_file", "search_files"],
    capabilities: ["fs.read", "mcp.connect:*", "mcp.call:*", "secret.bind:FILE_KEY"],
  };
  await writeMcpAgent(stage, {
    ...shared,
    answers: [
      {
        text: `I was told ${fromEnv}`,
        calls: [callOf("read_file", { path: "a.txt" }), callOf("docs__search")],
      },
      { calls: [callOf("search_files", { pattern: modelsOwn })] },
      { text: `finished with ${fromFile}` },
    ],
  });
  const failing = [{ error: { message: `the vendor refused ${fromEnv}`, retryable: false } }];
  await writeMcpAgent(stage, { ...shared, servers: {}, folder: "failing", answers: failing as never });
  const basic = btoa(`user:${fromEnv}`);
  await stage.write({
    "ws/a.txt": `the file says ${fromEnv}\nAuthorization: Basic ${basic}\n${
      encodeURIComponent(`/${fromFile}/`)
    }\n`,
  });
  await stage.output(...trustAgent);
}

/** What the owner's door says to whoever has its token, byte for byte. */
async function doorBytes(stage: Stage, session: string): Promise<string> {
  const { door } = JSON.parse(await Deno.readTextFile(stage.path("store.db.owner")));
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: door.port });
  const requests = [["entries", { root: session, from: 1, follow: false }], ["questions", {}], [
    "sessions",
    {},
  ]];
  const lines = requests.map(([method, params], index) =>
    `${JSON.stringify({ token: door.token, id: index + 1, method, params })}\n`
  );
  const request = new TextEncoder().encode(lines.join(""));
  assert.equal(await connection.write(request), request.length);
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65_536);
  let text = "";
  while (requests.some((_, index) => !new RegExp(`"id":${index + 1},"type":"(?:end|error)"`).test(text))) {
    const count = await connection.read(buffer);
    assert.ok(count !== null, `the door was closed after:\n${text}`);
    text += decoder.decode(buffer.subarray(0, count), { stream: true });
  }
  return text;
}

/** What is told while a question waits, by another process and at the door. */
async function sinksOfWaiting(stage: Stage): Promise<Sinks> {
  const [newest] = linesOf(await stage.output("sessions", "--json"));
  const session = String(newest?.["address"]);
  return {
    "door": [await doorBytes(stage, session), /the file says \[redacted\].*"type":"end"/s],
    "questions": [await stage.output("questions"), /arguments {2}\{"pattern": "\[redacted\]"\}/],
    "questions --json": [await stage.output("questions", "--json"), /\[redacted\]/],
  };
}

/** What is told of a session by its journal. */
async function sinksOfJournal(stage: Stage): Promise<Sinks> {
  const [newest] = linesOf(await stage.output("sessions", "--json"));
  const server = String(newest?.["address"]).replace("session/", "connection/docs@");
  const read = (...order: readonly string[]) => stage.output(...order);
  await stage.output("export", "last", "-o", "run.jsonl");
  return {
    "log": [await read("log", "last"), /the file says \[redacted/],
    "log --json": [
      await read("log", "last", "--json"),
      /the file says \[redacted: DOCS_KEY from env:E2E_DOCS\]/,
    ],
    "log --json --debug": [
      await read("log", "last", "--json", "--debug"),
      /DOCS_KEY from env:E2E_DOCS, [0-9a-f]{16}\]/,
    ],
    "log of the server": [await read("log", server), /cannot log in with \\?"Bearer \[redacted/],
    "log of the server --json": [await read("log", server, "--json"), /Bearer \[redacted/],
    "invocations": [await read("invocations", "last"), /search_files/],
    "invocations --json": [await read("invocations", "last", "--json"), /"name":"DOCS_KEY"/],
    "invocations --json --debug": [
      await read("invocations", "last", "--json", "--debug"),
      /"print":"[0-9a-f]{16}"/,
    ],
    "inspect --json": [await read("inspect", "last", "--json"), /the file says \[redacted\]/],
    "why --json": [await read("why", server, "--json"), /"machine":"connection"/],
    "tree --json": [await read("tree", "--json"), /"name":"connection\/docs@/],
    "catalog --json": [await read("catalog", "agent", "--json"), /search_files/],
    "replay --strict": [await read("replay", "last", "--strict"), /no divergence/],
    "export": [await Deno.readTextFile(stage.path("run.jsonl")), /the file says \[redacted\]/],
  };
}

/** All files below a folder but those that were given, as one text of bytes. */
async function bytesBelow(folder: string): Promise<string> {
  const texts: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (given.includes(name)) continue;
    const path = `${folder}/${name}`;
    if (isDirectory) texts.push(await bytesBelow(path));
    else texts.push(new TextDecoder("latin1").decode(await Deno.readFile(path)));
  }
  return texts.join("\n");
}

function outputsOf(name: string, { out, err }: Ended, ...[shown, said]: readonly [RegExp, RegExp]): Sinks {
  return { [`${name}, standard output`]: [out, shown], [`${name}, standard error`]: [err, said] };
}

function assertClean(sinks: Sinks, { fromEnv, fromFile }: Planted): void {
  const encoded = [btoa(`user:${fromEnv}`), btoa(`user:Bearer ${fromFile}`)].map((text) =>
    text.slice(20, 50)
  );
  for (const [name, [text, witness]] of Object.entries(sinks)) {
    assert.match(text, witness, name);
    for (const hidden of [fromEnv, fromFile, modelsOwn, ...encoded]) {
      assert.ok(!text.includes(hidden), `${name} has ${hidden}`);
    }
    // Fingerprints are for those who ask for them; the store has them for that.
    if (name.includes("--debug") || ["store", "door", "export"].includes(name)) continue;
    assert.doesNotMatch(text, /"print":|from [^\]\n]*, [0-9a-f]{16}\]/, name);
  }
}

// B119, I9
Deno.test("secret that is planted in every way in comes out nowhere: terminal, log, door, export, store, errors (B119, DM-46)", async () => {
  await onMcpStage(async (stage) => {
    stage.debug();
    const planted = { fromEnv: crypto.randomUUID(), fromFile: crypto.randomUUID() };
    await plant(stage, planted);
    const env = { E2E_DOCS: planted.fromEnv };
    const order = ["run", "agent", `use ${planted.fromEnv}`, "--workspace", "ws"];
    const owner = await startWith(stage, env, ...order, "--answer", "wait");
    await owner.until("A question waits");
    const waiting = await sinksOfWaiting(stage);
    const [question] = linesOf(await stage.output("questions", "--json"));
    await stage.output("answer", String(question?.["id"]), "allow");
    const ended = await owner.ended;
    assert.equal(ended.code, 0, ended.err);
    const journal = await sinksOfJournal(stage);
    await until(
      "nobody holds the store",
      () => Deno.stat(stage.path("store.db.owner")).then(() => false, () => true),
    );
    const json = await (await startWith(stage, env, ...order, "--answer", "allow", "--json")).ended;
    const failed = await (await startWith(stage, env, "run", "failing", "go", "--workspace", "ws")).ended;
    assertClean({
      ...waiting,
      ...journal,
      ...outputsOf("run", ended, /finished with \[redacted: FILE_KEY\]/, /session ses_/),
      ...outputsOf("run --json", json, /\[redacted: DOCS_KEY from env:E2E_DOCS\]/, nothingSaid),
      ...outputsOf("run that fails", failed, /the vendor refused \[redacted/, /session ses_/),
      "store": [await bytesBelow(stage.folder), /the file says \[redacted\]/],
    }, planted);
  });
});
