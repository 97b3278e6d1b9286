/** One message through one root: enter it, let the machine run, write all it did as one unit, then act (K1). */
import type { PortOutcome, PortRequest } from "../../schemas/effect.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import { throughJson } from "../canonical.ts";
import type { EntryDraft } from "./compose.ts";
import type { CrankRecord } from "./desk.ts";
import { shelvedHashIn } from "../journal/named_blobs.ts";
import { hold } from "./hold.ts";
import type { Kernel } from "./kernel.ts";
import type { Beginning, LiveRoot } from "./live_root.ts";
import type { Mail, OutcomeMail } from "./mail.ts";
import { poison, quarantine } from "./poison.ts";
import { writeNote } from "./note.ts";
import { writeUnit } from "./write.ts";

/** How a crank's first entry will read. */
export interface Opening extends EntryDraft {
  readonly kind: "created" | "input" | "outcome";
}

/** Runs one crank. Never throws: what goes wrong ends as a poisoned message or a quarantined root (K23). */
export function crank(kernel: Kernel, root: LiveRoot, mail: Mail): void {
  if (mail.kind === "outcome" && !root.ports.has(mail.id)) return noteLate(kernel, root, mail);
  const opening = openingOf(kernel, root, mail);
  const beginning: Beginning = {
    kind: opening.kind,
    seq: root.seq + 1,
    at: kernel.seams.clock.now(),
    epoch: kernel.journal.ownership.epochOf(root.address),
    body: opening.body,
  };
  const settled = mail.kind === "outcome" ? root.ports.get(mail.id)?.request : undefined;
  const record = root.deliver(beginning);
  if (record.fault !== undefined) return poison(kernel, root, mail, record.fault);
  const harmful = record.drops.find((drop) => drop.request.effect !== "idempotent");
  if (harmful !== undefined) {
    // K11: the machine left a state while an effect that could hurt was pending in it.
    return quarantine(
      kernel,
      root.address,
      `Its machine dropped the pending ${harmful.request.port} ${harmful.id}`,
    );
  }
  hold(root, shelvedHashIn(opening));
  writeUnit(kernel, root, { mail, opening, beginning, record, settled });
}

/** The first entry of a crank; its body is canonical, and the machine gets the very value that is written (K5). */
function openingOf(kernel: Kernel, root: LiveRoot, mail: Mail): Opening {
  switch (mail.kind) {
    case "created": {
      const body = { machine: root.kind, code: kernel.code, input: mail.input };
      return { kind: "created", type: root.kind, body: throughJson(body) };
    }
    case "input":
      return { kind: "input", type: mail.body.message.type, body: throughJson(mail.body) as unknown as Json };
    case "outcome": {
      const body = throughJson(outcomeBody(mail)) as unknown as Json;
      return { kind: "outcome", type: root.ports.get(mail.id)?.request.port ?? "unknown", body };
    }
  }
}

function outcomeBody(mail: OutcomeMail): PortOutcome {
  const { id, attempt, result } = mail;
  if (result.status === "ok") return { id, attempt, status: "ok", value: result.value };
  const { status, failure, started, provenance } = result;
  return {
    id,
    attempt,
    status,
    failure,
    ...(started === undefined ? {} : { started }),
    ...(provenance === undefined ? {} : { provenance }),
  };
}

/** A late outcome is evidence and never reaches a machine (K12). */
function noteLate(kernel: Kernel, root: LiveRoot, mail: OutcomeMail): void {
  const body = throughJson(outcomeBody(mail)) as unknown as Json;
  writeNote(kernel, root, { kind: "note", type: "late_outcome", body });
}

/** What {@linkcode writeUnit} is given. */
export interface CrankResult {
  readonly mail: Mail;
  readonly opening: Opening;
  readonly beginning: Beginning;
  readonly record: CrankRecord;
  /** The request that this crank's outcome settled. */
  readonly settled: PortRequest | undefined;
}

/** Gives drafts their place, time and cause. */
export function placeEntries(beginning: Beginning, opening: EntryDraft, drafts: EntryDraft[]): Entry[] {
  const { seq, at, epoch } = beginning;
  return [opening, ...drafts].map((draft, index) => ({
    v: 1,
    seq: seq + index,
    at,
    kind: draft.kind,
    type: draft.type,
    cause: seq,
    epoch,
    body: draft.body,
  }));
}
