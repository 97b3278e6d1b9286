/**
 * The whole crash table: every point at which the process may be killed, for every kind of call, each cell a test (F01);
 * a finished step is reused, and not called again (GA-42).
 */
import assert from "node:assert/strict";
import "./crash/before.ts";
import "./crash/sent.ts";
import "./crash/recorded.ts";
import "./crash/doubt.ts";
import { kinds, proven } from "./crash/cells.ts";

Deno.test("crash table has every cell: fifteen points, four kinds, proven or declared as not reached (F01)", () => {
  const wanted = Array.from(
    { length: 15 },
    (_, point) => Object.keys(kinds).map((kind) => `P${point} ${kind}`),
  ).flat();
  assert.deepEqual(wanted.filter((cell) => !proven.has(cell)), []);
});
