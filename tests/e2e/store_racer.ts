/**
 * Takes a store as a runtime does, once for every line of its input, and says how that went: `won <epoch>`, or the code of
 * the refusal. Keeps what it won until the next line.
 */
import { openJournal } from "../../src/journal/journal.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { lockStore } from "../../src/journal/store_lock.ts";
import { createSystemSeams } from "../../src/system_seams.ts";

const path = Deno.args[0] ?? "";
const seams = createSystemSeams({ log: () => {} });

async function take(): Promise<() => Promise<void>> {
  const lock = await lockStore(path, seams.clock);
  const journal = await openJournal({ store: await openKvStore(path), seams });
  console.log(`won ${journal.epoch}`);
  return async () => {
    await journal.close();
    await lock.release();
  };
}

let letGo: (() => Promise<void>) | undefined;
console.log("ready");
for await (
  const line of Deno.stdin.readable.pipeThrough(new TextDecoderStream() as never) as ReadableStream<string>
) {
  await letGo?.();
  letGo = undefined;
  if (line.includes("rest")) console.log("rested");
  else {
    try {
      letGo = await take();
    } catch (error) {
      console.log((error as { readonly code?: string }).code ?? String(error));
    }
  }
}
await letGo?.();
