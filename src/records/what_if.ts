/** Decides the recorded calls of a session again, under another policy of the host. Performs nothing. */
import { decide, type DecisionContext } from "../../actors/decision.ts";
import { entryOf, internCatalog } from "../../actors/library.ts";
import type { CatalogContext } from "../../actors/catalog.ts";
import { allSources } from "../../actors/catalog_rules.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import type { CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import { CommandReview } from "../../schemas/command_review.ts";
import type { HostPolicy } from "../../schemas/config.ts";
import type { KeptGrant } from "../../schemas/grant.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { InvocationRequest } from "../../schemas/invocation.ts";
import type { Json } from "../../schemas/json.ts";
import { localOperator, principalText } from "../../schemas/principal.ts";
import { sealEntries } from "../effects/catalog_seal.ts";
import { canonicalBytes, throughJson } from "../canonical.ts";
import type { RecordedCrank } from "../kernel/feed.ts";
import type { LiveRoot } from "../kernel/live_root.ts";
import { peek, peekList, peekText } from "../peek.ts";
import type { Seams } from "../seams.ts";
import { CallTrack, type JudgedCall } from "./call_track.ts";

/** A verdict, and the rule that it comes from; empty where nothing had to decide. */
export interface Decided {
  readonly verdict: string;
  readonly by: string;
  /** One clause for people. */
  readonly why: string;
}

/** A recorded call, decided again. */
export interface Redecision {
  readonly seq: number;
  readonly turn: number;
  readonly ordinal: string;
  readonly tool: string;
  readonly before: Decided;
  /** Undefined if what is recorded does not lead to what was decided then: nothing can be said of it. */
  readonly after: Decided | undefined;
}

/** Decides calls again. Shown the catalog's stream first, then the session's. */
export class WhatIf {
  /** All calls that were decided, in their order. */
  readonly decisions: Redecision[] = [];
  readonly #policy: HostPolicy;
  readonly #digest: Seams["digest"];
  readonly #calls = new CallTrack();
  /** What catalogs were made from: by the intent of their seal, then by their hash. */
  readonly #asked = new Map<string, CatalogContext>();
  readonly #parts = new Map<string, CatalogContext>();
  /** What each catalog is under the other policy. */
  readonly #catalogs = new Map<string, { readonly hash: string } | { readonly failure: Failure }>();

  constructor(policy: HostPolicy, digest: Seams["digest"]) {
    this.#policy = policy;
    this.#digest = digest;
  }

  /** Remembers what every catalog was made from. */
  watchCatalog({ first, rest }: RecordedCrank, root: LiveRoot): void {
    if (first.kind === "outcome" && first.type === "catalog.seal") {
      const context = this.#asked.get(peekText(first.body, "id"));
      if (context !== undefined) this.#parts.set(peekText(first.body, "value", "hash"), context);
    }
    for (const { kind, type, cause, body } of rest) {
      if (kind !== "intent" || type !== "catalog.seal") continue;
      const context = peek(root.persisted(), "context") as unknown as CatalogContext;
      this.#asked.set(`${cause}.${peekText(body, "n")}`, context);
    }
  }

