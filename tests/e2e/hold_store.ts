/** Holds a store without a door, until it is ended: started by a test as a process of its own. */
import { lockStore } from "../../src/journal/store_lock.ts";
import { createSystemSeams } from "../../src/system_seams.ts";

const { clock } = createSystemSeams({ log: () => {} });
await lockStore(Deno.args[0] ?? "", clock);
console.log("held");
await clock.sleepUntil(clock.now() + 60_000);
