/** The turn of a session that was taken out of service: whoever waits for it is told that it is lost (DM-133). */
import { failure } from "../schemas/failure.ts";
import type { RootAddress } from "../schemas/ids.ts";
import type { CommandRef } from "../schemas/message.ts";
import type { Conversations } from "./effects/conversation.ts";
import type { Journal } from "./journal/journal.ts";
import type { Acknowledgements } from "./kernel/command.ts";
import { type Kernel, KernelError } from "./kernel/kernel.ts";
import { peek, peekText } from "./peek.ts";
import { reportOf, type TurnReport } from "./turn_report.ts";

/** From what a report is made. */
export interface ReportSources {
  readonly journal: Pick<Journal, "readEntries">;
  readonly conversations: Conversations;
  readonly kernel: Pick<Kernel, "avoided">;
}

/** The report of a turn, once it is over: it has ended, or its session is out of service and it never will. */
export async function reportWhenOver(
  { journal, conversations, kernel }: ReportSources,
  session: RootAddress,
  { ref, reply }: Pick<Acknowledgements, "ref" | "reply">,
): Promise<TurnReport> {
  try {
    return await reportOf(conversations, session, await reply);
  } catch (error) {
    if (!(error instanceof KernelError) || error.code !== "root_quarantined") throw error;
    // The next runtime tries again: who repeats the key there hears how the turn ended.
    if (kernel.avoided.has(session)) throw error;
    const turn = await turnOf(journal, session, ref);
    // What is not in the journal was never accepted, and its sender knows that.
    if (turn === undefined) throw error;
    const why = failure("root_quarantined", `${error.message}; troupe log shows how far it came`);
    return { turn, outcome: "lost", steps: 0, text: "", failure: why };
  }
}

/** The turn that a command began; 0 if it waited for one, or nobody can tell; undefined if it is not there. */
async function turnOf(
  journal: ReportSources["journal"],
  session: RootAddress,
  { principal, key }: CommandRef,
): Promise<number | undefined> {
  let given: number | undefined;
  try {
    for await (const { seq, kind, type, body } of journal.readEntries(session)) {
      const isGiven = kind === "input" && peekText(body, "command", "key") === key &&
        peekText(body, "command", "principal") === principal;
      if (isGiven) given = seq;
      const isBegun = given !== undefined && kind === "note" && type === "tools.bound" &&
        peek(body, "input") === given;
      if (isBegun) return Number(peekText(body, "execution").replace("turn/", "")) || 0;
    }
  } catch {
    return 0; // A journal that cannot be read is why some sessions are out of service.
  }
  return given === undefined ? undefined : 0;
}
