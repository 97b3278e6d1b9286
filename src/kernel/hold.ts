/** Keeps the catalogs that an awake root knows where its machine finds them. */
import { catalogOf, holdCatalog, releaseCatalog } from "../../actors/library.ts";
import type { LiveRoot } from "./live_root.ts";

/** Holds a catalog for a root, once. A hash that names no catalog in memory is none. */
export function hold(root: LiveRoot, hash: string | undefined): void {
  if (hash === undefined || root.catalogs.has(hash) || catalogOf(hash) === undefined) return;
  root.catalogs.add(hash);
  holdCatalog(hash);
}

/** Holds what a root that was just brought up has met on its way: a root that fails to come up holds nothing. */
export function holdMet(root: LiveRoot, met: ReadonlySet<string>): void {
  for (const hash of met) hold(root, hash);
}

/** Lets all catalogs of a root go, because it sleeps, is rebuilt, or is out of service. */
export function letGo(root: LiveRoot): void {
  for (const hash of root.catalogs) releaseCatalog(hash);
  root.catalogs.clear();
}
