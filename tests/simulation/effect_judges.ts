/** Judges of effects: what the outside world saw, against what the journal says and what the model was told. */
import type { Entry } from "../../schemas/entry.ts";
import type { InvocationOutcome, InvocationResult } from "../../schemas/invocation.ts";
import type { EntryRef } from "../../schemas/catalog.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { entryOf } from "../../actors/library.ts";
import { ruleKey } from "../../actors/policy/rule_key.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { loadCatalog } from "../../src/effects/catalog_seal.ts";
import { CrankDesk } from "../../src/kernel/desk.ts";
import { CrankReader, feed } from "../../src/kernel/feed.ts";
import { LiveRoot } from "../../src/kernel/live_root.ts";
import { loadCatalogIn } from "../../src/kernel/wake.ts";
import type { Case } from "./judges.ts";
import { type LedgerLine, type Performed, wasDurable } from "./outside.ts";
import { wireTelling } from "./poisonous.ts";
import { type Tool, toolNamed } from "./scenario.ts";

/** One invocation, put together from the journal, the ledger and the machines' own words. */
interface Story {
  readonly root: string;
  /** `turn/<n>/call/<step>.<i>`. */
  readonly name: string;
  readonly tool: Tool;
  readonly intents: string[];
  /** Decisions of people about it, in order. */
  readonly decisions: Decided[];
  result: InvocationResult | undefined;
}

/** What a person decided, and where that stands. */
interface Decided {
  readonly decision: string;
  readonly seq: number;
}

