/** Why a tool call did not succeed, as a record: what, whether anything may have been done, and who says so (DM-45). */
import { z } from "zod";
import { FailureCode, FailureDetails, FaultClass } from "./failure.ts";
import { Provenance } from "./provenance.ts";

/** Who says that a call did not succeed. `source` is where the tool comes from, once it was looked up. */
export const ErrorProvenance = z.strictObject({
  by: z.enum(["policy", "person", "runtime", "tool"]),
  source: Provenance.optional(),
});
/** Who says that a call did not succeed. */
export type ErrorProvenance = z.infer<typeof ErrorProvenance>;

/** Why a tool call did not succeed. No part of it is ever taken from what a tool returned, but for code and words. */
export const ToolError = z.strictObject({
  code: FailureCode,
  /** One line, without secrets. */
  message: z.string().max(2_000),
  /** True if the adapter was told to act: then something may have been done. */
  started: z.boolean(),
  provenance: ErrorProvenance,
  /** Of calls that reached a server or broke off: where the fault lies, and whether the same call may succeed later. */
  retryable: z.boolean().optional(),
  classification: FaultClass.optional(),
  details: FailureDetails.optional(),
});
/** Why a tool call did not succeed. */
export type ToolError = z.infer<typeof ToolError>;
