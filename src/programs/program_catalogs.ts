/** Tells the catalogs of sessions which programs bring tools: a turn that runs keeps what it has (DM-132). */
import { allSources } from "../../actors/catalog_rules.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import type { CatalogSource } from "../../schemas/catalog.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { localOperator, principalText } from "../../schemas/principal.ts";
import { readLineage } from "../agents/lineage.ts";
import { sessionsAbove } from "../ancestors.ts";
import { submit } from "../kernel/command.ts";
import type { Kernel } from "../kernel/kernel.ts";

/** Sessions that are told at once. */
const atOnce = 16;

/** The sources that programs bring to the sessions of an agent and an owner. */
export type SourcesFor = (agent: string, owner: string) => readonly CatalogSource[];

/** The catalogs of one runtime. */
export class ProgramCatalogs {
  readonly #kernel: Kernel;
  readonly #sourcesFor: SourcesFor;
  /** What each session was told last. */
  readonly #told = new Map<RootAddress, string>();

  constructor(kernel: Kernel, sourcesFor: SourcesFor) {
    this.#kernel = kernel;
    this.#sourcesFor = sourcesFor;
  }

  /** Tells all sessions of an agent what holds now. Resolves once every catalog has it, durably. */
  async tellAll(agent: string): Promise<void> {
    const sessions = [...this.#kernel.records.values()]
      .filter(({ kind, status }) => kind === "session" && status === "active")
      .map(({ address }) => address);
    for (let from = 0; from < sessions.length; from += atOnce) {
      await Promise.all(sessions.slice(from, from + atOnce).map((one) => this.tell(one, agent)));
    }
  }

  /** Tells one session, if it is one of this agent. A catalog that this would break keeps what it has. */
  async tell(session: RootAddress, agent: string): Promise<void> {
    try {
      const lineage = await readLineage(this.#kernel, session);
      if (lineage === undefined || lineage.agent.name !== agent) return;
      const brought = this.#sourcesFor(agent, ownerOf(this.#kernel, session));
      const own = allSources({ ...lineage.catalog, offers: [] }).filter((source) => !isBrought(source));
      const wanted = JSON.stringify(brought);
      // What an earlier runtime told nobody knows here: the catalog itself finds out that nothing is new.
      if (this.#told.get(session) === wanted) return;
      const sources = [...own, ...brought];
      const resolution = resolveCatalog({ ...lineage.catalog, sources, epoch: 1 });
      if ("failure" in resolution) return this.#warn(session, resolution.failure.message);
      const message = { type: "catalog.change", sources };
      const ref = { principal: principalText(localOperator), key: this.#kernel.seams.nextId("cmd") };
      const root = lineage.session.catalog;
      const { accepted } = await submit(this.#kernel, {
        root,
        message: message as never,
        ref,
        isFresh: true,
      });
      await accepted();
      this.#told.set(session, wanted);
    } catch (error) {
      this.#warn(session, String(error));
    }
  }

  #warn(session: RootAddress, why: string): void {
    this.#kernel.seams.log({ level: "warning", event: "program.catalog_kept", detail: { session, why } });
  }
}

/** True for a source that a program brings which is no part of this process. */
function isBrought({ kind, remote }: CatalogSource): boolean {
  return kind === "program" && remote;
}

/** Who the session at the top of a family belongs to. */
function ownerOf({ records }: Kernel, session: RootAddress): string {
  const top = sessionsAbove(records, session).at(-1) ?? session;
  return records.get(top)?.owner ?? principalText(localOperator);
}
