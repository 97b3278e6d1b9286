/** A skill: a folder with `SKILL.md`, instructions that an agent looks up when it needs them. */
import { z } from "zod";
import { limits } from "./limits.ts";

/** Name of a skill, and of its folder. */
export const SkillName = z.string().regex(
  /^[a-z][a-z0-9-]{0,47}$/,
  "must be lower-case letters, digits and dashes, beginning with a letter, at most 48",
);

/** When a skill is of use, in a few sentences on one line. */
export const SkillDescription = z.string().min(1).max(limits.skillDescriptionCharactersMax);

/** The front matter of `SKILL.md`. Loose: what other programs say of a skill there is left alone. */
export const SkillHead = z.looseObject({ name: SkillName, description: SkillDescription });
/** The front matter of `SKILL.md`. */
export type SkillHead = z.infer<typeof SkillHead>;
