/** Why a server's tools are asked for again (AR-15). */
import { z } from "zod";

/**
 * The rule that applied: the server was started, or started again; it said that its list changed; it refused a call as
 * one of a tool or with arguments that it does not know; the list is old; a person asked; the server was lost; the
 * servers were declared anew; a server had failed when it was asked last.
 */
export const RefreshRule = z.enum([
  "connect",
  "reconnect",
  "list_changed",
  "call_refused",
  "age",
  "manual",
  "disconnect",
  "declared",
  "failed",
]);
/** Why a server's tools are asked for again. */
export type RefreshRule = z.infer<typeof RefreshRule>;
