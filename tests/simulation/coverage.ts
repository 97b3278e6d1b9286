/** What the seeds of the gate must have met: a run that never sees a thing proves nothing about it. */

/** Ends of processes, and what a store, a clock and a wire do to them. */
const troubles = [
  "crash kill",
  "crash ghost",
  "crash stop",
  "crash at commit before",
  "crash at commit after",
  "crash at performance",
  "crash at step",
  "crash in a start",
  "ghost fenced",
  "start refused",
  "another release",
  "checkpoint session",
  "clock set back",
  "clock set forth",
  "commit fault refuse",
  "commit fault store_busy",
  "commit fault throw_after",
  "commit fault throw_before",
  "read fault",
  "request outlives its process",
  "life with nobody to answer",
];

/** How requests go at their targets. */
const fates = ["ok", "long", "no", "break_before", "break_after", "stall_applied", "late", "twice", "poison"]
  .map((fate) => `target ${fate}`);

/** What people do. */
const clients = [
  "client give",
  "client repeat",
  "client answer",
  "client passivate",
  "input session.prompt",
  "input session.cancel",
  "input session.relay",
  "input session.answered",
  "input catalog.change",
  "cancel turn stopped",
  "cancel turn nothing_to_cancel",
  "decision allow",
  "decision deny",
  "decision always_allow_for_session",
  "decision run_again",
  "decision mark_applied",
  "decision mark_not_applied",
  "decision abandon",
];

/** Effects, by port and class. */
const intents = [
  "intent catalog.seal idempotent",
  "intent child.start idempotent",
  "intent model.generate idempotent",
  "intent question.ask idempotent",
  "intent timer.set idempotent",
  "intent tool.call idempotent",
  "intent tool.call conditional",
  "intent tool.call non_idempotent",
  "intent tool.verify idempotent",
];

/** How they ended, in time and late. */
const outcomes = [
  "outcome model.generate ok",
  "outcome model.generate failed",
  "outcome question.ask ok",
  "outcome question.ask failed",
  "outcome question.ask timed_out",
  "outcome tool.call ok",
  "outcome tool.call canceled",
  "outcome tool.call failed",
  "outcome tool.call timed_out",
  "outcome tool.call unknown",
  "outcome tool.verify ok",
  "outcome tool.verify failed",
  "note late_outcome ok",
  "note late_outcome canceled",
  "note late_outcome timed_out",
  "note late_outcome unknown",
  "failure approval_expired",
  "failure approval_unavailable",
  "failure model_timed_out",
  "failure model_unreachable",
  "failure poisoned",
  "failure too_large",
  "failure tool_outcome_unknown",
  "failure tool_timed_out",
  "failure tool_unreachable",
  "reply ok ok",
  "reply failed failed",
];

/** What happens between asking and answering. */
const notes = [
  "note approval.requested",
  "note approval.requested shared",
  "note approval.decided shared",
  "note attempt",
  "note cancel_asked",
  "note dropped",
  "note invocation.retried",
  "note model.retried",
  "note poisoned",
  "note turn.planned parallel",
  "note turn.planned serial",
  "note turn.stuck",
  "note turn.waiting",
  "note turn.wait_ended",
  "message catalog.refused",
  "message session.answered",
  "message session.prompt",
  "input child.crashed",
  "input child.quarantined",
];

/** Child agents, tasks, schedules and servers: how they begin, go on and end. */
const others = [
  ...["connection", "schedule", "task"].map((kind) => `created ${kind}`),
  ...["queued", "running", "succeeded", "failed", "lost"].map((status) => `note task.changed ${status}`),
  ...["fired", "state waiting", "state done"].map((what) => `note schedule.${what}`),
  ...["call", "subtree", "session"].map((scope) => `cancel ${scope} nothing_to_cancel`),
  "cancel session stopped",
  "cancel subtree stopped",
  "input session.closed",
  "input task.ended",
  "intent agent.open idempotent",
  "intent mcp.call non_idempotent",
  "intent mcp.task idempotent",
  "intent task.run non_idempotent",
  ...["ok", "failed", "timed_out", "unknown"].map((end) => `outcome mcp.call ${end}`),
  ...["ok", "failed", "timed_out", "unknown"].map((end) => `outcome mcp.connect ${end}`),
  ...["ok", "failed"].flatMap((end) => [`outcome mcp.list ${end}`, `outcome mcp.watch ${end}`]),
  "outcome mcp.task ok",
  "outcome task.run ok",
  "outcome task.run unknown",
  "failure mcp_connection_lost",
  "note mcp.server_failed",
];

/** All of it, by the names of the census. */
export const everything: readonly string[] = [
  ...troubles,
  ...fates,
  ...clients,
  ...intents,
  ...outcomes,
  ...notes,
  ...others,
];
