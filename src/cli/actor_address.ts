/** Which actor a person means: a root, an actor below it, or whoever waits under the id of a question. */
import { type RootAddress, rootKindOf } from "../../schemas/ids.ts";
import type { Host } from "../host/host.ts";
import { type RootView, RootViews } from "../why/root_view.ts";
import { UsageError } from "./exit.ts";
import { findSession } from "./session_name.ts";

/** The actor that was meant, and all that is known of its root. */
export interface FoundActor {
  readonly views: RootViews;
  readonly view: RootView;
  readonly address: string;
}

/**
 * Finds `session/ses_…/turn/3/call/0.1`, `connection/docs@ses_…`, `supervisor/main`, a task by its id, a question as
 * `troupe questions` names it, or any of these with a session's short name in front: `last/turn/3`.
 */
export async function findActor(host: Host, name: string): Promise<FoundActor> {
  const [path = "", intent] = name.split("#", 2);
  const { root: rootName, below } = splitPath(path);
  const root = await rootOf(host, rootName);
  const views = await RootViews.open(host);
  const view = await views.of(root);
  if (view === undefined) throw notFound(name, root);
  if (intent !== undefined) {
    const waiting = view.actors.find(({ waits }) => waits.some(({ id }) => id === intent));
    if (waiting === undefined) throw notFound(name, root);
    return { views, view, address: waiting.address };
  }
  const address = below === "" ? root : `${root}/${below}`;
  // Nothing is known below a root that is out of service, and none of it moves.
  if (address !== root && !view.actors.some((one) => one.address === address)) throw notFound(name, root);
  return { views, view, address };
}

/** A root by its address, a session by its short names, or a task or schedule by its id alone. */
async function rootOf(host: Host, name: string): Promise<RootAddress> {
  const found = /^(?:tsk|sch)_/.test(name)
    ? (await host.listRoots()).find(({ address }) => address.includes(`/${name}@`))
    : undefined;
  return found?.address ?? (await findSession(host, name)).address;
}

function splitPath(path: string): { readonly root: string; readonly below: string } {
  const parts = path.split("/");
  const isAddress = parts.length > 1 && rootKindOf(path) !== undefined;
  const count = isAddress ? 2 : 1;
  return { root: parts.slice(0, count).join("/"), below: parts.slice(count).join("/") };
}

function notFound(name: string, root: RootAddress): UsageError {
  return new UsageError(
    "actor_not_found",
    `There is no actor ${JSON.stringify(name)} now: it has ended, or never was; see troupe tree ${root}`,
  );
}
