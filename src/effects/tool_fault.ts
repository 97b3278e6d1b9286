/** Tools that break off: what is told of them, and of what was thrown (CM-36). */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { type Failure, failure, type FaultClass, retryableFailure } from "../../schemas/failure.ts";
import type { Seams } from "../seams.ts";
import { exhaustionAdvice, isExhausted } from "../exhaustion.ts";
import type { Ended } from "./deadline.ts";

/** Why a call failed whose tool brought no result, and of which a repeat harms nobody or nothing was applied. */
export function brokenOff({ canonicalName }: CatalogEntry, ended: Ended<unknown>, how: string): Failure {
  if (ended.type === "threw" && isExhausted(ended.error)) {
    const message = `The tool "${canonicalName}" ${how}: ${exhaustionAdvice}`;
    return classified(retryableFailure("resource_exhausted", message), ended);
  }
  return classified(failure("tool_execution_failed", `The tool "${canonicalName}" ${how}`), ended);
}

/** The failure with the class of what was thrown, if anything was (CM-36). */
export function classified(why: Failure, ended: Ended<unknown>): Failure {
  return ended.type === "threw" ? { ...why, classification: classOf(ended.error) } : why;
}

/** Something that should be there is missing, something may not be done, or anything else. Never by the error's words. */
function classOf(error: unknown): FaultClass {
  if (error instanceof Deno.errors.NotFound) return "semantic";
  const isForbidden = error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable;
  return isForbidden ? "authorization" : "runtime";
}

/** A tool that throws is broken. The error's text stays out of results: it may hold a secret or an absolute path. */
export function reportFault(seams: Seams, entry: CatalogEntry, error: unknown): void {
  const kind = error instanceof Error ? error.name : typeof error;
  seams.log({ level: "error", event: "tool.threw", detail: { tool: entry.canonicalName, kind } });
}
