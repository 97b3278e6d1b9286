/** What a session may read of the past: itself, or all that its owner has, found where it was said and cut to size. */
import assert from "node:assert/strict";
import { AgentDefinition } from "../../schemas/agent.ts";
import { type HistoryScope, HostPolicy } from "../../schemas/config.ts";
import { RootAddress } from "../../schemas/ids.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator, type Principal } from "../../schemas/principal.ts";
import { createSessionArchive } from "../../src/effects/session_archive.ts";
import { create } from "../../src/kernel/create.ts";
import { sessionSearch } from "../../src/tools/session_search.ts";
import type { SessionArchive, ToolUseContext } from "../../src/tools/tool.ts";
import { openStage, settled, sourceOf, type Stage, type StageOptions } from "../support/stage.ts";
import { textIn, useIn } from "../support/tools.ts";

const agent = AgentDefinition.parse({
  name: "test",
  model: "scripted/test",
  tools: ["session_search"],
  capabilities: ["session.read"],
});
const ada: Principal = { kind: "user", id: "ada" };

/** A model that counts its answers. */
const script = {
  answers: Array.from({ length: 40 }, (_, at) => ({ text: `answer ${at}` })),
};

interface SessionSketch {
  readonly principal?: Principal;
  readonly title?: string;
  readonly prompts: readonly string[];
}

async function begin(stage: Stage, { principal = localOperator, title = "test", prompts }: SessionSketch) {
  const { runtime, world } = stage;
  const session = await settled(
    world,
    runtime.createSession({
      agent,
      coreRevision: "core-1",
      home: "embedded:test",
      sources: [sourceOf([sessionSearch])],
      policy: HostPolicy.parse({}),
      principal,
      title,
    }),
  );
  await world.settle();
  for (const prompt of prompts) {
    const { report } = await settled(world, runtime.prompt(session, prompt));
    await settled(world, report);
  }
  await world.advance(1_000);
  return session;
}

type Notes = { readonly [key: string]: Json }[];

function archiveOf(stage: Stage, root: RootAddress, scope: HistoryScope, notes: Notes = []): SessionArchive {
  return createSessionArchive({
    journal: stage.runtime.journal,
    clock: stage.world.seams.clock,
    root,
    isOperators: scope === "operator",
    ordinal: "call/0.0",
    note: (type, body) => void notes.push({ type, ...(body as JsonObject) }),
  });
}

/** Calls the tool for a session, as its call would be carried out once it was allowed. */
function asked(stage: Stage, root: RootAddress, scope: HistoryScope = "session", notes?: Notes) {
  const sessions = archiveOf(stage, root, scope, notes);
  return async (input: JsonObject, changes: Partial<ToolUseContext> = {}): Promise<string> => {
    const use = useIn(undefined as never, { sessions, clock: stage.world.seams.clock, ...changes });
    return textIn(await settled(stage.world, sessionSearch.handler(input, use)));
  };
}

function idOf(session: RootAddress): string {
  return session.slice("session/".length);
}

Deno.test("session_search lists sessions, reads one, and finds words in what was said (DM-129)", async () => {
  const stage = await openStage({ script });
  const one = await begin(stage, { prompts: ["Plant a tree", "Water the tree"], title: "garden" });
  const ask = asked(stage, one);
  const id = idOf(one);
  const listed = await ask({});
  assert.match(listed, new RegExp(`^${id} \\(garden\\), 2 turns, \\S+Z to \\S+Z$`));
  const read = await ask({ session: id });
  assert.deepEqual(
    read.split("\n").filter((line) => line.startsWith("  ")),
    ["  Plant a tree", "  answer 0", "  Water the tree", "  answer 1"],
  );
  assert.match(read, /\(garden\), turn 2, person, \S+Z:\n {2}Water the tree\n/);
  const found = await ask({ query: "TREE water" });
  assert.match(found, /^\S+ \(garden\), turn 2, person, \S+Z:\n {2}Water the tree$/);
  assert.equal(await ask({ query: "tree house" }), "[nothing found]");
  assert.match(await ask({ query: "tree", limit: 1 }), /Water the tree\n\[more: go on with offset 1\]$/);
  assert.match(await ask({ query: "tree", limit: 1, offset: 1 }), /Plant a tree$/);
  assert.match(await ask({ session: id, limit: 3 }), /\[more: 1 messages; go on with offset 3\]$/);
  assert.match(await ask({ session: id, offset: 3 }), /turn 2, agent, .*\n {2}answer 1$/s);
});

