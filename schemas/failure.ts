/** Expected endings, as data: one list of stable codes, and the one question about each: does a retry help? */
import { z } from "zod";
import type { RetryableCode } from "./failure_kind.ts";
import { limits } from "./limits.ts";

/** Every failure code, in families by subject. Stored and shown; never renamed once released. */
export const FailureCode = z.enum([
  // The call itself.
  "tool_unknown",
  "arguments_invalid",
  "arguments_secret",
  "arguments_gone",
  "catalog_mismatch",
  "capability_missing",
  "policy_denied",
  "approval_denied",
  "approval_expired",
  "approval_withdrawn",
  "approval_stale",
  "approval_too_large",
  "approval_rate_exceeded",
  "approval_unavailable",
  "refused_before",
  // Performing.
  "tool_failed",
  "tool_execution_failed",
  "tool_not_trusted",
  "tool_changed",
  "tool_jail_ended",
  "tool_rate_limited",
  "tool_unreachable",
  "tool_server_failed",
  "tool_timed_out",
  "tool_canceled",
  "tool_outcome_unknown",
  "outcome_abandoned",
  "too_large",
  "redaction_failed",
  "result_not_found",
  "session_unknown",
  "history_scope_refused",
  "poisoned",
  "interrupted",
  // Commands.
  "command_blocked",
  "command_failed",
  "command_timed_out",
  "command_canceled",
  "command_interrupted",
  "command_output_lost",
  "argument_too_long",
  "env_key_denied",
  "secret_binding_refused",
  "secret_unavailable",
  "shell_missing",
  "spawn_failed",
  "resource_exhausted",
  "process_unidentified",
  "artifact_failed",
  // Child agents.
  "agent_unknown",
  "agent_depth",
  "agent_limit",
  "agents_off",
  "rights_exceeded",
  "child_lost",
  "child_not_closed",
  "child_not_found",
  "child_busy",
  "session_not_yours",
  // Background tasks.
  "no_host",
  "task_action_unsupported",
  "task_kind_unsupported",
  "task_limit",
  "task_lost",
  "task_not_found",
  "task_scope_taken",
  // Files.
  "path_outside_root",
  "path_invalid",
  "path_not_found",
  "path_not_file",
  "path_not_folder",
  "path_unreadable",
  "file_too_large",
  "file_not_text",
  "page_refused",
  "page_not_text",
  "page_unreadable",
  "path_protected",
  "file_not_written",
  "edit_not_found",
  "edit_ambiguous",
  "pattern_invalid",
  "skill_unknown",
  "skill_exists",
  "skill_invalid",
  // Model.
  "script_exhausted",
  "script_mismatch",
  "model_failed",
  "model_unknown",
  "model_timed_out",
  "model_answer_invalid",
  "model_rate_limited",
  "model_unreachable",
  "model_server_failed",
  "model_login_failed",
  "model_quota_exceeded",
  "model_context_exceeded",
  "model_schema_unsupported",
  "model_refused",
  "provider_round_limit_exceeded",
  // Turn and session.
  "turn_canceled",
  "turn_not_waiting",
  "budget_exceeded",
  "budget_exhausted",
  "cancels_waiting",
  "forked",
  "session_closed",
  "prompt_queue_full",
  "catalog_unavailable",
  "tool_name_collision",
  "tool_name_invalid",
  "catalog_too_large",
  "tool_not_visible",
  "scope_invalid",
  "profile_unknown",
  "implementation_reserved",
  "implementation_not_approved",
  "implementation_unknown",
  "relay_target_unknown",
  "schedule_not_found",
  "schedules_full",
  // Connected programs.
  "program_invalid",
  "program_fingerprint_mismatch",
  "program_unavailable",
  "program_result_invalid",
  "program_lost",
  "mailbox_timeout",
  "invalid_prepare_round_response",
  "turn_not_running",
  "tool_not_bound",
  // MCP servers.
  "session_not_found",
  "mcp_login_required",
  "mcp_auth_failed",
  "mcp_auth_required",
  "mcp_auth_unavailable",
  "mcp_capability_missing",
  "mcp_connect_denied",
  "mcp_connect_failed",
  "mcp_connect_timed_out",
  "mcp_connection_closed",
  "mcp_connection_lost",
  "mcp_deno_missing",
  "mcp_credentials_unusable",
  "mcp_disabled",
  "mcp_header_mismatch",
  "mcp_input_invalid",
  "mcp_input_refused",
  "mcp_list_invalid",
  "mcp_message_too_large",
  "mcp_npm_not_cached",
  "mcp_path_refused",
  "mcp_pins_unusable",
  "mcp_protocol_error",
  "mcp_quarantined",
  "mcp_rounds_exceeded",
  "mcp_scope_insufficient",
  "mcp_server_removed",
  "mcp_subscription_refused",
  "mcp_task_canceled",
  "mcp_task_unknown",
  "mcp_tools_drifted",
  "mcp_transport_unsupported",
  "mcp_unavailable",
  "mcp_variable_missing",
  "mcp_variable_refused",
  "mcp_version_unsupported",
  "mcp_working_folder_refused",
  // URLs and HTTP.
  "url_invalid",
  "url_scheme",
  "url_credentials",
  "url_blocked",
  "url_unresolved",
  "http_request_invalid",
  "http_busy",
  "http_connect_failed",
  "http_tls_failed",
  "http_timed_out",
  "http_connection_lost",
  "http_protocol_error",
  "http_redirect_refused",
  "response_too_large",
  // Supervision.
  "clean_start_refused",
  "restart_intensity_exceeded",
  "root_quarantined",
  "mailbox_full",
  "crank_failed",
  "crank_limit_exceeded",
  "runaway_actor",
]);
/** A stable failure code. */
export type FailureCode = z.infer<typeof FailureCode>;

