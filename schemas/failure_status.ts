/** What a refusal is over HTTP: one status for each code that a program can be answered with. */

/** Reports that came too late, twice with other content, or to the wrong runtime: nothing was changed (CM-121). */
const conflict = 409;

const statuses: { readonly [code: string]: number } = {
  lease_lost: conflict,
  session_elsewhere: conflict,
  idempotency_key_reuse: conflict,
  address_taken: conflict,
  question_changed: conflict,
  session_closed: conflict,
  root_quarantined: conflict,
  message_invalid: 400,
  decision_not_offered: 400,
  session_not_yours: 403,
  root_not_found: 404,
  agent_not_found: 404,
  question_not_found: 404,
  relay_target_unknown: 404,
  too_large: 413,
  mailbox_full: 429,
  prompt_queue_full: 429,
  rate_limited: 429,
  runtime_stopped: 503,
  store_busy: 503,
  store_fenced: 503,
  store_full: 507,
};

/** The status of a code; 500 for one that says nothing of the request. */
export function statusOf(code: string): number {
  return Object.hasOwn(statuses, code) ? statuses[code] ?? 500 : 500;
}
