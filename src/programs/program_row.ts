/** What the store keeps of a program that is connected over the API: enough to know it when it comes back after a restart. */
import { z } from "zod";
import { Digest } from "../../schemas/ids.ts";
import { Principal } from "../../schemas/principal.ts";
import { ProgramName } from "../../schemas/program.ts";
import type { JournalReader } from "../journal/journal.ts";
import { prefixes } from "../journal/keys.ts";
import type { Clock } from "../seams.ts";
import { Mailbox } from "./mailbox.ts";
import type { ProgramRegistry } from "./program_registry.ts";

/** A row `program/<name>`. */
export const ProgramRow = z.object({
  principal: Principal,
  /** True if it serves the sessions of all principals: it acts for the operator. */
  seesAll: z.boolean(),
  fingerprint: Digest,
  /** Name of the agent that it serves. */
  agent: z.string(),
  registration: z.string(),
});
/** A row `program/<name>`. */
export type ProgramRow = z.infer<typeof ProgramRow>;

/** A program that was connected when an earlier runtime ended, and has its lease to come back. */
export interface ReturningProgram {
  readonly row: ProgramRow;
  readonly mailbox: Mailbox;
}

/** Where several runtimes share a store, programs of others may be there: nobody is expected. */
export const noPrograms: ReadonlyMap<string, ReturningProgram> = new Map();

/** Reads who was connected, and lets the calls of recovery wait for them. To be done before anything goes on. */
export async function expectPrograms(
  journal: Pick<JournalReader, "listRows">,
  registry: ProgramRegistry,
  clock: Clock,
): Promise<ReadonlyMap<string, ReturningProgram>> {
  const found = new Map<string, ReturningProgram>();
  for await (const { key, value } of journal.listRows(prefixes.programs)) {
    const program = ProgramName.safeParse(key[1]).data;
    const row = ProgramRow.safeParse(value).data;
    if (program === undefined || row === undefined) continue;
    const mailbox = new Mailbox({ program, clock }, row.registration);
    registry.expect(program, { fingerprint: row.fingerprint, mailbox });
    found.set(program, { row, mailbox });
  }
  return found;
}
