/** Whether this runtime shares its store with others (K17). */
import { RootOwnership } from "../journal/root_ownership.ts";
import type { Kernel } from "./kernel.ts";

/** The ownership of single roots, or undefined where this runtime has the store alone. */
export function sharedOwnership(
  { journal: { ownership } }: Pick<Kernel, "journal">,
): RootOwnership | undefined {
  return ownership instanceof RootOwnership ? ownership : undefined;
}
