/** Which status of HTTP each code is answered with: one table, so that code and status never part (GA-50, GA-51). */

/** Codes with a status of their own. */
const statuses: { readonly [code: string]: number } = {
  // The request itself.
  params_invalid: 400,
  request_invalid: 400,
  json_invalid: 400,
  json_too_deep: 400,
  json_too_large: 400,
  host_missing: 400,
  host_mismatch: 400,
  target_invalid: 400,
  idempotency_key_missing: 400,
  idempotency_key_invalid: 400,
  message_invalid: 400,
  decision_not_offered: 400,
  agent_invalid: 400,
  id_too_long: 400,
  body_incomplete: 400,
  // Who asks.
  token_missing: 401,
  token_invalid: 401,
  token_expired: 401,
  // What may not be.
  host_not_allowed: 403,
  origin_not_allowed: 403,
  scope_missing: 403,
  rights_exceeded: 403,
  session_not_yours: 403,
  capability_missing: 403,
  policy_denied: 403,
  program_fingerprint_mismatch: 403,
  tool_not_bound: 403,
  // What is not there.
  path_unknown: 404,
  method_unknown: 404,
  agent_not_found: 404,
  agent_unknown: 404,
  question_not_found: 404,
  program_not_found: 404,
  root_not_found: 404,
  child_not_found: 404,
  task_not_found: 404,
  relay_target_unknown: 404,
  method_not_allowed: 405,
  body_too_slow: 408,
  // What stands against it: too late, again with another content, or asked of the wrong runtime (CM-121).
  lease_lost: 409,
  session_elsewhere: 409,
  idempotency_key_reuse: 409,
  address_taken: 409,
  question_changed: 409,
  session_closed: 409,
  heartbeat_missing: 409,
  heartbeat_unneeded: 409,
  report_stale: 409,
  message_id_reuse: 409,
  program_taken: 409,
  program_replaced: 409,
  turn_not_running: 409,
  root_quarantined: 409,
  body_too_large: 413,
  value_too_large: 413,
  too_large: 413,
  content_type_refused: 415,
  // Too much at once.
  rate_limited: 429,
  mailbox_full: 429,
  prompt_queue_full: 429,
  cancels_waiting: 429,
  slow_consumer: 429,
  requests_too_many: 429,
  internal: 500,
  // Not now.
  draining: 503,
  store_busy: 503,
  report_unconfirmed: 503,
  store_full: 507,
  store_fenced: 503,
  runtime_stopped: 503,
};

/** The status of a refusal. What has none of its own was understood, and cannot be done as it is: 422. */
export function statusOf(code: string): number {
  return Object.hasOwn(statuses, code) ? statuses[code] ?? 422 : 422;
}
