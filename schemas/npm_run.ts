/** `run` in a manifest: a package of npm that Deno runs, and what it may reach (DM-66). */
import { z } from "zod";
import { limits } from "./limits.ts";

/** Variables that steer the runtime or its loader instead of the server: with them a manifest could undo its own jail. */
export const steering = /^(?:DENO_|NODE_(?!ENV$)|NPM_CONFIG_|LD_|DYLD_)/i;

/** A file or folder. Deno separates paths by commas, so that none may hold one. */
const JailPath = z.string().min(1).max(limits.pathCharactersMax).regex(
  /^[^,\0]+$/,
  "must be a path without a comma",
);

const NetHost = z.string().max(260).regex(
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?$/,
  "must be a host, or a host and a port",
);

const most = 64;

/**
 * A package of npm, run by Deno under its permissions. What is not named is refused by the runtime, whatever the package
 * tries: no file, no network, no other program, no foreign code.
 */
export const NpmRun = z.strictObject({
  /** Name and exact version, so that another code never takes the place of what was approved. */
  npm: z.string().max(256).regex(
    /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*@[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?$/,
    "must be a package and its exact version, such as @scope/server@1.2.3",
  ),
  args: z.array(z.string().max(32_768)).max(256).default([]),
  permissions: z.strictObject({
    /** Files and folders, from `cwd` on. They lie in the workspace, unless the host's configuration names others. */
    read: z.array(JailPath).max(most).default([]),
    write: z.array(JailPath).max(most).default([]),
    /** Hosts, with a port or for all of them. */
    net: z.array(NetHost).max(most).default([]),
    /** Variables that it may read. Without a list: all that it was given, and that is only what its manifest names. */
    env: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be the name of a variable"))
      .max(most).optional(),
  }).prefault({}),
});
/** A package of npm, run by Deno under its permissions. */
export type NpmRun = z.infer<typeof NpmRun>;

const paths = z.array(z.string().min(1).max(limits.pathCharactersMax)).max(most);

/** The real paths that a package may read and write. */
export const NpmPaths = z.strictObject({ read: paths, write: paths });
/** The real paths that a package may read and write. */
export type NpmPaths = z.infer<typeof NpmPaths>;
