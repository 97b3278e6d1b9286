/** Moves a root to this release's code: only at rest, and with a checkpoint that later replays start from (K21). */
import { versionMark } from "../../actors/migrate.ts";
import type { Kernel } from "./kernel.ts";
import type { LiveRoot } from "./live_root.ts";
import { writeNote } from "./note.ts";
import type { Json } from "../../schemas/json.ts";

/**
 * A root that other code left in the middle of something. Only the release that wrote it can bring it to rest, so
 * nothing about this lasts: that release must find the root as it was.
 */
export class OtherCodeError extends Error {
  constructor(address: string, code: string, what: string) {
    super(
      `"${address}" was left by other code (${code.slice(0, 19)}) ${what}: ` +
        "start the release that wrote it once, so that it can come to rest",
    );
    this.name = "OtherCodeError";
  }
}

/**
 * Writes the checkpoint by which a root goes on under this code. Throws if an effect that could hurt is open: such a
 * root can only be finished by the release that began it.
 */
export function moveToThisCode(kernel: Kernel, root: LiveRoot, from: string): void {
  const harmful = [...root.ports.values()].find((port) => port.request.effect !== "idempotent");
  if (harmful !== undefined) {
    throw new OtherCodeError(root.address, from, `while ${harmful.request.port} ${harmful.id} was open`);
  }
  const body = {
    machine: root.kind,
    code: kernel.code,
    state: root.persisted(),
    open: [...root.ports.keys()],
    ...versionMark(kernel.stateFormats[root.kind]),
  };
  writeNote(kernel, root, { kind: "checkpoint", type: root.kind, body: body as unknown as Json });
  kernel.seams.log({ level: "info", event: "root_moved_to_new_code", detail: { root: root.address, from } });
}