Deno.test("session_search sees the session that it is bound to, and no other one (DM-130)", async () => {
  const stage = await openStage({ script });
  const other = await begin(stage, { prompts: ["My other secret plan"] });
  const bound = await begin(stage, { prompts: ["My plan"] });
  const notes: Notes = [];
  const ask = asked(stage, bound, "session", notes);
  assert.equal((await ask({})).split("\n").length, 1);
  assert.match(await ask({ query: "plan" }), new RegExp(`^${idOf(bound)} [^\\n]*\\n  My plan$`));
  assert.equal(await ask({ session: idOf(other) }), "session_unknown");
  assert.equal(await ask({ session: other, query: "plan" }), "session_unknown");
  assert.equal(await ask({ query: "plan", scope: "all" }), "history_scope_refused");
  // What is written of it names the scope, the owner and how much was read.
  const [browsed] = notes;
  assert.deepEqual(
    [browsed?.["type"], browsed?.["ordinal"], browsed?.["scope"], browsed?.["owner"], browsed?.["sessions"]],
    ["history.read", "call/0.0", "session", "operator:local", 1],
  );
});

Deno.test("session_search in the operator's scope sees every session of the same owner, and none of another or of nobody known (DM-130)", async () => {
  const stage = await openStage({ script });
  const first = await begin(stage, { prompts: ["plan one"] });
  const foreign = await begin(stage, { principal: ada, prompts: ["plan of ada"] });
  const orphan = RootAddress.parse("session/ses_nobody");
  const { principal: _, ...input } = ((await stage.entries(first))[0]?.body as { input: JsonObject }).input;
  await settled(
    stage.world,
    create(stage.runtime.kernel, {
      address: orphan,
      kind: "session",
      input: { ...input, address: orphan },
      title: "plan of nobody",
    }),
  );
  const bound = await begin(stage, { prompts: ["plan two"] });
  const notes: Notes = [];
  const ask = asked(stage, bound, "operator", notes);
  const all = { scope: "all" };
  assert.deepEqual(
    (await ask(all)).split("\n").map((line) => line.split(" ")[0]),
    [idOf(bound), idOf(first)],
    "newest first",
  );
  const found = await ask({ ...all, query: "plan" });
  assert.deepEqual(found.split("\n").filter((line) => line.startsWith("  ")), ["  plan two", "  plan one"]);
  assert.match(await ask({ ...all, session: idOf(first) }), /plan one/);
  for (const hidden of [foreign, orphan, RootAddress.parse("session/ses_none")]) {
    assert.equal(await ask({ ...all, session: idOf(hidden) }), "session_unknown");
  }
  // Without saying so, a call reads its own session alone, and that is what a person is asked about.
  assert.doesNotMatch(await ask({ query: "plan" }), /plan one/);
  assert.deepEqual(notes.map(({ scope }) => scope).slice(0, 1), ["operator"]);
  assert.equal(notes.at(-1)?.["scope"], "session");
  const hers = asked(stage, foreign, "operator");
  assert.equal((await hers(all)).split("\n").length, 1);
  const nobodys = asked(stage, orphan, "operator");
  assert.match(await nobodys(all), /^ses_nobody /);
  assert.equal((await nobodys(all)).split("\n").length, 1);
});

Deno.test("session_search says who said something: no news of the runtime is a person's word", async () => {
  const stage = await openStage({ script });
  const other = await begin(stage, { prompts: [] });
  const session = await begin(stage, { prompts: ["First"] });
  const relay = { type: "session.relay", to: other, text: "Ask her" } as const;
  await settled(stage.world, stage.runtime.send(session, relay));
  await stage.world.advance(1_000);
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Second"));
  await settled(stage.world, report);
  await stage.world.advance(1_000);
  const read = await asked(stage, session)({ session: idOf(session) });
  assert.deepEqual(
    [...read.matchAll(/, turn (\d), (\w+), \S+Z:\n {2}(.*)/g)].map((match) => match.slice(1)),
    [
      ["1", "person", "First"],
      ["1", "agent", "answer 0"],
      ["2", "runtime", `[answer from ${other}, outcome completed]`],
      ["2", "person", "Second"],
      ["2", "agent", "answer 1"],
    ],
  );
});

