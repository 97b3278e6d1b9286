/** The reference server of others by Streamable HTTP, as a process that is killed, paused and started again; and by npx. */
import assert from "node:assert/strict";
import { offeredBy } from "../../schemas/question.ts";
import { hasCommand } from "../support/child_stage.ts";
import {
  callOf,
  findMarked,
  firstTurn,
  type Held,
  type Line,
  linesIn,
  markOf,
  planned,
  startWith,
  testProcesses,
  theMarked,
  until,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { type Running, type Stage } from "./troupe.ts";

const everything = "@modelcontextprotocol/server-everything@2026.8.31";

/** A free port on loopback: whoever listens there next has it. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Starts the server and waits until it listens. It is ended with its stage. */
async function listen(stage: Stage, port: number): Promise<Running> {
  await stage.write({ "server.env": `PORT=${port}\n` });
  const running = stage.startDeno(
    ...["run", "--quiet", "--no-prompt", "--allow-env", "--allow-read", "--allow-net", "--allow-sys"],
    ...[`--env-file=${stage.path("server.env")}`, `npm:${everything}`, "streamableHttp"],
  );
  await running.until("listening on port");
  return running;
}

async function writeRemote(
  stage: Stage,
  port: number,
  calls: readonly Line[],
  more: Line = {},
): Promise<Line> {
  const network = { allow: [`127.0.0.1:${port}`] };
  await writeMcpAgent(stage, {
    servers: {
      remote: {
        transport: "streamable_http",
        url: `http://127.0.0.1:${port}/mcp`,
        approval_policy: "auto",
        ...more,
      },
    },
    answers: calls.flatMap((call) => [{ calls: [call as ReturnType<typeof callOf>] }, { text: "done" }]),
  });
  await stage.write({ "config/troupe/troupe.yaml": JSON.stringify({ network }) });
  return { network };
}

async function outcomes(stage: Stage): Promise<unknown[]> {
  const { invocations } = JSON.parse(await stage.output("inspect", "last", "--json"));
  return invocations.map((one: Line) => one["outcome"]);
}

/** Gives a prompt; what is in doubt is given up, everything else allowed. */
async function promptOn({ host, session }: Pick<Held, "host" | "session">): Promise<string> {
  const fromSeq = (await host.readHead(session)).seq + 1;
  const key = `${session} ${fromSeq}`;
  const ended = await host.prompt(
    { session, request: { text: "go" }, key, fromSeq, answers: true },
    (event) => {
      if (event.type !== "question") return;
      const { id, shown, subject } = event.question;
      const decision = offeredBy(subject).includes("abandon") ? "abandon" : "allow";
      host.answer(id, { decision, by: { kind: "operator", id: "local" }, shown, note: "a test" });
    },
  );
  return ended.outcome;
}

/** Waits until a call of a tool is under way. */
async function untilUnderWay({ host, session }: Pick<Held, "host" | "session">, mark: string): Promise<void> {
  await until(`a call with ${mark} is under way`, async () => {
    for await (const page of host.readPages(session)) {
      const isThere = ({ kind, type, body }: Line) =>
        kind === "intent" && type === "mcp.call" && JSON.stringify(body).includes(mark);
      if ((page as unknown as Line[]).some(isThere)) return true;
    }
    return false;
  });
}

function echo(message: string) {
  return callOf("remote__echo", { message });
}

testProcesses(
  "reference server by HTTP is killed in mid-call and started again: the call is in doubt, and its session, unknown by a 400, is begun anew",
  async (stage) => {
    const port = freePort();
    let server = await listen(stage, port);
    const long = callOf("remote__trigger-long-running-operation", { duration: 600, steps: 600 });
    const config = await writeRemote(stage, port, [echo("one"), long, echo("two"), echo("three")]);
    await withOwner(stage, async (held) => {
      assert.equal(await promptOn(held), "completed");
      const working = promptOn(held);
      await untilUnderWay(held, "long-running");
      server.signal("SIGKILL");
      await server.ended;
      await working;
      server = await listen(stage, port);
      assert.deepEqual([await promptOn(held), await promptOn(held)], ["completed", "completed"]);
    }, config);
    const { invocations, mcpSessions } = JSON.parse(await stage.output("inspect", "last", "--json"));
    const [one, killed, lost, after] = invocations;
    assert.deepEqual([one, killed, after].map(({ outcome }) => outcome), [
      "succeeded",
      "unknown",
      "succeeded",
    ]);
    // Nothing was done over the session that is not known any more: whoever calls may call again (CM-127).
    assert.deepEqual([lost.outcome, lost.error.code, lost.error.retryable], [
      "failed",
      "session_not_found",
      true,
    ]);
    assert.equal(lost.error.details.http_status, 400);
    assert.deepEqual([mcpSessions[0].sessions, mcpSessions[0].session_state], [2, "closed"]);
  },
);

testProcesses(
  "reference server by HTTP that is paused has its call in doubt when its time is up, and serves the next one once it goes on",
  async (stage) => {
    const port = freePort();
    const server = await listen(stage, port);
    const calls = [echo("one"), echo("two"), echo("three")];
    const config = await writeRemote(stage, port, calls, { timeout_seconds: 1 });
    try {
      await withOwner(stage, async (held) => {
        assert.equal(await promptOn(held), "completed");
        server.signal("SIGSTOP");
        await promptOn(held);
        server.signal("SIGCONT");
        assert.equal(await promptOn(held), "completed");
      }, config);
    } finally {
      server.signal("SIGCONT");
    }
    assert.deepEqual(await outcomes(stage), ["succeeded", "unknown", "succeeded"]);
  },
);

testProcesses(
  "reference server in its jail is killed in mid-call: the call is in doubt, and the next one starts it again",
  async (stage) => {
    const long = callOf("every__trigger-long-running-operation", { duration: 600, steps: 600 });
    const sum = callOf("every__get-sum", { a: 2, b: 40 });
    await writeMcpAgent(stage, {
      servers: {
        every: { run: { npm: everything, args: ["stdio", markOf(stage, "every")] }, approval_policy: "auto" },
      },
      answers: [{ calls: [long] }, { text: "given up" }, { calls: [sum] }, { expect: "42", text: "done" }],
    });
    const place = ["--agent", "agent", "--workspace", "ws"];
    await stage.output("mcp", "check", "every", ...place, "--answer", "allow");
    await withOwner(stage, async (held) => {
      const working = promptOn(held);
      await untilUnderWay(held, "long-running");
      Deno.kill(theMarked(markOf(stage, "every")), "SIGKILL");
      await working;
      assert.equal(await promptOn(held), "completed");
    });
    assert.deepEqual(await outcomes(stage), ["unknown", "succeeded"]);
    assert.deepEqual(findMarked(markOf(stage)), []);
  },
);

testProcesses(
  "reference server by npx sees no secret of the host, and leaves no process behind",
  async (stage) => {
    if (!hasCommand("npx")) return;
    // The cache of whoever runs this test, so that the package is fetched once.
    const cache = ["--prefer-offline", `--cache=${Deno.env.get("HOME") ?? stage.folder}/.npm`];
    const npx = ["--yes", ...cache, everything];
    // Fetched before, however long that takes: with a word that it does not know the server ends at once.
    await new Deno.Command("npx", { args: [...npx, "nothing"], cwd: stage.folder, stdin: "null" }).output();
    await writeMcpAgent(stage, {
      servers: {
        every: {
          command: "npx",
          args: [...npx, "stdio", markOf(stage, "npx")],
          approval_policy: "auto",
        },
      },
      answers: [{ calls: [callOf("every__get-env")] }, { expect: "PATH", text: "done" }],
    });
    const variables = { HOST_TOKEN: "kept-by-the-host-4711" };
    const ended = await (await startWith(stage, variables, ...firstTurn, "--answer", "allow")).ended;
    assert.match(ended.out, /done\nturn 1 completed/, `${ended.out}\n${ended.err}`);
    const journal = await stage.output("log", "last", "--json");
    assert.match(journal, /npm_lifecycle_event/); // So the variables are in it,
    assert.doesNotMatch(journal, /HOST_TOKEN|kept-by-the-host/); // and this is none of them.
    assert.deepEqual(findMarked(markOf(stage, "npx")), []);
  },
);

testProcesses(
  "fifty sessions of one runtime use servers and end: the number of processes is what it was before",
  async (stage) => {
    const started = stage.path("started");
    const docs = planned(stage, { name: "docs", started });
    await writeMcpAgent(stage, {
      servers: { docs },
      answers: [{ calls: [callOf("docs__search")] }, { text: "done" }],
    });
    const alive = () => findMarked(markOf(stage)).length;
    assert.equal(alive(), 0);
    await withOwner(stage, async (held) => {
      const home = {
        agent: { kind: "folder", path: stage.path("agent") } as const,
        workspace: stage.path("ws"),
      };
      const sessions = [held, ...await Promise.all(Array.from({ length: 49 }, () => held.begin("agent")))];
      for (let at = 0; at < sessions.length; at += 10) {
        const some = sessions.slice(at, at + 10);
        const ended = await Promise.all(some.map(({ prompt }) => prompt("go")));
        assert.deepEqual(ended.map(({ outcome }) => outcome), some.map(() => "completed"));
        assert.equal(alive(), some.length);
        await Promise.all(some.map(({ session }) => held.host.declareServers(session, home, [])));
        await until("the servers of these sessions have ended", () => alive() === 0);
      }
      assert.equal((await linesIn(started)).length, 50);
    });
    assert.equal(alive(), 0);
  },
);
