/** The kinds of failures, and what each means: may it be tried again, may another model answer, where does it end (AR-25). */
import { z } from "zod";
import type { FailureCode } from "./failure.ts";

/** The kinds that the runtime tells apart. */
export const FailureKind = z.enum([
  "rate_limit",
  "transient_network",
  "server_error",
  "authentication_or_quota",
  "context_too_long",
  "schema_not_supported",
  "call_invalid",
  "server_lost",
  "policy_refusal",
  "user_refusal",
  "canceled",
  "other",
]);
/** A kind of failure. */
export type FailureKind = z.infer<typeof FailureKind>;

/** What a kind means. */
export interface Remedy {
  /** `idempotent`: only what may be repeated by its class alone, and what certainly did not happen. */
  readonly retry: "never" | "soon" | "idempotent";
  /** What may take its place. Everything but another model is left to the catalog and the conversation. */
  readonly degrade:
    | "never"
    | "other_model"
    | "configured_model"
    | "shorter_context"
    | "hide_tool"
    | "remove_tools";
  /** `final`: for this very call, whoever asks for it again. `to_model`: the model is told, within the turn's rounds. */
  readonly end: "after_attempts" | "report" | "to_model" | "final";
}

/** What each kind means. Leave one out and this does not compile. */
export const remedies = {
  rate_limit: { retry: "soon", degrade: "other_model", end: "after_attempts" },
  transient_network: { retry: "soon", degrade: "other_model", end: "after_attempts" },
  server_error: { retry: "soon", degrade: "other_model", end: "after_attempts" },
  authentication_or_quota: { retry: "never", degrade: "configured_model", end: "report" },
  context_too_long: { retry: "never", degrade: "shorter_context", end: "report" },
  schema_not_supported: { retry: "never", degrade: "hide_tool", end: "report" },
  call_invalid: { retry: "never", degrade: "never", end: "to_model" },
  server_lost: { retry: "idempotent", degrade: "remove_tools", end: "report" },
  policy_refusal: { retry: "never", degrade: "never", end: "final" },
  user_refusal: { retry: "never", degrade: "never", end: "final" },
  canceled: { retry: "never", degrade: "never", end: "final" },
  other: { retry: "never", degrade: "never", end: "report" },
} as const satisfies { readonly [K in FailureKind]: Remedy };

