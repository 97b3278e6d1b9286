/** Whether what a server declares in its greeting gets to the list of its tools. */
import assert from "node:assert/strict";
import type { Json } from "../../schemas/json.ts";
import { greeting, startConnection } from "../support/connection.ts";

Deno.test("connection asks for the list with what the server declared; a greeting of an earlier release declares nothing", () => {
  const listedWith = (answer: Json) => {
    const run = startConnection();
    run.open();
    run.settle("mcp.connect", answer);
    const args = run.desk.asks.at(-1)?.request.args as { readonly capabilities?: unknown };
    assert.deepEqual(run.pending(), ["mcp.list"]);
    return args.capabilities;
  };
  assert.deepEqual(listedWith({ ...greeting as object, capabilities: ["resources"] }), ["resources"]);
  assert.equal(listedWith(greeting), undefined);
});
