/** The first thing that a runtime does with its store: goes on with what was open, alone or beside other runtimes. */
import type { RootAddress } from "../schemas/ids.ts";
import { createSupervisor } from "./births.ts";
import type { Kernel } from "./kernel/kernel.ts";
import { recoverAbandoned, takeSupervisor } from "./kernel/reach.ts";
import { sharedOwnership } from "./kernel/shared.ts";
import { recover, type Recovery } from "./kernel/recover.ts";
import { hearLosses, share } from "./kernel/share.ts";

/** Address of the supervisor of all roots, where one runtime has the store. */
const supervisorAddress: RootAddress = "supervisor/main";

/** Recovers what was open; in a shared store, what nobody holds, and from then on what is left behind by others. */
export async function resume(
  kernel: Kernel,
  { holdsSchedules }: { readonly holdsSchedules: boolean },
): Promise<Recovery> {
  const ownership = sharedOwnership(kernel);
  if (ownership === undefined) {
    kernel.supervisor = supervisorAddress;
    const recovery = await recover(kernel);
    if (!kernel.records.has(supervisorAddress)) await createSupervisor(kernel, supervisorAddress);
    return recovery;
  }
  hearLosses(kernel, ownership);
  await recover(kernel);
  // Each runtime has one of its own: a supervisor decides about roots that are in its process.
  const supervisor = await takeSupervisor(kernel) ?? `supervisor/${ownership.runtime}`;
  kernel.supervisor = supervisor;
  if (!kernel.records.has(supervisor)) await createSupervisor(kernel, supervisor);
  await ownership.forgetLines();
  const recovery = await recoverAbandoned(kernel, holdsSchedules);
  share(kernel, { holdsSchedules });
  return recovery;
}
