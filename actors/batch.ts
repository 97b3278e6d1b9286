/** Plans the calls of one model answer: which run together, which alone, in what order (CM-83, CM-88..94). */

/** One call of a model answer, as far as the plan cares. */
export interface PlannedCall {
  /** Id of the call's invocation inside its turn, given by the parent (K6). */
  readonly ordinal: string;
  /** Frozen in the call's catalog entry. False for a call without an entry. */
  readonly parallelSafe: boolean;
  /** Position of an earlier call that this one only says again: it is answered with that one's result (CM-57). */
  readonly repeatOf?: number | undefined;
}

/** Where in a session the calls were made. */
export interface PlanPosition {
  readonly turn: number;
  /** The model step whose answer made the calls, from 0. */
  readonly round: number;
}

/** One call's place in the plan. */
export interface StageMember {
  readonly ordinal: string;
  /** Place in the model's own order, from 0: results are given back in it, whatever finished first (CM-91). */
  readonly position: number;
  readonly nodeKey: string;
}

/** Calls that start together. The next stage starts when all have ended (CM-89). */
export interface Stage {
  readonly kind: "parallel_safe_group" | "serial_group";
  /** `serial` for one member, `parallel` for more (CM-90). */
  readonly dispatch: "serial" | "parallel";
  readonly stageIndex: number;
  readonly members: readonly StageMember[];
  readonly joinKey: string;
  readonly barrier: "wait_all";
}

/** All stages of one model answer, in order, and the step that follows them. Written to the journal (CM-94). */
export interface StagePlan {
  readonly batchId: string;
  readonly roundIndex: number;
  readonly stages: readonly Stage[];
  readonly successor: string;
  /** Calls that are not made, since the answer made them twice under one id; absent if there are none. */
  readonly repeats?: readonly { readonly position: number; readonly of: number }[];
}

/**
 * Plans one model answer. Adjacent parallel-safe calls form one `parallel_safe_group`; every other call stands alone in
 * a `serial_group` (CM-88). Every call that is no repeat is in exactly one stage, in the model's order; an answer has at
 * most 64 calls, so a stage needs no bound of its own. The same calls at the same place give the same plan.
 */
export function planStages(calls: readonly PlannedCall[], at: PlanPosition): StagePlan {
  const batchId = `turn/${at.turn}/batch/${at.round}`;
  const groups: StageMember[][] = [];
  let openGroup: StageMember[] | undefined;
  const repeats: { readonly position: number; readonly of: number }[] = [];
  for (const [position, call] of calls.entries()) {
    if (call.repeatOf !== undefined) {
      repeats.push({ position, of: call.repeatOf });
      continue;
    }
    const member = { ordinal: call.ordinal, position, nodeKey: `${batchId}/node/${position}` };
    if (call.parallelSafe && openGroup !== undefined) {
      openGroup.push(member);
      continue;
    }
    const group = [member];
    groups.push(group);
    openGroup = call.parallelSafe ? group : undefined;
  }
  const stages = groups.map((members, stageIndex): Stage => ({
    kind: isSafe(calls, members) ? "parallel_safe_group" : "serial_group",
    dispatch: members.length > 1 ? "parallel" : "serial",
    stageIndex,
    members,
    joinKey: `${batchId}/join/${stageIndex}`,
    barrier: "wait_all",
  }));
  const successor = `turn/${at.turn}/step/${at.round + 1}`;
  return { batchId, roundIndex: at.round, stages, successor, ...(repeats.length === 0 ? {} : { repeats }) };
}

function isSafe(calls: readonly PlannedCall[], members: readonly StageMember[]): boolean {
  return calls[members[0]?.position ?? 0]?.parallelSafe === true;
}