Deno.test("session_search gives 10 results by default, 50 at most, of 800 characters each (DM-17)", async () => {
  const stage = await openStage({ script });
  const long = `${"a ".repeat(2_000)}needle ${"z ".repeat(2_000)}`;
  const prompts = Array.from({ length: 12 }, (_, at) => `${long}${at}`);
  const session = await begin(stage, { prompts });
  const ask = asked(stage, session);
  const results = (text: string) => text.split("\n").filter((line) => line.startsWith("  "));
  const found = results(await ask({ query: "needle" }));
  assert.equal(found.length, 10);
  for (const line of found) {
    assert.equal(line.length, 2 + limits.historyResultCharactersMax);
    assert.match(line, /^ {2}….*needle.*…$/);
  }
  assert.equal(results(await ask({ query: "needle", limit: 50 })).length, 12);
  assert.equal(await ask({ query: "needle", limit: 51 }), "arguments_invalid");
  for (const line of results(await ask({ session: idOf(session), limit: 50 }))) assert.ok(line.length <= 802);
});

Deno.test("session_search gives way between streams, stops at its bounds, and says what it left out", async () => {
  const stage = await openStage({ script });
  const sessions: RootAddress[] = [];
  for (let at = 0; at < 6; at++) sessions.push(await begin(stage, { prompts: [`plan ${at}`] }));
  const bound = sessions.at(-1) as RootAddress;
  const { clock } = stage.world.seams;
  let deferred = 0;
  const counting = { ...clock, defer: (task: () => void) => (deferred++, clock.defer(task)) };
  const archive = createSessionArchive({
    journal: stage.runtime.journal,
    clock: counting,
    root: bound,
    isOperators: true,
    ordinal: "",
    note: () => {},
  });
  const ask = async (changes: Partial<ToolUseContext>) => {
    const use = useIn(undefined as never, { sessions: archive, clock, ...changes });
    return textIn(await settled(stage.world, sessionSearch.handler({ scope: "all", query: "plan" }, use)));
  };
  assert.equal((await ask({})).split("\n").filter((line) => line.startsWith("  ")).length, 6);
  assert.ok(deferred >= sessions.length, `${deferred}`);
  const late = "[nothing found]\n[cut: the time was over; older sessions were not looked at]";
  assert.equal(await ask({ deadlineAtMs: stage.world.now() + 1_000 }), late);
  assert.equal(await ask({ signal: AbortSignal.abort() }), late);
});

/** A turn whose model searches, under the gates. */
async function searching(options: StageOptions & { readonly capabilities?: readonly string[] }) {
  const answers = [{ calls: [{ tool: "session_search", arguments: { query: "paint" } }] }, { text: "Done." }];
  const { capabilities = ["session.read"] } = options;
  const stage = await openStage({ builtins: [sessionSearch], answers, agent: { capabilities }, ...options });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Paint it."));
  await stage.world.settle();
  const told = async () => {
    await settled(stage.world, report);
    const all = await settled(stage.world, stage.runtime.conversations.transcript(session, "9.9"));
    return all.find(({ role }) => role === "tool")?.text ?? "";
  };
  return { stage, session, told };
}

Deno.test("session_search reads nothing before a person allowed it, and nothing without session.read (DM-129, DM-16)", async () => {
  const { stage, session, told } = await searching({});
  const [question] = stage.runtime.questions.list();
  assert.ok(question);
  assert.deepEqual([question.subject.tool, question.subject.risk], ["session_search", "medium"]);
  const read = async () =>
    (await stage.entries(session)).filter(({ type }) => type === "history.read").length;
  assert.equal(await read(), 0);
  const { id, shown } = question;
  const answer = { decision: "allow", by: localOperator, shown } as const;
  await settled(stage.world, stage.runtime.questions.answer(id, answer));
  assert.match(await told(), /turn 1, person, .*\n {2}Paint it\./);
  assert.equal(await read(), 1);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  const without = await searching({ capabilities: [] });
  assert.match(await without.told(), /needs the capability "session.read"/);
  assert.deepEqual(without.stage.runtime.questions.list(), []);
  const nobody = await searching({ hasAnswerer: () => false });
  assert.match(await nobody.told(), /Nobody is there to be asked/);
  for (const { stage, session } of [without, nobody]) {
    assert.ok(!(await stage.entries(session)).some(({ type }) => type === "history.read"));
  }
});
