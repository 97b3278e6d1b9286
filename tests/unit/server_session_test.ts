/** Whether the session with a server is kept in its connection, the same for all calls, and cleared once it is lost. */
import assert from "node:assert/strict";
import { ServerSession } from "../../schemas/server_session.ts";
import {
  type ConnectionRun,
  declarationOf,
  end,
  greeting,
  listing,
  startConnection,
} from "../support/connection.ts";

/** The sessions that the journal tells of, each by state and id. */
function told(run: ConnectionRun): readonly string[] {
  return run.notes().filter(({ type }) => type === "connection.session").map(({ body }) => {
    const { state, id } = ServerSession.parse(body);
    return `${state} ${id}`;
  });
}

function sessionOf(run: ConnectionRun): unknown {
  return run.context()["session"];
}

const open = {
  server: "docs",
  transport: "stdio",
  url: null,
  id: "launch-1",
  state: "open",
  lastEvent: null,
  initialize: greeting,
};
const cleared = { ...open, id: null, state: "closed", initialize: null };

Deno.test("connection stores its session in itself: transport, address, id, state, last event, initialize (CM-78)", () => {
  const run = startConnection();
  assert.equal(sessionOf(run), undefined);
  run.open();
  run.settle("mcp.connect", greeting);
  assert.deepEqual(sessionOf(run), { ...open, state: "new" });
  run.settle("mcp.list", listing);
  assert.deepEqual(sessionOf(run), open);
  const [note] = run.notes().filter(({ type }) => type === "connection.session");
  assert.deepEqual(note?.body, open);
});

Deno.test("connection keeps one session for all who use it until it is cleared, and begins another after that (CM-82)", () => {
  const run = startConnection();
  run.makeReady();
  run.open("a");
  run.refresh("manual", "b");
  run.settle("mcp.list", listing);
  run.settle("mcp.watch", { type: "list_changed" });
  run.open("c");
  run.settle("mcp.list", listing);
  assert.deepEqual([sessionOf(run), told(run)], [open, ["open launch-1"]]);
  run.close();
  run.settle("mcp.close", end);
  run.makeReady();
  assert.deepEqual(told(run), ["open launch-1", "closed null", "open launch-2"]);
});

Deno.test("connection clears its session however it is lost, and keeps nothing of it (CM-81)", () => {
  const losses: { readonly [way: string]: (run: ConnectionRun) => void } = {
    crash: (run) => run.crash(),
    restart: (run) => run.fail("mcp.watch", { code: "interrupted", retryable: false }),
    park: (run) => {
      run.settle("mcp.watch", { type: "idle" });
      run.settle("mcp.close", end);
    },
    declare: (run) => {
      run.declare(declarationOf({ manifest: { args: ["--other"] } }));
      run.settle("mcp.close", end);
    },
    list: (run) => {
      run.refresh("manual", "r");
      run.fail("mcp.list", { code: "mcp_list_invalid" });
      run.settle("mcp.close", end);
    },
    quarantine: (run) => {
      for (let n = 0; n < 4; n++) {
        run.crash();
        run.makeReady();
      }
      run.crash();
    },
  };
  for (const [way, lose] of Object.entries(losses)) {
    const run = startConnection();
    run.makeReady();
    lose(run);
    assert.deepEqual(sessionOf(run), cleared, way);
    assert.equal(told(run).at(-1), "closed null", way);
  }
});
