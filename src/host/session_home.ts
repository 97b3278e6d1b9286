/** Where a session is at home: recorded with it, so that whoever resumes it opens the same folders. */
import { z } from "zod";
import { limits } from "../../schemas/limits.ts";

const folder = z.string().min(1).max(limits.pathCharactersMax);

/** Where an agent came from, and which folder its file tools may read. Paths are absolute. */
export const SessionHome = z.strictObject({
  agent: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("folder"), path: folder }),
    z.strictObject({ kind: z.literal("embedded"), name: z.string().max(48) }),
    /** An agent that came as data: it has no files. */
    z.strictObject({ kind: z.literal("inline") }),
  ]),
  workspace: folder,
  /** A script that the operator named instead of the agent's own. */
  script: folder.optional(),
});
/** Where a session is at home. */
export type SessionHome = z.infer<typeof SessionHome>;

/** A home as the session's `home`, which is opaque to the runtime. */
export function writeHome(home: SessionHome): string {
  return JSON.stringify(home);
}

/** The same home with another workspace. One that this release did not write stays as it is. */
export function movedHome(text: string, workspace: string): string {
  const home = readHome(text);
  return home === undefined ? text : writeHome({ ...home, workspace });
}

/** Reads a session's `home`; undefined if this release did not write it. */
export function readHome(text: string): SessionHome | undefined {
  try {
    return SessionHome.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
