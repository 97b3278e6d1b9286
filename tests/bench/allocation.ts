/** How much one turn allocates: the growth of the heap while no garbage is collected. */
import type { AllocationAnswer, AllocationRequest } from "./protocol.ts";
import { median } from "./statistics.ts";

/** Flags of a child that measures: a young generation large enough that no collection comes within the window. */
export const allocationFlags = ["--expose-gc", "--min-semi-space-size=512", "--max-semi-space-size=512"];

/** Runs turns one after another and looks at the heap before and after each. */
export async function measureAllocation(
  turn: () => Promise<unknown>,
  { turns, warmUps }: Pick<AllocationRequest, "turns" | "warmUps">,
): Promise<AllocationAnswer> {
  for (let index = 0; index < warmUps; index++) await turn();
  const collect = (globalThis as { readonly gc?: () => void }).gc;
  if (collect === undefined) throw new Error("Cannot measure allocation without --expose-gc");
  collect();
  const grown: number[] = [];
  for (let index = 0; index < turns; index++) {
    const before = Deno.memoryUsage().heapUsed;
    await turn();
    grown.push(Deno.memoryUsage().heapUsed - before);
  }
  return { bytes: median(grown), collected: grown.filter((bytes) => bytes < 0).length };
}
