/** Where a thing came from, in falling trust, so that a refusal can name both sides. */
import { z } from "zod";
import { Digest } from "./ids.ts";

/** The five source kinds of a tool (CM-28; design.md section 8). */
export const SourceKind = z.enum(["troupe", "runtime", "agent", "program", "mcp"]);
/** A source kind. */
export type SourceKind = z.infer<typeof SourceKind>;

/** How far a source is trusted (AR-8), most trusted first. */
export const TrustLevel = z.enum(["trusted_local", "team_audited", "third_party", "unknown"]);
/** How far a source is trusted. */
export type TrustLevel = z.infer<typeof TrustLevel>;

/** Where a definition came from. `origin` is shown to people: a file, a server id, `built in`. */
export const Provenance = z.strictObject({
  source: SourceKind,
  origin: z.string().min(1).max(200),
  trust: TrustLevel,
  /** Of the release of a program, or the declaration of an MCP server: its calls reach no other (DM-61, DM-65). */
  fingerprint: Digest.optional(),
});
/** Where a definition came from. */
export type Provenance = z.infer<typeof Provenance>;

/** One line for people: `runtime (built in)`. */
export function describeProvenance(provenance: Provenance): string {
  return `${provenance.source} (${provenance.origin})`;
}
