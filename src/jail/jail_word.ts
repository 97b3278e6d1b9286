/** The word by which a binary is told to be a jail, and nothing else. */
export const jailWord = "__jail";
