/** The name of a piece of work that goes through several programs, as one of them gave it (GA-27). */
import { z } from "zod";

/** A trace id: nothing in it can break a line, a header or a log. */
export const TraceId = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/);
/** A trace id. */
export type TraceId = z.infer<typeof TraceId>;
