/** The revisions of the protocol that are spoken, and the two eras into which they fall. */
import { z } from "zod";

/** With a handshake and, by HTTP, a session; or without either, from 2026-07-28 on. */
export const McpEra = z.enum(["legacy", "modern"]);
/** An era of the protocol. */
export type McpEra = z.infer<typeof McpEra>;

/** The revisions that are spoken, newest first. */
export const McpRevision = z.enum(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
/** A revision of the protocol. */
export type McpRevision = z.infer<typeof McpRevision>;

/** The era of a revision. */
export function eraOf(revision: McpRevision): McpEra {
  return revision === modernRevision ? "modern" : "legacy";
}

/** The revision of the modern era. */
export const modernRevision = "2026-07-28" satisfies McpRevision;
