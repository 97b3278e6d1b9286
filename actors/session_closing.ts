/** The last states of a child's session, as part of the session machine: what is its own ends, then its task is told. */

/** A child's session ends when its own task says so, any other when it is commanded; nobody else may. */
export const closable = {
  "session.close": [
    { guard: "hasWaiting", actions: "refuseLetter" },
    { guard: "isFromAbove", target: "closing", actions: "noteClosing" },
    { actions: "refuseLetter" },
  ],
} as const;

/** The catalog always answers; until then connections may be opening. */
export const closableLater = {
  "session.close": [
    { guard: "hasWaiting", actions: "refuseLetter" },
    { guard: "isFromAbove", actions: ["noteClosing", "refuseQueue", "tellClosing"] },
    { actions: "refuseLetter" },
  ],
} as const;

/** The turn that runs ends first: by itself, or canceled. */
export const closableNow = {
  "session.close": [
    { guard: "hasWaiting", actions: "refuseLetter" },
    { guard: "isForcedFromAbove", actions: ["noteClosing", "refuseQueue", "tellClosing", "cancelTurn"] },
    ...closableLater["session.close"],
  ],
} as const;

/** Nothing more is taken: nothing of a session that was ended begins again. */
export const closingStates = {
  closing: { // Left once nothing of its own runs.
    tags: "rest",
    entry: ["tellClosing", "refuseQueue", "endOwn"],
    always: { guard: "isOwnOver", target: "closed" },
    on: {
      "session.close": [
        { guard: "hasWaiting", actions: "refuseLetter" },
        { guard: "isCommanded", actions: "noteClosing" },
        { actions: [] },
      ],
      "session.servers": { actions: "accept" },
      "task.opened": { actions: "refuseLetter" },
    },
  },
  closed: {
    tags: "rest",
    entry: "tellClosed",
    on: {
      "session.close": { guard: "isFromAbove", actions: "tellClosed" },
      "session.servers": { actions: "accept" },
      "task.opened": { actions: "refuseLetter" },
    },
  },
} as const;