/** The kind of every code: derived from the code alone, so that nothing stored can disagree with it. */
export const failureKinds = {
  tool_unknown: "call_invalid",
  arguments_invalid: "call_invalid",
  arguments_secret: "call_invalid",
  arguments_gone: "call_invalid",
  catalog_mismatch: "policy_refusal",
  capability_missing: "policy_refusal",
  policy_denied: "policy_refusal",
  approval_denied: "user_refusal",
  approval_expired: "user_refusal",
  approval_stale: "user_refusal",
  approval_too_large: "policy_refusal",
  approval_rate_exceeded: "policy_refusal",
  approval_withdrawn: "canceled",
  approval_unavailable: "user_refusal",
  refused_before: "user_refusal",
  tool_not_visible: "policy_refusal",
  scope_invalid: "policy_refusal",
  profile_unknown: "other",
  implementation_reserved: "policy_refusal",
  implementation_not_approved: "policy_refusal",
  implementation_unknown: "other",
  tool_failed: "other",
  tool_execution_failed: "other",
  tool_not_trusted: "other",
  tool_changed: "other",
  tool_jail_ended: "other",
  tool_rate_limited: "rate_limit",
  tool_unreachable: "transient_network",
  tool_server_failed: "server_error",
  tool_timed_out: "transient_network",
  tool_canceled: "canceled",
  tool_outcome_unknown: "other",
  outcome_abandoned: "other",
  too_large: "other",
  redaction_failed: "other",
  session_unknown: "call_invalid",
  history_scope_refused: "policy_refusal",
  result_not_found: "other",
  poisoned: "other",
  interrupted: "other",
  command_blocked: "policy_refusal",
  command_failed: "other",
  command_timed_out: "other",
  command_canceled: "canceled",
  command_interrupted: "other",
  command_output_lost: "other",
  argument_too_long: "call_invalid",
  env_key_denied: "policy_refusal",
  secret_binding_refused: "policy_refusal",
  secret_unavailable: "other",
  shell_missing: "other",
  resource_exhausted: "rate_limit",
  spawn_failed: "other",
  process_unidentified: "other",
  artifact_failed: "other",
  no_host: "call_invalid",
  task_action_unsupported: "call_invalid",
  task_kind_unsupported: "call_invalid",
  agent_unknown: "call_invalid",
  agent_depth: "policy_refusal",
  agent_limit: "call_invalid",
  agents_off: "policy_refusal",
  rights_exceeded: "policy_refusal",
  child_lost: "other",
  child_not_closed: "other",
  child_not_found: "call_invalid",
  child_busy: "call_invalid",
  session_not_yours: "policy_refusal",
  task_limit: "call_invalid",
  task_lost: "other",
  task_not_found: "call_invalid",
  task_scope_taken: "call_invalid",
  path_outside_root: "other",
  path_invalid: "other",
  path_not_found: "other",
  path_not_file: "other",
  path_not_folder: "other",
  path_unreadable: "other",
  file_too_large: "other",
  file_not_text: "other",
  page_refused: "other",
  page_not_text: "other",
  page_unreadable: "other",
  path_protected: "policy_refusal",
  file_not_written: "other",
  edit_not_found: "other",
  edit_ambiguous: "other",
  pattern_invalid: "other",
  skill_unknown: "call_invalid",
  skill_exists: "call_invalid",
  skill_invalid: "call_invalid",
  script_exhausted: "other",
  script_mismatch: "other",
  model_failed: "other",
  model_unknown: "other",
  model_timed_out: "transient_network",
  model_answer_invalid: "other",
  model_rate_limited: "rate_limit",
  model_unreachable: "transient_network",
  model_server_failed: "server_error",
  model_login_failed: "authentication_or_quota",
  model_quota_exceeded: "authentication_or_quota",
  model_context_exceeded: "context_too_long",
  model_schema_unsupported: "schema_not_supported",
  model_refused: "policy_refusal",
  provider_round_limit_exceeded: "other",
  turn_canceled: "canceled",
  turn_not_waiting: "call_invalid",
  budget_exceeded: "policy_refusal",
  budget_exhausted: "policy_refusal",
  cancels_waiting: "rate_limit",
  forked: "canceled",
  session_closed: "policy_refusal",
  prompt_queue_full: "rate_limit",
  catalog_unavailable: "other",
  tool_name_collision: "other",
  tool_name_invalid: "other",
  catalog_too_large: "other",
  schedule_not_found: "call_invalid",
  schedules_full: "call_invalid",
  relay_target_unknown: "other",
  program_invalid: "other",
  program_fingerprint_mismatch: "policy_refusal",
  program_lost: "server_lost",
  mailbox_timeout: "server_lost",
  invalid_prepare_round_response: "other",
  turn_not_running: "other",
  tool_not_bound: "policy_refusal",
  program_unavailable: "server_lost",
  program_result_invalid: "other",
  session_not_found: "server_lost",
  mcp_login_required: "authentication_or_quota",
  mcp_auth_failed: "authentication_or_quota",
  mcp_auth_required: "authentication_or_quota",
  mcp_auth_unavailable: "transient_network",
  mcp_credentials_unusable: "other",
  mcp_scope_insufficient: "authentication_or_quota",
  mcp_connect_denied: "policy_refusal",
  mcp_connect_failed: "server_lost",
  mcp_connect_timed_out: "server_lost",
  mcp_connection_closed: "server_lost",
  mcp_connection_lost: "server_lost",
  mcp_deno_missing: "other",
  mcp_disabled: "policy_refusal",
  mcp_header_mismatch: "other",
  mcp_capability_missing: "other",
  mcp_input_invalid: "other",
  mcp_input_refused: "other",
  mcp_list_invalid: "other",
  mcp_message_too_large: "other",
  mcp_npm_not_cached: "other",
  mcp_path_refused: "policy_refusal",
  mcp_pins_unusable: "other",
  mcp_protocol_error: "other",
  mcp_quarantined: "other",
  mcp_tools_drifted: "policy_refusal",
  mcp_rounds_exceeded: "other",
  mcp_server_removed: "other",
  mcp_transport_unsupported: "other",
  mcp_subscription_refused: "other",
  mcp_task_canceled: "other",
  mcp_task_unknown: "server_lost",
  mcp_unavailable: "server_lost",
  mcp_variable_missing: "other",
  mcp_variable_refused: "policy_refusal",
  mcp_version_unsupported: "server_lost",
  mcp_working_folder_refused: "policy_refusal",
  url_invalid: "call_invalid",
  url_scheme: "policy_refusal",
  url_credentials: "policy_refusal",
  url_blocked: "policy_refusal",
  url_unresolved: "transient_network",
  http_request_invalid: "call_invalid",
  http_busy: "rate_limit",
  http_connect_failed: "transient_network",
  http_tls_failed: "other",
  http_timed_out: "transient_network",
  http_connection_lost: "transient_network",
  http_protocol_error: "other",
  http_redirect_refused: "policy_refusal",
  response_too_large: "other",
  clean_start_refused: "other",
  restart_intensity_exceeded: "other",
  root_quarantined: "other",
  mailbox_full: "rate_limit",
  crank_failed: "other",
  crank_limit_exceeded: "other",
  runaway_actor: "other",
} as const satisfies { readonly [C in FailureCode]: FailureKind };

type KindWhere<R extends Remedy["retry"]> = {
  [K in FailureKind]: (typeof remedies)[K]["retry"] extends R ? K : never;
}[FailureKind];

/** The codes of the kinds that a retry may help: no other failure can be made retryable. */
export type RetryableCode = {
  [C in FailureCode]: (typeof failureKinds)[C] extends KindWhere<"soon" | "idempotent"> ? C : never;
}[FailureCode];

/** The kind of a failure. */
export function kindOf({ code }: { readonly code: FailureCode }): FailureKind {
  return failureKinds[code];
}

/** What a failure means. */
export function remedyOf(failed: { readonly code: FailureCode }): Remedy {
  return remedies[kindOf(failed)];
}
