/** How freely the tools of a session may act without a person (LC-21). */
import { z } from "zod";

/**
 * `default`: policy decides. `plan`: only tools without side effects run. `auto`: reads of low risk pass without a
 * question. A session has its mode for life.
 */
export const PermissionMode = z.enum(["default", "plan", "auto"]);
/** How freely the tools of a session may act without a person. */
export type PermissionMode = z.infer<typeof PermissionMode>;
