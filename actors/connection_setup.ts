/** What the connection machine can ask itself and do, by name: its guards and its actions. */
import { assign, enqueueActions, setup } from "xstate";
import type { ConnectionContext, ConnectionEvent, ConnectionInput } from "./connection_context.ts";
import * as answers from "./connection_answers.ts";
import * as health from "./connection_health.ts";
import * as rules from "./connection_rules.ts";
import { post } from "./outbox.ts";
import { port } from "./port.ts";
import { questionMachine } from "./question.ts";
import * as refresh from "./refresh.ts";
import * as sessions from "./server_session.ts";
import * as subscriptions from "./subscriptions.ts";

/** Guards and actions of connections. */
export const connectionSetup = setup({
  types: {
    context: {} as ConnectionContext,
    events: {} as ConnectionEvent,
    input: {} as ConnectionInput,
    tags: "" as "rest",
  },
  actors: { port, question: questionMachine },
  guards: {
    hasObstacle: ({ context }) => rules.obstacle(context) !== null,
    needsApproval: ({ context }) => rules.needsApproval(context),
    isAllowed: ({ event }) => rules.answerIn(event).decision === "allow",
    isOther: ({ context, event }) => rules.isOther(context, event),
    isHeld: ({ context, event }) => health.isHeld(context, event),
    isRetry: ({ event }) => health.isRetry(event),
    isUpdated: ({ event }) => subscriptions.isUpdated(event),
    isIdle: ({ event }) => health.isIdle(event),
    isLastCrash: ({ context, event }) => health.isLastCrash(context, event),
    isCrash: ({ event }) => health.isCrash(event),
    isOfConfiguration: ({ context }) => health.isOfConfiguration(context.failure),
    isWornOutFailing: ({ context }) => rules.isFailing(context) && health.isWornOut(context),
    isDrifted: ({ context }) => rules.isFailing(context) && health.isDrifted(context.failure),
    isApprovable: ({ context, event }) => health.isApprovable(context, event),
    isMisdeclared: ({ context }) => rules.isFailing(context) && health.isOfConfiguration(context.failure),
    isParked: ({ context }) => context.isParking === true && !context.isAwaited && !context.isClosing,
    isReopening: ({ context }) => context.isAwaited && !context.isClosing,
    isFailing: ({ context }) => rules.isFailing(context),
    isCanceled: ({ context }) => context.isCanceled,
    isCrowded: ({ context, event }) => answers.isCrowded(context, event),
    isNoGreeting: ({ event }) => rules.greetingIn(event) === null,
    isNoListing: ({ event }) => rules.listingIn(event) === null,
    isCutOff: ({ context, event }) => rules.isCutOff(context, event),
    isUncertain: ({ event }) => rules.isUncertain(event),
    isListChanged: ({ event }) => refresh.isListChanged(event),
    isListOld: ({ context, event }) => refresh.isListOld(context, event),
    isRefetched: ({ context, event }) => refresh.isRefetched(context, event),
  },
  actions: {
    post,
    noteTime: assign(({ context, event }) =>
      "at" in event ? { at: event.at, epoch: event.epoch } : { at: context.at }
    ),
    noteAnswer: assign(({ event }) => ({ at: rules.answerIn(event).at })),
    noteSettled: assign(({ event }) => ({ at: rules.settledAt(event) })),
    noteSubscription: assign(({ context, event }) => subscriptions.withSubscription(context, event)),
    tellUpdated: enqueueActions(({ context, enqueue, event }) => {
      for (const params of subscriptions.tellUpdated(context, event)) enqueue({ type: "post", params });
    }),
    noteWaiter: assign(({ context, event }) => answers.withWaiter(context, event)),
    noteCloser: assign(({ context, event }) => answers.withCloser(context, event)),
    noteNext: assign(({ event }) => ({ next: rules.declarationIn(event) })),
    takeNext: assign(({ context }) => rules.withNext(context)),
    allow: assign({ isApproved: true }),
    noteObstacle: assign(({ context }) => ({ failure: rules.obstacle(context) })),
    noteDenial: assign(({ context, event }) => ({ failure: rules.denial(context, rules.answerIn(event)) })),
    noteFailure: assign(({ event }) => rules.failedIn(event)),
    noteFault: assign(({ context }) => ({ failure: rules.fault(context) })),
    noteFailing: assign({ isFailing: true }),
    noteInterruption: assign(({ context }) => ({ interruptions: context.interruptions + 1 })),
    noteGreeting: assign(({ context, event }) => {
      const greeted = { greeting: rules.greetingIn(event), greetedAtMs: rules.settledAt(event) };
      return { ...greeted, session: sessions.begunSession({ ...context, ...greeted }) };
    }),
    openSession: enqueueActions(({ context, enqueue }) => {
      const { session, notes } = sessions.openedSession(context);
      enqueue.assign({ session });
      for (const params of notes) enqueue({ type: "post", params });
    }),
    clearSession: enqueueActions(({ context, enqueue }) => {
      const { session, notes } = sessions.clearedSession(context);
      enqueue.assign({ session });
      for (const params of notes) enqueue({ type: "post", params });
    }),
    noteCrash: assign(({ context, event }) => health.crashed(context, event)),
    noteListingCrash: assign(({ context, event }) => health.crashedListing(context, event)),
    noteFailed: enqueueActions(({ context, enqueue }) => {
      enqueue.assign(health.failedOnce(context));
      enqueue("tellFailed");
    }),
    noteHeld: assign(({ context: { epoch = 0 } }) => ({ failedEpoch: epoch })),
    tellFailed: enqueueActions(({ context, enqueue }) => {
      for (const params of answers.failedNotes(context)) enqueue({ type: "post", params });
    }),
    noteRecovered: assign(health.recovered),
    noteQuarantine: assign(({ context }) => ({ failure: health.quarantine(context) })),
    noteParking: assign({ isParking: true }),
    forgive: assign(health.forgiven),
    noteListing: enqueueActions(({ context, enqueue, event }) => {
      const listing = rules.listingIn(event);
      const { state, note } = refresh.listed({ ...context, listing }, context.listing);
      enqueue.assign({ listing, ...state });
      enqueue({ type: "post", params: note });
    }),
    noteListOld: assign(({ context }) => refresh.oldListRule(context)),
    noteRefresh: assign(({ event }) => refresh.refreshRule(event)),
    noteListChanged: enqueueActions(({ context, enqueue }) => {
      enqueue.assign({ staleBy: "list_changed" });
      enqueue({ type: "post", params: refresh.staleOffer(context, "list_changed") });
    }),
    tellLost: enqueueActions(({ context, enqueue }) => {
      enqueue({ type: "post", params: refresh.staleOffer(context, "disconnect") });
    }),
    answerNotOpen: enqueueActions(({ enqueue, event }) => {
      for (const params of refresh.notOpen(event)) enqueue({ type: "post", params });
    }),
    launch: assign(({ context }) => rules.launched(context)),
    acknowledge: enqueueActions(({ enqueue, event }) => {
      for (const params of answers.acknowledge(event)) enqueue({ type: "post", params });
    }),
    refuseCommand: enqueueActions(({ enqueue, event }) => {
      for (const params of answers.refuse(event)) enqueue({ type: "post", params });
    }),
    openQuestion: enqueueActions(({ context, enqueue }) => {
      enqueue.spawnChild("question", { id: "question", input: rules.connectQuestion(context) });
    }),
    endQuestion: enqueueActions(({ enqueue }) => enqueue.stopChild("question")),
    cancelConnect: enqueueActions(({ enqueue }) => {
      enqueue.sendTo("connect", { type: "port.cancel" });
      enqueue.assign({ isCanceled: true });
    }),
    answerReady: enqueueActions(({ context, enqueue }) => {
      for (const params of answers.answer(context, null)) enqueue({ type: "post", params });
      enqueue.assign({ waiters: [], isAwaited: false, interruptions: 0 });
    }),
    answerFailed: enqueueActions(({ context, enqueue }) => {
      for (const params of answers.answer(context, context.failure)) enqueue({ type: "post", params });
      enqueue.assign({ waiters: [], isAwaited: false, interruptions: 0 });
    }),
    answerClosed: enqueueActions(({ context, enqueue }) => {
      if (!context.isAwaited) return;
      for (const params of answers.answer(context, rules.closed(context))) enqueue({ type: "post", params });
      enqueue.assign({ waiters: [], isAwaited: false, interruptions: 0 });
    }),
    farewell: enqueueActions(({ context, enqueue }) => {
      for (const params of answers.farewell(context)) enqueue({ type: "post", params });
      enqueue.assign({ closers: [], isClosing: false, drainMs: null });
    }),
  },
});