  /** Makes the catalogs anew, under the other policy. Called between the two streams. */
  async resolve(): Promise<void> {
    for (const [hash, context] of this.#parts) {
      const sources = allSources(context);
      const resolution = resolveCatalog({ ...context, policy: this.#policy, sources });
      if ("failure" in resolution) {
        this.#catalogs.set(hash, resolution);
        continue;
      }
      const catalog: ResolvedCatalog = throughJson(await sealEntries(resolution.catalog, this.#digest));
      const other = await this.#digest(canonicalBytes(catalog as unknown as Json));
      internCatalog(other, catalog);
      this.#catalogs.set(hash, { hash: other });
    }
  }

  /** Decides the calls that were decided in this crank again. */
  watchSession(crank: RecordedCrank, root: LiveRoot): void {
    const judged = this.#calls.take(crank);
    if (judged.length === 0) return;
    const persisted = root.persisted();
    for (const call of judged) {
      const { note: { seq, body }, turn, ordinal, tool } = call;
      const before = decidedIn(body);
      const after = this.#decideAgain(call, contextOf(call, crank, persisted), before);
      this.decisions.push({ seq, turn, ordinal, tool, before, after });
    }
  }

  #decideAgain(call: JudgedCall, context: DecisionContext, before: Decided): Decided | undefined {
    // What its name or its arguments refuse, or a look that failed, no policy has a say in.
    if (isBeforePolicy(call)) return before;
    const entry = context.request.entry === undefined ? undefined : entryOf(context.request.entry);
    if (entry === undefined || decide(context).decided.verdict !== before.verdict) return undefined;
    if (entry.adapter === "mcp" && this.#policy.connect === "deny") return notConnected(entry);
    const other = this.#catalogs.get(call.catalog);
    if (other === undefined) return undefined;
    if ("failure" in other) {
      return { verdict: "deny", by: other.failure.code, why: other.failure.message };
    }
    const name = entry.canonicalName;
    const now = entryOf({ catalog: other.hash, name });
    if (now === undefined) {
      return { verdict: "deny", by: "catalog", why: `The agent would have no tool "${name}"` };
    }
    const request = inCatalog(context.request, other.hash, name);
    const grants = context.grants.map((kept) => aboutEntry(kept, entry, now));
    const [note] = decide({ ...context, request, grants }).notes;
    return note === undefined ? undefined : decidedIn(peek(note, "body"));
  }
}

/** True if a call was refused before policy was asked: by its name, its arguments, or a look that could not be had. */
function isBeforePolicy({ note, review }: JudgedCall): boolean {
  return peekList(note.body, "checks").some((check) => {
    const [name, by, verdict] = [peekText(check, "check"), peekText(check, "by"), peekText(check, "verdict")];
    if (verdict !== "deny") return false;
    return name === "schema" || name === "scope" || (name === "enabled" && by === "catalog") ||
      (name === "review" && review === undefined);
  });
}

/** The verdict of a note, with the check that it comes from: of the refusing ones the last, else the last that had a say. */
function decidedIn(body: Json | undefined): Decided {
  const verdict = peekText(body, "verdict");
  const checks = peekList(body, "checks");
  const deciding = verdict === "ask"
    ? checks.find((check) => peekText(check, "verdict") === "ask")
    : checks.findLast((check) => verdict !== "deny" || peekText(check, "verdict") === "deny");
  return { verdict, by: peekText(deciding, "by"), why: peekText(deciding, "why") };
}

function notConnected({ canonicalName }: CatalogEntry): Decided {
  const why = `The server of "${canonicalName}" would not be started`;
  return { verdict: "deny", by: "policy.connect of the host", why };
}

/** What a person answered for the session would have been asked about the tool as it is under the other policy. */
function aboutEntry(kept: KeptGrant, then: CatalogEntry, now: CatalogEntry): KeptGrant {
  if (typeof kept === "string") return kept;
  const { scope } = kept;
  if (scope.subject !== then.canonicalName || scope.entry !== then.hash || now.hash === undefined) {
    return kept;
  }
  return { ...kept, scope: { ...scope, entry: now.hash } };
}

function inCatalog(request: InvocationRequest, catalog: string, name: string): InvocationRequest {
  const scope = request.scope?.turn === undefined
    ? request.scope
    : { ...request.scope, turn: { ...request.scope.turn, catalog } };
  return { ...request, entry: { catalog, name }, ...(scope === undefined ? {} : { scope }) };
}

/** What the call was decided from: its machine still knows, unless the call ended with the decision. */
function contextOf(call: JudgedCall, { first }: RecordedCrank, session: Json): DecisionContext {
  const turn = peek(session, "children", `turn/${call.turn}`, "snapshot");
  const living = peek(turn, "children", call.ordinal, "snapshot", "context");
  if (living !== undefined) return living as unknown as DecisionContext;
  const known = peek(turn, "context") ?? peek(session, "context");
  const wasRefused = peekList(call.note.body, "checks").some((check) =>
    peekText(check, "check") === "refusal"
  );
  const review = CommandReview.safeParse(call.review);
  return {
    request: requestOf(call),
    capabilities: peekList(session, "context", "agent", "capabilities") as readonly string[],
    mode: (peekText(session, "context", "mode") || "default") as DecisionContext["mode"],
    grants: peekList(known, "grants") as unknown as DecisionContext["grants"],
    at: first.at,
    epoch: first.epoch,
    ...(review.success ? { review: review.data } : {}),
    ...(wasRefused ? { wasRefused } : {}),
  };
}

function requestOf({ ordinal, tool, catalog, isHosts, turn, ...call }: JudgedCall): InvocationRequest {
  return {
    ordinal,
    callId: ordinal,
    name: tool,
    entry: { catalog, name: tool },
    arguments: call.arguments,
    origin: isHosts ? "host" : "model",
    scope: isHosts ? { principal: principalText(localOperator) } : { turn: { number: turn, catalog } },
  };
}
