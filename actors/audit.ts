/**
 * The audit of a store: which tokens open the actor API, and what was refused to whom. Its stream is the record.
 *
 *   open, for ever
 *
 * Keeps B26: what is for persons is never issued to a program or an agent.
 */
import { enqueueActions, setup } from "xstate";
import type { AuditInput, AuditMessage, TokenRecord } from "../schemas/access.ts";
import type { Json } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";
import type { Stamp } from "../schemas/message.ts";
import { changeTokens } from "./access.ts";
import { post, replyTo } from "./outbox.ts";
import { port } from "./port.ts";

/** What an audit is told. */
export type AuditEvent = AuditMessage & Stamp;

/** What an audit remembers. */
export interface AuditContext extends AuditInput {
  readonly tokens: readonly TokenRecord[];
}

/** The behaviour of one audit. Stops at 1,000 microsteps (K8). */
export const auditMachine = setup({
  types: {
    context: {} as AuditContext,
    events: {} as AuditEvent,
    input: {} as AuditInput,
    tags: "" as "rest",
  },
  actors: { port },
  actions: {
    post,
    take: enqueueActions(({ context, enqueue, event }) => {
      const { tokens, reply } = changeTokens(context.tokens, event, event.at);
      enqueue.assign({ tokens });
      if (reply === undefined) return;
      const params = replyTo(event, reply.result === "done" ? "ok" : "failed", reply as unknown as Json);
      if (params !== undefined) enqueue({ type: "post", params });
    }),
  },
}).createMachine({
  id: "audit",
  initial: "open",
  options: { maxIterations: limits.machineIterationsMax },
  context: ({ input }) => ({ ...input, tokens: [] }),
  states: {
    open: {
      tags: "rest",
      on: {
        "token.issue": { actions: "take" },
        "token.rotate": { actions: "take" },
        "token.revoke": { actions: "take" },
        "token.used": { actions: "take" },
        "access.refused": { actions: "take" },
      },
    },
  },
});
