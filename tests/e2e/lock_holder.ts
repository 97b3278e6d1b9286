/** Holds SQLite's write lock on a file, as another program may: says so, and lets go when its input ends. */
import { DatabaseSync } from "node:sqlite";

const database = new DatabaseSync(Deno.args[0] ?? "", { timeout: 10_000 });
database.exec("BEGIN IMMEDIATE");
console.log("held");
for await (const _ of Deno.stdin.readable) {
  // Nothing is said to it.
}
database.exec("ROLLBACK");
database.close();