/** Where the fault of a tool that broke off lies (CM-36); `transport` and `protocol` are those of a server. */
export const FaultClass = z.enum(["semantic", "authorization", "runtime", "transport", "protocol"]);
/** Where the fault of a tool that broke off lies. */
export type FaultClass = z.infer<typeof FaultClass>;

/** Numbers that the other side gave with its refusal (CM-74): the status of HTTP, the code of JSON-RPC. */
export const FailureDetails = z.strictObject({
  http_status: z.int().min(100).max(999).exactOptional(),
  rpc_code: z.int().exactOptional(),
});
/** Numbers that the other side gave with its refusal. */
export type FailureDetails = z.infer<typeof FailureDetails>;

/** An expected ending: stable code, one clear line, and whether trying again can help. */
export const Failure = z.strictObject({
  code: FailureCode,
  /** One line: what was wrong and what to do. No secret, no absolute path. */
  message: z.string().max(2_000),
  /**
   * True if the same request may succeed later: then its code is of a kind that a retry may help. Says nothing about
   * whether a repeat is harmless.
   */
  retryable: z.boolean(),
  /** How long the other side asks to be left alone, in milliseconds. */
  retryAfterMs: z.int().min(0).max(limits.retryAfterToldMsMax).exactOptional(),
  /** Of a model that does not take the schema of a tool: the name by which it knows the tool. */
  tool: z.string().regex(/^[\w.-]{1,128}$/).exactOptional(),
  classification: FaultClass.exactOptional(),
  details: FailureDetails.exactOptional(),
});
/** An expected ending, as data. */
export type Failure = z.infer<typeof Failure>;

/** Makes a failure that no retry helps. */
export function failure(code: FailureCode, message: string): Failure {
  return { code, message: message.slice(0, 2_000), retryable: false };
}

/** Makes a failure that a retry may help. */
export function retryableFailure(code: RetryableCode, message: string): Failure {
  return { ...failure(code, message), retryable: true };
}

/** The failure with another message. */
export function reworded(why: Failure, message: string): Failure {
  return { ...why, message: message.slice(0, 2_000) };
}
