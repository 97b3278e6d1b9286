/** Judges of effects: what the outside world saw, against what the journal says and what the model was told. */
import type { InvocationOutcome } from "../../schemas/invocation.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { ConversationFold } from "../../src/effects/conversation_fold.ts";
import { requestMessages } from "../../src/effects/request_messages.ts";
import type { Case } from "./judges.ts";
import { type LedgerLine, type Performed, wasDurable } from "./outside.ts";
import { type Tool, toolNamed } from "./scenario.ts";
import { type Story, tellStories } from "./stories.ts";

/** Asks every judge of effects. */
export function judgeEffects(one: Case): void {
  judgeStarts(one);
  judgeAttempts(one);
  judgeTimers(one);
  judgeConversations(one);
  judgeLate(one);
  for (const [root, entries] of one.streams) {
    if (!root.startsWith("session/")) continue;
    for (const story of tellStories(root, entries, one.results.get(root) ?? new Map())) {
      judgeStory(one, story);
    }
  }
}

function isOutside(key: string): boolean {
  return !key.includes("@");
}

/** The entry that a key names: later attempts carry the first one's key. */
function positionIn(key: string): number {
  return Number(key.slice(key.indexOf("#") + 1).split(".")[0]);
}

/**
 * K3, K9, R2: nothing that could hurt starts before its intent is durable, nor does any id leave before; what a
 * performer was given under an id is what the journal has under it.
 */
function judgeStarts({ evidence, streams, complain }: Case): void {
  const recorded = new Map<string, string>();
  for (const [root, entries] of streams) {
    for (const { kind, cause, body } of entries) {
      if (kind !== "intent") continue;
      const { n, ...request } = body as { readonly n: number };
      recorded.set(`${root}#${cause}.${n}`, canonicalJson(request));
    }
  }
  for (const performed of evidence.outside.performed) {
    const { root, id, key, effect, port, tool, request, life } = performed;
    const isDurable = wasDurable(performed);
    if (!performed.isWanted) {
      complain("K11", `${port} ${tool ?? ""} ${key} started, and nobody waited for it`);
    }
    const what = `${port} ${tool ?? ""} ${key} in life ${life}`;
    const mayBeEarly = port === "model.generate" || (tool !== undefined && isHarmlessLook(toolNamed(tool)));
    if (!isDurable && (effect !== "idempotent" || !mayBeEarly)) {
      complain("R2", `${what} started before it was durable`);
    }
    if (isOutside(key) && performed.durableTo < positionIn(key)) {
      complain("K3", `${what} left under an id that is not durable`);
    }
    // What a ghost starts early has no trace, and another life may have used its position (K9).
    const isOwn = effect !== "idempotent" || key === `${root}#${id}`;
    if (isOwn && recorded.get(`${root}#${id}`) !== request) {
      complain("K3", `${what} was given other content than the journal has`);
    }
  }
}

function isHarmlessLook(tool: Tool): boolean {
  return tool.effect === "idempotent" && tool.sideEffects === false;
}

/** K7, I1: a non_idempotent intent starts once; every other attempt has a number of its own, within the bound. */
function judgeAttempts({ evidence, complain }: Case): void {
  const seen = new Map<string, Set<number>>();
  for (const performed of evidence.outside.performed) {
    const { root, id, key, effect, attempt } = performed;
    const name = `${root}#${id}`;
    const most = { idempotent: 5, conditional: 3, non_idempotent: 1 }[effect] ?? 1;
    if (attempt > most) complain("K7", `${name} had attempt ${attempt} of ${most}`);
    // An early start whose unit was lost is forgotten: its position was given to another request (K3, K9).
    if (!wasDurable(performed) || (effect === "idempotent" && key !== name)) continue;
    const attempts = seen.get(name) ?? new Set();
    if (attempts.size > 0 && effect === "non_idempotent") {
      complain("I1", `${name} (${effect}) was started twice`);
    }
    if (attempts.has(attempt)) complain("K7", `${name} was started twice as attempt ${attempt}`);
    seen.set(name, attempts.add(attempt));
  }
}

