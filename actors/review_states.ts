/** The state of a call that is looked at before it is judged, as part of the invocation machine. */
import type { InvocationContext } from "./invocation_context.ts";
import { reviewCall } from "./invocation_review.ts";

/** What cannot be looked at is denied. */
export const reviewStates = {
  reviewing: {
    invoke: {
      id: "review",
      src: "port",
      input: ({ context }: { readonly context: InvocationContext }) => reviewCall(context),
      onDone: { target: "authorizing", actions: "noteReview" },
      onError: { target: "denied", actions: "refuseUnreviewed" },
    },
    on: { "invocation.cancel": { target: "canceled", actions: ["noteCancel", "noteCanceled"] } },
  },
} as const;
