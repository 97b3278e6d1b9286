/** Who holds which root of a store that several runtimes share (K17): as far as its rows say. */
import { z } from "zod";
import { type Finding, findingAt } from "./finding.ts";
import { prefixes } from "./keys.ts";
import { readableRows } from "./readable_rows.ts";
import type { Store } from "./store.ts";

/** Fields that name a runtime, and fields that say until when; the first that is there counts. */
const LeaseRow = z.looseObject({
  runtime: z.string().optional().catch(undefined),
  owner: z.string().optional().catch(undefined),
  holder: z.string().optional().catch(undefined),
  expiresAt: z.number().optional().catch(undefined),
  expiresAtMs: z.number().optional().catch(undefined),
  untilMs: z.number().optional().catch(undefined),
  until: z.number().optional().catch(undefined),
});

/** A finding for each root that is leased: by whom, until when, and whether that time is over. */
export async function examineLeases(store: Store, now: number | undefined): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const holders = new Map<string, string>();
  for await (const { key, value } of readableRows(store, prefixes.owners, findings)) {
    const { runtime, owner, holder } = LeaseRow.safeParse(value).data ?? {};
    holders.set(
      String(key[1]),
      runtime ?? owner ?? holder ?? (typeof value === "string" ? value : "a runtime"),
    );
  }
  for await (const { key, value } of readableRows(store, prefixes.leases, findings)) {
    const root = String(key[1]);
    const { expiresAt, expiresAtMs, untilMs, until } = LeaseRow.safeParse(value).data ?? {};
    const end = expiresAt ?? expiresAtMs ?? untilMs ?? until ??
      (typeof value === "number" ? value : undefined);
    const who = holders.get(root) ?? "nobody that is named";
    if (end === undefined || now === undefined) {
      findings.push(findingAt(root, "lease_held", `It is leased to ${who}`));
    } else if (end <= now) {
      findings.push(findingAt(root, "lease_lapsed", `Its lease to ${who} ended at ${timeOf(end)}`));
    } else findings.push(findingAt(root, "lease_held", `It is leased to ${who} until ${timeOf(end)}`));
  }
  return findings;
}

function timeOf(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
