/** Whose servers are whose: a change reaches the server that changed, an end those of its session, a denial nobody else. */
import assert from "node:assert/strict";
import {
  bad,
  callOf,
  declare,
  findMarked,
  type Held,
  type Line,
  linesIn,
  markOf,
  planned,
  testProcesses,
  until,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";

/** A server that notes its starts and its calls. */
function noted(stage: Stage, name: string, more: Line = {}): Line {
  return planned(stage, { name, started: stage.path(`${name}.started`), ledger: stage.path(name) }, more);
}

async function pidsOf(stage: Stage, name: string): Promise<readonly number[]> {
  return (await linesIn(stage.path(`${name}.started`))).map(({ pid }) => Number(pid));
}

async function callsOf(stage: Stage, name: string): Promise<number> {
  return (await linesIn(stage.path(name))).length;
}

/** Answers that call a tool of each server in every turn. */
function callAll(servers: readonly string[], turns: number) {
  return Array.from({ length: turns }, (_, turn) => [
    { calls: servers.map((server) => callOf(`${server}__search`, { turn })) },
    { text: "done" },
  ]).flat();
}

/** The catalog of a session as it is now. */
async function catalogOf(
  stage: Stage,
  session: string,
): Promise<Line & { readonly entries: readonly Line[] }> {
  return JSON.parse(await stage.output("catalog", session, "--json"));
}

function provenanceIn({ entries }: { readonly entries: readonly Line[] }, server: string): string {
  return JSON.stringify(
    entries.find(({ canonicalName }) => canonicalName === `mcp.${server}.search`)?.["provenance"],
  );
}

/** Gives a prompt, and answers each question by what it is about. */
async function promptWith(
  { host, session }: Pick<Held, "host" | "session">,
  decide: (what: string) => "allow" | "deny",
): Promise<void> {
  const fromSeq = (await host.readHead(session)).seq + 1;
  const key = `${session} ${fromSeq}`;
  await host.prompt({ session, request: { text: "go" }, key, fromSeq, answers: true }, (event) => {
    if (event.type !== "question") return;
    const { id, shown, subject: { kind, tool } } = event.question;
    const by = { kind: "operator", id: "local" } as const;
    host.answer(id, { decision: decide(`${kind} ${tool}`), by, shown });
  });
}

testProcesses(
  "changed manifest makes its own server start anew, and no other; authority and core stay what the session began with (DM-59, DM-61)",
  async (stage) => {
    const servers = { left: noted(stage, "left"), right: noted(stage, "right") };
    await writeMcpAgent(stage, { servers, answers: callAll(["left", "right"], 3) });
    await withOwner(stage, async ({ session, prompt, redeclare, begin }) => {
      await prompt("go");
      const first = await catalogOf(stage, session);
      await declare(stage, { left: noted(stage, "left", { env: { MODE: "other" } }) });
      // Another core, with less authority: this session goes on with the one that it began with.
      const changed = { name: "tester", model: "scripted/script.yaml", capabilities: ["mcp.call:*"] };
      await stage.write({ "agent/agent.yaml": JSON.stringify(changed) });
      await redeclare();
      await prompt("again");
      const [left, right] = [await pidsOf(stage, "left"), await pidsOf(stage, "right")];
      assert.deepEqual([left.length, right.length], [2, 1]);
      assert.deepEqual([await callsOf(stage, "left"), await callsOf(stage, "right")], [2, 2]);
      assert.deepEqual(findMarked(markOf(stage, "left")), [left[1]]);

      // The whole catalog is another one, and nothing of the old one is left in it.
      const second = await catalogOf(stage, session);
      assert.ok(Number(second["epoch"]) > Number(first["epoch"]));
      assert.notEqual(provenanceIn(second, "left"), provenanceIn(first, "left"));
      assert.equal(provenanceIn(second, "right"), provenanceIn(first, "right"));
      const cores = new Set([...first.entries, ...second.entries].map(({ coreRevision }) => coreRevision));
      assert.equal(cores.size, 1);

      // Whoever begins now has the new core, its authority, and connections of its own: none of those.
      const other = await begin("agent");
      await other.prompt("go");
      const third = await catalogOf(stage, other.session);
      assert.deepEqual(third.entries, []);
      assert.deepEqual([(await pidsOf(stage, "left")).length, (await pidsOf(stage, "right")).length], [2, 1]);
      const journal = await stage.output("log", `connection/left@${other.session.slice("session/".length)}`);
      assert.match(journal, /mcp\.server_denied +left capability_missing: /);
    });
  },
);

testProcesses(
  "catalog holds for one core, workspace, server and connect policy: whatever of these is another, nothing of the old one is called (DM-61)",
  async (stage) => {
    await writeMcpAgent(stage, { servers: { docs: noted(stage, "docs") }, answers: callAll(["docs"], 3) });
    const contents = new Set<string>();
    const look = async (session: string) => {
      const { entries } = await catalogOf(stage, session);
      contents.add(JSON.stringify(entries));
      const [entry] = entries;
      assert.equal(entry?.["binding"], `connection/docs@${session.slice("session/".length)}`);
      return entry;
    };
    await withOwner(stage, async ({ session, prompt, begin, redeclare }) => {
      await prompt("go");
      const one = await look(session);
      // The same in all that anybody declares: still another session, with a connection of its own.
      const twin = await begin("agent");
      await twin.prompt("go");
      await look(twin.session);
      await stage.write({
        "agent/agent.yaml": JSON.stringify({
          name: "tester",
          model: "scripted/script.yaml",
          capabilities: ["mcp.connect:docs", "mcp.call:docs"],
        }),
      });
      const other = await begin("agent");
      await other.prompt("go");
      const third = await look(other.session);
      assert.notEqual(third?.["coreRevision"], one?.["coreRevision"]);
      assert.equal((await pidsOf(stage, "docs")).length, 3);
      // A connect policy that is stricter now ends the server, and its tools with it.
      await declare(stage, { docs: noted(stage, "docs", { enabled: false }) });
      await redeclare();
      await prompt("again");
      assert.deepEqual((await catalogOf(stage, session)).entries, []);
      assert.equal(await callsOf(stage, "docs"), 3);
      const [gone, ...others] = await pidsOf(stage, "docs");
      const alive = findMarked(markOf(stage, "docs"));
      assert.ok(gone !== undefined && !alive.includes(gone), String(alive));
      assert.deepEqual([...alive].sort(), [...others].sort());
    });
    assert.equal(contents.size, 3);
  },
);

testProcesses(
  "session that begins, goes on or ends its servers leaves those of every other session alone (DM-63, DM-137)",
  async (stage) => {
    await writeMcpAgent(stage, { servers: { docs: noted(stage, "docs") }, answers: callAll(["docs"], 4) });
    const alive = () => [...findMarked(markOf(stage, "docs"))].sort((left, right) => left - right);
    const sorted = async () => [...await pidsOf(stage, "docs")].sort((left, right) => left - right);
    await withOwner(stage, async ({ host, session, prompt, begin }) => {
      await prompt("go");
      const other = await begin("agent");
      await other.prompt("go");
      assert.deepEqual(alive(), await sorted());
      assert.equal(alive().length, 2);
      // It goes on, with what it had.
      await prompt("again");
      assert.deepEqual([alive(), alive().length], [await sorted(), 2]);
      // All its declarations are taken away: that ends what it had, and nothing else.
      const [first, second] = await pidsOf(stage, "docs");
      const home = {
        agent: { kind: "folder", path: stage.path("agent") } as const,
        workspace: stage.path("ws"),
      };
      await host.declareServers(session, home, []);
      await until("the server of the session has ended", () => alive().length === 1);
      assert.deepEqual(alive(), [second]);
      assert.notEqual(first, second);
      await other.prompt("again");
      assert.deepEqual([alive(), (await pidsOf(stage, "docs")).length], [[second], 2]);
      assert.equal(await callsOf(stage, "docs"), 4);
    });
    // The end of the host is the end of all.
    await until("no server is left", () => alive().length === 0);
  },
);

testProcesses(
  "denied server is not started and is asked about again before the next turn, while its peer stays connected; a denied call sends nothing (DM-137)",
  async (stage) => {
    const prompted = { approval_policy: "prompt" };
    await writeMcpAgent(stage, {
      servers: {
        peer: noted(stage, "peer", prompted),
        asked: noted(stage, "asked"),
        hung: bad(stage, ["never-answers"], { connect_timeout_seconds: 1 }),
      },
      answers: callAll(["peer", "asked"], 3),
    });
    await withOwner(stage, async (held) => {
      const asked: string[] = [];
      const deny = (denied: RegExp) => (what: string) => {
        asked.push(what);
        return denied.test(what) ? "deny" : "allow";
      };
      const askedOf = (what: string) => asked.filter((one) => one === what).length;
      await promptWith(held, deny(/^connect mcp.asked$|mcp.peer.search/));
      const counts = async () => [
        (await pidsOf(stage, "peer")).length,
        await callsOf(stage, "peer"),
        (await pidsOf(stage, "asked")).length,
        await callsOf(stage, "asked"),
      ];
      // The hung one kept neither from its end.
      assert.deepEqual(await counts(), [1, 0, 0, 0]);
      assert.equal(askedOf("connect mcp.asked"), 1);
      await promptWith(held, deny(/^connect mcp.asked$/));
      assert.equal(askedOf("connect mcp.asked"), 2);
      assert.deepEqual(await counts(), [1, 1, 0, 0]);
      await promptWith(held, deny(/nothing/));
      assert.deepEqual(await counts(), [1, 2, 1, 1]);
      // Whom it was asked about once, and allowed, it is not asked about again.
      assert.deepEqual([askedOf("connect mcp.asked"), askedOf("connect mcp.peer")], [3, 1]);
    });
  },
);
