/** The performers that need no host: questions, timers, schedules, children, seals of catalogs, and what supervisors decide. */
import { rootKindOf } from "../schemas/ids.ts";
import { createAgentOpen } from "./effects/agent_open.ts";
import { createCatalogSeal } from "./effects/catalog_seal.ts";
import type { Performers } from "./effects/performer.ts";
import type { QuestionDesk } from "./effects/question_ask.ts";
import { scheduleNext } from "./effects/schedule_next.ts";
import { createTimerSet } from "./effects/timer_set.ts";
import type { HostPerformers } from "./host_services.ts";
import type { Journal } from "./journal/journal.ts";
import type { Kernel } from "./kernel/kernel.ts";
import { createChildStart, createChildStop } from "./kernel/supervise.ts";
import type { Seams } from "./seams.ts";

/** What a runtime's own performers are made of. */
export interface OwnPerformersOptions {
  readonly seams: Seams;
  readonly journal: Journal;
  readonly questions: QuestionDesk;
  readonly kernelOf: () => Kernel;
  /** True: no schedule becomes due. */
  readonly holdsSchedules: boolean;
}

/** Makes the performers that a runtime has of itself. */
export function createOwnPerformers(
  { seams, journal, questions, kernelOf, holdsSchedules }: OwnPerformersOptions,
): Omit<Performers, keyof HostPerformers> {
  return {
    "question.ask": questions.perform,
    "timer.set": createTimerSet(seams, (root) => holdsSchedules && rootKindOf(root) === "schedule"),
    "schedule.next": scheduleNext,
    "catalog.seal": createCatalogSeal({
      digest: seams.digest,
      putBlob: (blob) => journal.writer.putBlob(blob),
    }),
    "agent.open": createAgentOpen(kernelOf),
    "child.start": createChildStart(kernelOf),
    "child.stop": createChildStop(kernelOf),
  };
}
