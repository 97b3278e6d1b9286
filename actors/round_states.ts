/**
 * The states of a call whose server wants something first, as part of the invocation machine.
 *
 *   replying -> asking | sampling -> replying -> binding
 */
import type { InvocationContext } from "./invocation_context.ts";
import { sampleCall } from "./invocation_rounds.ts";

/** What is wanted is answered one by one: by rule, by a person, or by the model; then the call goes on. */
export const roundStates = {
  replying: {
    always: [
      { guard: "isRoundAnswered", target: "binding" },
      { guard: "wantsModel", target: "sampling" },
      { target: "asking" },
    ],
  },
  sampling: {
    invoke: {
      id: "sample",
      src: "port",
      input: ({ context }: { readonly context: InvocationContext }) => sampleCall(context),
      onDone: { target: "replying", actions: "noteSample" },
      onError: { target: "replying", actions: "noteSample" },
    },
    // A model call harms nobody, so it may be dropped (K11).
    on: { "invocation.cancel": { target: "binding", actions: ["noteCancel", "giveUpRound"] } },
  },
  asking: {
    entry: "openRequest",
    on: {
      "question.decided": { target: "replying", actions: "noteAnswer" },
      "invocation.cancel": {
        target: "binding",
        actions: ["withdrawQuestion", "noteCancel", "giveUpRound"],
      },
    },
  },
} as const;
