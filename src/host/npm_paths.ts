/** Which files a server from npm may be given: those of the workspace, and what the operator's configuration adds. */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { NpmPaths, NpmRun } from "../../schemas/npm_run.ts";
import { isAbsolute } from "./home.ts";

/** Where a server works, and what else its host lets servers have. */
export interface PathGround {
  /** The working folder of the server, real and absolute. */
  readonly cwd: string;
  /** Real, absolute folders. */
  readonly roots: readonly string[];
}

/** The real paths that a manifest asks for. What does not exist yet is where its nearest folder really is. */
export async function resolvePaths({ permissions }: NpmRun, cwd: string): Promise<NpmPaths> {
  const resolve = (paths: readonly string[]) =>
    Promise.all(paths.map((path) => realPath(isAbsolute(path) ? path : `${cwd}/${path}`)));
  return { read: await resolve(permissions.read), write: await resolve(permissions.write) };
}

/** The real paths that a manifest asks for, or why one of them is not given, whatever links say. */
export async function allowedPaths(
  server: string,
  run: NpmRun,
  { cwd, roots }: PathGround,
): Promise<NpmPaths | Failure> {
  const paths = await resolvePaths(run, cwd);
  const asked = [...run.permissions.read, ...run.permissions.write];
  for (const [at, path] of [...paths.read, ...paths.write].entries()) {
    // A link may lead to a name that Deno would read as two paths.
    if (roots.some((root) => isInside(path, root)) && !path.includes(",")) continue;
    return failure(
      "mcp_path_refused",
      `The server "${server}" is not started: its path "${
        asked[at]
      }" lies outside the workspace; name one inside, ` +
        "or let the host's server_paths allow it",
    );
  }
  return paths;
}

/** The real paths of folders; one that does not exist allows nothing. */
export async function realFolders(folders: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(folders.map((folder) => Deno.realPath(folder).catch(() => undefined)));
  return real.filter((folder) => folder !== undefined);
}

function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);
}

async function realPath(path: string): Promise<string> {
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  const missing: string[] = [];
  for (;;) {
    const known = `/${steps.join("/")}`;
    try {
      const real = await Deno.realPath(known);
      return missing.length === 0 ? real : `${real === "/" ? "" : real}/${missing.join("/")}`;
    } catch {
      const last = steps.pop();
      // A step back over what does not exist leads where nobody can say: it is refused as a path outside.
      if (last === undefined || last === "..") return "/";
      // A link without a target would be followed once the target is made.
      if (await isLink(known)) return "/";
      missing.unshift(last);
    }
  }
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await Deno.lstat(path)).isSymlink;
  } catch {
    return false;
  }
}

/** What a server from npm may reach, in words; nothing is said by an empty text. */
export function permissionRows(
  { permissions: { read, write, net, env } }: NpmRun,
): readonly (readonly [name: string, value: string])[] {
  return [
    ["reads", read.join(", ")],
    ["writes", write.join(", ")],
    ["network", net.join(", ")],
    ["sees", env === undefined ? "" : env.join(", ") || "no variable"],
  ];
}
