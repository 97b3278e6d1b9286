/** The tokens of a store, as the stream of its audit tells of them. */
import { changeTokens, viewOfToken } from "../../../actors/access.ts";
import { AuditInput, AuditMessage, type TokenRecord, type TokenView } from "../../../schemas/access.ts";
import type { Entry, RootRecord } from "../../../schemas/entry.ts";
import type { RootAddress } from "../../../schemas/ids.ts";
import type { JournalReader } from "../../journal/journal.ts";
import { peek } from "../../peek.ts";

/** Where the record of access is kept, unless it was lost. */
export const auditAddress: RootAddress = "audit/main";

type Reading = Pick<JournalReader, "format" | "readPages">;

/** Takes the entries of an audit one after another. */
export class TokenFold {
  tokens: readonly TokenRecord[] = [];
  /** The store that the tokens were issued for; undefined for one that has no name. */
  installation: string | undefined;
  seq = 0;

  /** Takes the next entry. */
  take({ kind, seq, at, body }: Entry): void {
    this.seq = seq;
    if (kind === "created") this.installation = AuditInput.safeParse(peek(body, "input")).data?.installation;
    if (kind !== "input") return;
    const message = AuditMessage.safeParse(peek(body, "message")).data;
    if (message !== undefined) this.tokens = changeTokens(this.tokens, message, at).tokens;
  }
}

/**
 * The audit that is in use, the newest. One that lost entries is not: what was revoked in them would open again. Nor is
 * one that was made in another installation: its tokens were issued for that one (CM-4).
 */
export async function findAudit(
  journal: Reading,
  records: Iterable<RootRecord>,
): Promise<RootAddress | undefined> {
  const usable = [...records].filter(({ kind, status, cut }) =>
    kind === "audit" && status === "active" && cut === undefined
  ).sort((left, right) => right.createdAt - left.createdAt);
  for (const { address } of usable) {
    const fold = new TokenFold();
    for await (const [first] of journal.readPages(address)) {
      if (first !== undefined) fold.take(first);
      break;
    }
    if (fold.seq > 0 && fold.installation === journal.format.installation) return address;
  }
  return undefined;
}

/** The tokens of a store, as they stand in its journal. */
export async function readTokens(
  journal: Reading,
  records: Iterable<RootRecord>,
): Promise<readonly TokenView[]> {
  const fold = new TokenFold();
  const audit = await findAudit(journal, records);
  if (audit === undefined) return [];
  for await (const page of journal.readPages(audit)) for (const entry of page) fold.take(entry);
  return fold.tokens.map(viewOfToken);
}