/** K19: a timer fires at or after its due time. */
function judgeTimers({ streams, complain }: Case): void {
  for (const [root, entries] of streams) {
    const due = new Map<string, number>();
    for (const { kind, type, cause, seq, at, body } of entries) {
      if (type !== "timer.set") continue;
      const { n, id, status, args } = body as unknown as {
        readonly n: number;
        readonly id: string;
        readonly status: string;
        readonly args: { readonly dueAtMs: number };
      };
      if (kind === "intent") due.set(`${cause}.${n}`, args.dueAtMs);
      if (kind === "outcome" && status === "ok" && at < (due.get(id) ?? Infinity)) {
        complain("K19", `The timer ${root}#${id} fired early, at ${seq}`);
      }
    }
  }
}

/** I8: what a model was given is what the journal says up to its intent, whatever was forgotten and read back. */
function judgeConversations({ evidence, streams, complain }: Case): void {
  for (const { root, id, key, life, conversation } of evidence.outside.performed) {
    // A ghost reads what the next owner wrote as well; nothing that it hears counts any more.
    if (conversation === undefined || evidence.ghosts.has(life)) continue;
    const fold = new ConversationFold();
    for (const entry of streams.get(root) ?? []) {
      fold.take(entry);
      const isIntent = entry.kind === "intent" &&
        id === `${entry.cause}.${(entry.body as { readonly n: number }).n}`;
      if (!isIntent) continue;
      // What was written by another epoch may be another request under the same position (K3).
      const isSame = isOutside(key) || key.endsWith(`@${entry.epoch}`);
      if (isSame && JSON.stringify(requestMessages(fold.messages)) !== conversation) {
        complain("I8", `The model was not given what the journal says for ${key}`);
      }
      break;
    }
  }
}

const reached: ReadonlySet<InvocationOutcome> = new Set([
  "succeeded",
  "completed_with_error",
  "unknown",
  "timed_out",
]);

const claimsNothingHappened: ReadonlySet<InvocationOutcome> = new Set([
  "failed",
  "timed_out",
  "canceled",
  "denied",
  "invalid",
  "not_found",
]);

function judgeStory(one: Case, story: Story): void {
  const { root, name, tool, result } = story;
  const { complain } = one;
  if (result === undefined) return complain("I11", `${root} ${name} never ended`);
  if (tool === undefined) {
    if (reached.has(result.outcome)) {
      complain("I4", `${root} ${name} is ${result.outcome}, and was never asked for`);
    }
    return;
  }
  judgeApproval(one, story, tool);
  judgeRepeats(one, story, tool);
  judgeEnding(one, story, tool);
  judgeNo(one, story, tool);
  judgeWords(one, story);
}

/**
 * I5, K9: a tool that needs approval has a durable yes before it: to this very call, as it was shown, or to all of its
 * rule, by this runtime's operator, of this entry, within 8 hours. Later attempts of a call need no other one.
 */
function judgeApproval({ evidence, complain }: Case, story: Story, tool: Tool): void {
  if (tool.approval === undefined) return;
  const { root, name, intents, decisions, grants } = story;
  const [first] = intents;
  if (first === undefined) return;
  const answers = decisions.filter(({ decision, shown }) =>
    (decision === "allow" || decision.startsWith("always")) && shown === first.shown
  );
  const granted = grants.filter(({ rule, entry, epoch, at }) =>
    rule === first.rule && entry === first.entry && epoch === first.epoch && first.at - at < limits.grantMs
  );
  const yes = Math.min(Infinity, ...[...answers, ...granted].map(({ seq }) => seq));
  if (yes > first.seq) {
    complain("I5", `${root} ${name} calls ${tool.name} at ${first.seq}, and nobody allowed it before`);
  }
  for (const { id, seq } of intents) {
    for (const { root: of, id: started, key, durableTo } of evidence.outside.performed) {
      if (of !== root || started !== id || durableTo >= Math.min(yes, seq)) continue;
      complain("K9", `${key} (${tool.name}) started before its approval at ${yes} was durable`);
    }
  }
}

function repeatsAllowed({ decisions }: Story): number {
  return decisions.filter(({ decision }) => decision === "run_again").length;
}

/** R3, I1: what is not idempotent is asked for again only if a person said so. */
function judgeRepeats({ complain }: Case, story: Story, tool: Tool): void {
  if (tool.effect !== "non_idempotent" || story.intents.length <= 1 + repeatsAllowed(story)) return;
  complain("I1", `${story.root} ${story.name} repeats ${tool.name}, and no operator said so`);
}

