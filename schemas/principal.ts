/** Who acts, and what they may do. */
import { z } from "zod";

/** Where authority comes from: a person at the terminal, the operator of the host, a program, or an agent. */
export const PrincipalKind = z.enum(["operator", "user", "program", "agent"]);

/** Who acts. `id` is opaque, at most 64 characters. */
export const Principal = z.strictObject({
  kind: PrincipalKind,
  id: z.string().regex(/^[A-Za-z0-9_.@-]{1,64}$/, "must be 1 to 64 letters, digits or _.@-"),
});
/** Who acts. */
export type Principal = z.infer<typeof Principal>;

/** A capability: resource, colon or dot, action, for example `fs.read`, `mcp.call:docs`, or `mcp.call:*`. */
export const Capability = z.string().regex(
  /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(:(\*|[A-Za-z0-9_.-]+))?$/,
  "must look like fs.read or mcp.call:docs; a wildcard stands only behind the colon",
);
/** A capability. */
export type Capability = z.infer<typeof Capability>;

/** The person at this terminal: who `troupe run` acts for. */
export const localOperator: Principal = { kind: "operator", id: "local" };

/** A principal as it stands in command rows. */
export function principalText({ kind, id }: Principal): string {
  return `${kind}:${id}`;
}
