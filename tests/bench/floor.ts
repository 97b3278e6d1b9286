/** The physical floor under every durable turn: what one flush costs on this disk at this moment. */
import type { FloorAnswer, FloorRequest } from "./protocol.ts";

/** Appends 512 bytes and flushes them, and commits two small rows to a KV file of its own, by turns. */
export async function measureFloor({ times }: FloorRequest, folder: string): Promise<FloorAnswer> {
  const file = await Deno.open(`${folder}/floor.bin`, { create: true, append: true });
  const kv = await Deno.openKv(`${folder}/floor.db`);
  const bytes = new Uint8Array(512);
  const flushes: number[] = [];
  const commits: number[] = [];
  try {
    for (let index = 0; index < times; index++) {
      let start = performance.now();
      await file.write(bytes);
      await file.syncData();
      flushes.push(performance.now() - start);
      start = performance.now();
      await kv.atomic().set(["a"], bytes).set(["b"], index).commit();
      commits.push(performance.now() - start);
    }
  } finally {
    file.close();
    kv.close();
  }
  return { flushes, commits };
}
