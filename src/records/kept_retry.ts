/** What the row of a call keeps of another attempt at it. */
import { RetryContext } from "../../schemas/retry.ts";
import { peek, peekText } from "../peek.ts";
import type { InvocationRow } from "./invocation_row.ts";

/** Notes of earlier releases say less, and are left out. */
export function keepRetry(row: InvocationRow, body: unknown): void {
  const [operation, idempotency] = [peekText(body, "operation"), peekText(body, "idempotency")];
  const [attempt, maxAttempts] = [peek(body, "attempt"), peek(body, "maxAttempts")];
  const lastErrorCode = peekText(body, "lastErrorCode");
  const read = RetryContext.safeParse({ operation, idempotency, attempt, maxAttempts, lastErrorCode });
  if (read.success) row.retries.push(read.data);
}
