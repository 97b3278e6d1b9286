/** Keeps the catalogs and offers that an awake root knows where its machine finds them. */
import { holdHash, isInterned, releaseHash } from "../../actors/library.ts";
import type { LiveRoot } from "./live_root.ts";

/** Holds a hash for a root, once. One under which nothing stands in memory is none. */
export function hold(root: LiveRoot, hash: string | undefined): void {
  if (hash === undefined || root.shelved.has(hash) || !isInterned(hash)) return;
  root.shelved.add(hash);
  holdHash(hash);
}

/** Holds what a root that was just brought up has met on its way: a root that fails to come up holds nothing. */
export function holdMet(root: LiveRoot, met: ReadonlySet<string>): void {
  for (const hash of met) hold(root, hash);
}

/** Lets all catalogs of a root go, because it sleeps, is rebuilt, or is out of service. */
export function letGo(root: LiveRoot): void {
  for (const hash of root.shelved) releaseHash(hash);
  root.shelved.clear();
}