/** Asks every judge of effects. */
export async function judgeEffects(one: Case): Promise<void> {
  judgeStarts(one);
  judgeAttempts(one);
  judgeTimers(one);
  for (const [root, entries] of one.streams) {
    if (!root.startsWith("session/")) continue;
    const stories = new Map<string, Story>();
    await tellStories(one, root, entries, stories);
    for (const story of stories.values()) judgeStory(one, story);
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

/** Replays a session with machines that tell, and puts its invocations together. */
async function tellStories(
  one: Case,
  root: string,
  entries: readonly Entry[],
  stories: Map<string, Story>,
): Promise<void> {
  const results = new Map<string, InvocationResult>();
  const desk = new CrankDesk();
  const wired = wireTelling(desk, (turn, result) => results.set(`turn/${turn}/${result.ordinal}`, result));
  const live = new LiveRoot(root, "session", wired.session, desk);
  const reader = new CrankReader();
  const loader = { loadCatalog: (hash: string) => loadCatalog(one.reader, hash) };
  for (const entry of entries) {
    await loadCatalogIn(loader, entry);
    const crank = reader.take(entry);
    if (crank !== undefined) feed(live, crank);
  }
  const rest = reader.rest();
  if (rest !== undefined) feed(live, rest);
  readEntries(one, root, entries, stories);
  for (const [name, result] of results) {
    const story = stories.get(name);
    if (story !== undefined) story.result = result;
    else if (reached.has(result.outcome)) {
      one.complain("I4", `${root} ${name} is ${result.outcome}, and was never asked`);
    }
  }
}

const reached: ReadonlySet<InvocationOutcome> = new Set([
  "succeeded",
  "completed_with_error",
  "unknown",
  "timed_out",
]);

interface Question {
  readonly subject: { readonly kind: string; readonly invocation: string; readonly rule: string };
}

/** Walks one stream: every call with its intents, and the people's decisions before each of them (I5). */
function readEntries(one: Case, root: string, entries: readonly Entry[], stories: Map<string, Story>): void {
  let turn = 0;
  const questions = new Map<string, Question>();
  const decisions = new Map<string, Decided[]>();
  const always = new Map<string, number>();
  for (const { kind, type, cause, seq, body } of entries) {
    if (kind === "intent") {
      const { n, args } = body as unknown as { readonly n: number; readonly args: JsonObject };
      const id = `${cause}.${n}`;
      if (type === "model.generate") turn = Number(args["turn"]);
      if (type === "question.ask") questions.set(id, args as unknown as Question);
      if (type !== "tool.call") continue;
      const name = `turn/${turn}/${args["invocation"]}`;
      const ref = args["entry"] as unknown as EntryRef;
      const found = stories.get(name);
      const said = decisions.get(name) ?? [];
      const story = found ??
        { root, name, tool: toolNamed(ref.name), intents: [], decisions: said, result: undefined };
      decisions.set(name, said);
      stories.set(name, story);
      story.intents.push(id);
      judgeApproval(one, story, ruleOf(ref, args["arguments"] as JsonObject), always);
      judgeRepeat(one, story);
    } else if (kind === "outcome" && type === "question.ask") {
      const { id, value } = body as { readonly id: string; readonly value?: { readonly decision: string } };
      const subject = questions.get(id)?.subject;
      if (subject === undefined || value === undefined) continue;
      const said = decisions.get(subject.invocation) ?? [];
      said.push({ decision: value.decision, seq });
      decisions.set(subject.invocation, said);
      const isAlways = value.decision === "always_allow_for_session" && !always.has(subject.rule);
      if (isAlways) always.set(subject.rule, seq);
    }
  }
}

function ruleOf(ref: EntryRef, input: JsonObject): string {
  const entry = entryOf(ref);
  return entry === undefined ? "" : ruleKey(entry, input);
}

/** I5, K9: a tool that needs approval has a durable yes before it, for this call or for all of its rule. */
function judgeApproval(
  { evidence, complain }: Case,
  { root, name, tool, intents, decisions }: Story,
  rule: string,
  always: ReadonlyMap<string, number>,
): void {
  if (tool.approval === undefined) return;
  const allowed = decisions.find(({ decision }) =>
    decision === "allow" || decision === "always_allow_for_session"
  );
  const seq = Math.min(allowed?.seq ?? Infinity, always.get(rule) ?? Infinity);
  if (seq === Infinity) return complain("I5", `${root} ${name} calls ${tool.name}, and nobody allowed it`);
  for (const { root: of, id, key, durableTo } of evidence.outside.performed) {
    if (of === root && id === intents.at(-1) && durableTo < seq) {
      complain("K9", `${key} (${tool.name}) started before its approval at ${seq} was durable`);
    }
  }
}

function repeatsAllowed(decisions: readonly Decided[]): number {
  return decisions.filter(({ decision }) => decision === "run_again").length;
}

/** R3, I1: what is not idempotent is asked for again only if a person said so. */
function judgeRepeat({ complain }: Case, { root, name, tool, intents, decisions }: Story): void {
  if (tool.effect !== "non_idempotent") return;
  const again = repeatsAllowed(decisions);
  if (intents.length > 1 + again) {
    complain("I1", `${root} ${name} repeats ${tool.name}, and no operator said so`);
  }
}

const claimsNothingHappened: ReadonlySet<InvocationOutcome> = new Set([
  "failed",
  "timed_out",
  "canceled",
  "denied",
  "invalid",
  "not_found",
]);

/** R3, K11, I1 to I4: what an invocation's ending claims is what the ledger shows. */
function judgeStory(one: Case, story: Story): void {
  const { root, name, tool, intents, decisions, result } = story;
  const { ledger, performed } = one.evidence.outside;
  // Under a key that never became durable, a position may have stood for another request before (K3).
  const isOurs = ({ root: of, id, key }: LedgerLine | Performed) =>
    of === root && intents.includes(id) && (tool.effect === "idempotent" || isOutside(key));
  const lines = ledger.filter(isOurs);
  const what = `${root} ${name} (${tool.name}, ${tool.effect})`;
  judgeCount(one, story, lines);
  const keys = new Set(performed.filter(isOurs).map(({ key }) => key));
  if (tool.effect === "conditional" && keys.size > 1) {
    one.complain("K3", `${what} went out under several keys: ${[...keys].join(", ")}`);
  }
  if (result === undefined) return one.complain("I11", `${what} never ended`);
  const { outcome, via } = result;
  // An operator's word is taken for true, whatever the ledger says.
  if (via === "operator") return;
  if (tool.effect !== "idempotent" && claimsNothingHappened.has(outcome) && lines.length > 0) {
    one.complain("R3", `${what} is ${outcome}, and was applied ${lines.length} times`);
  }
  if (outcome === "succeeded" && lines.length === 0) {
    one.complain("I4", `${what} succeeded, and was never applied`);
  }
  if (
    outcome === "unknown" && !decisions.some(({ decision }) => decision === "abandon") &&
    result.failure?.code !== "outcome_abandoned"
  ) {
    one.complain("R9", `${what} is unknown, and nobody gave it up`);
  }
}

/** I1, I2: how often an effect may have been applied. */
function judgeCount(
  { complain }: Case,
  { root, name, tool, decisions }: Story,
  lines: readonly LedgerLine[],
): void {
  const again = repeatsAllowed(decisions);
  const most = tool.mechanism === "key" ? 1 : 1 + again;
  if (tool.effect === "idempotent" || lines.length <= most) return;
  complain(
    "I1",
    `${root} ${name} (${tool.name}) was applied ${lines.length} times, ${again} repeats were allowed`,
  );
}