/** I1 to I4, R3, K11: what an invocation's ending claims is what the ledger shows. */
function judgeEnding({ evidence, complain }: Case, story: Story, tool: Tool): void {
  const { root, name, intents, decisions, result } = story;
  const { ledger, performed } = evidence.outside;
  const ids = new Set(intents.map(({ id }) => id));
  // Under a key that never became durable, a position may have stood for another request before (K3).
  const isOurs = ({ root: of, id, key }: LedgerLine | Performed) =>
    of === root && ids.has(id) && (tool.effect === "idempotent" || isOutside(key));
  const lines = ledger.filter((line) => line.tool === tool.name && isOurs(line));
  const keys = new Set(performed.filter(isOurs).map(({ key }) => key));
  const what = `${root} ${name} (${tool.name}, ${tool.effect})`;
  const most = tool.mechanism === "key" ? 1 : 1 + repeatsAllowed(story);
  if (tool.effect !== "idempotent" && lines.length > most) {
    complain(
      tool.effect === "conditional" ? "I2" : "I1",
      `${what} was applied ${lines.length} times, ${most} are allowed`,
    );
  }
  if (tool.effect === "conditional" && keys.size > 1) {
    complain("K3", `${what} went out under several keys: ${[...keys].join(", ")}`);
  }
  // An operator's word is taken for true, whatever the ledger says.
  if (result === undefined || result.via === "operator") return;
  const { outcome, failure } = result;
  if (tool.effect !== "idempotent" && claimsNothingHappened.has(outcome) && lines.length > 0) {
    complain("I3", `${what} is ${outcome}, and was applied ${lines.length} times`);
  }
  if (outcome === "succeeded" && lines.length === 0) {
    complain("I4", `${what} succeeded, and was never applied`);
  }
  const isGivenUp = decisions.some(({ decision }) => decision === "abandon") ||
    failure?.code === "outcome_abandoned";
  if (outcome === "unknown" && !isGivenUp) complain("R9", `${what} is unknown, and nobody gave it up`);
}

/** R4: a tool that ran and said no has a known outcome: it completed with an error, and that is neither success nor failure. */
function judgeNo({ evidence, complain }: Case, { root, name, intents, result }: Story, tool: Tool): void {
  const last = intents.at(-1)?.id;
  const isLast = ({ root: of, id }: { readonly root: string; readonly id: string }) =>
    of === root && id === last;
  const { heard, performed } = evidence.outside;
  if (performed.filter(isLast).length !== 1 || heard.find(isLast)?.fate !== "no") return;
  if (result?.via !== undefined || (result?.outcome !== "failed" && result?.outcome !== "succeeded")) return;
  complain("R4", `${root} ${name} (${tool.name}) is ${result.outcome}, and its tool had said no`);
}

/** R7: what a target answered to a process that was not killed is in the journal, as the outcome or as evidence. */
function judgeLate({ evidence: { outside, life }, streams, complain }: Case): void {
  for (const { root, id, life: of, fate } of outside.heard) {
    // The last start comes when all is quiet: what the life before it heard is durable by then.
    if (of < life.number - 1 || (fate !== "late" && fate !== "twice")) continue;
    const isKept = streams.get(root)?.some(({ kind, type, body }) =>
      (kind === "outcome" || type === "late_outcome") && (body as { readonly id?: string }).id === id &&
      (fate === "twice" || (body as { readonly status?: string }).status === "ok")
    );
    if (isKept !== true) complain("R7", `What was answered to ${root}#${id} in the end is nowhere`);
  }
}

const words = "The outcome of this call is unknown. Do not repeat it";

/** R9: a model that is told of a call whose outcome is unknown is told so in words. */
function judgeWords({ evidence, streams, complain }: Case, { root, name, intents, result }: Story): void {
  if (result?.outcome !== "unknown") return;
  const end = intents.at(-1)?.seq ?? 0;
  for (const { root: of, key, conversation } of evidence.outside.performed) {
    if (of !== root || positionIn(key) <= end) continue;
    // What an epoch began early and lost was another conversation.
    const epoch = streams.get(root)?.[positionIn(key) - 1]?.epoch;
    if (!isOutside(key) && !key.endsWith(`@${epoch}`)) continue;
    if (conversation?.includes(`"callId":"${result.callId}"`) !== true) continue;
    const messages = JSON.parse(conversation) as { readonly callId?: string; readonly text?: string }[];
    const told = messages.findLast(({ callId }) => callId === result.callId)?.text;
    if (told === undefined || told.includes(words)) continue;
    complain("R9", `The model of ${root} was told of ${name} for ${key}: ${told.slice(0, 100)}`);
  }
}
