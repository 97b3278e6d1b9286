/** What a session that was begun by the actor API is known by: its owner's name for it, and labels. */
import { z } from "zod";

/** What its owner calls a session, once among all that are his: 1 to 128 letters, digits or `_.:-`. */
export const SpawnName = z.string().regex(
  /^[A-Za-z0-9_.:-]{1,128}$/,
  "must be 1 to 128 letters, digits or _.:-",
);
/** What its owner calls a session. */
export type SpawnName = z.infer<typeof SpawnName>;

/** Labels that one session may have. */
const labelsMax = 16;

const LabelKey = z.string().regex(/^[a-z][a-z0-9_.-]{0,62}$/, "must begin with a letter: a-z, 0-9, _ . -");

/** Labels: at most 16, each value at most 128 characters. They are data for whoever lists; nothing follows from them. */
export const Labels = z.record(LabelKey, z.string().max(128))
  .refine((labels) => Object.keys(labels).length <= labelsMax, `must be at most ${labelsMax} labels`);
/** Labels. */
export type Labels = z.infer<typeof Labels>;
