/** How long a call is still heard that was told to stop. */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { limits } from "../../schemas/limits.ts";
import { programLimits } from "../../schemas/program_limits.ts";

/** How long a call is waited for that was told to stop, in milliseconds: a command dies first, a program has its lease (CM-37). */
export function graceOf({ adapter, definition }: CatalogEntry): number {
  if (adapter === "program") return programLimits.leaseGraceMs + programLimits.marginMs;
  return adapter === "builtin" && definition.review === "command" ? limits.commandEndingMs : 0;
}
