/** The state of a call that its server carries out as a task, as part of the invocation machine: it ends as `running` does. */
import type { InvocationContext } from "./invocation_context.ts";
import { followTask } from "./invocation_task.ts";

/** The task is looked after until it ends. */
export const taskStates = {
  awaitingTask: {
    invoke: {
      id: "effect",
      src: "port",
      input: ({ context }: { readonly context: InvocationContext }) => followTask(context),
      onDone: [
        { guard: "returnedError", target: "completedWithError", actions: "noteReturn" },
        { target: "succeeded", actions: "noteReturn" },
      ],
      onError: [
        { guard: "isDoubtfulTask", target: "uncertain", actions: ["noteFailure", "noteDoubt"] },
        { guard: "mayRetry", target: "backingOff", actions: "noteFailure" },
        { guard: "wasCanceled", target: "canceled", actions: "noteFailure" },
        { guard: "hasTimedOut", target: "timedOut", actions: "noteFailure" },
        { target: "failed", actions: "noteFailure" },
      ],
    },
    on: { "invocation.cancel": { actions: ["noteCancel", "cancelPort"] } },
  },
} as const;
