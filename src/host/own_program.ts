/** How this program is started once more: what `troupe` means in a manifest. */
import type { OwnProgram } from "../mcp/connections.ts";
import type { Env } from "./home.ts";
import { sourceFolder } from "./source_folder.ts";

/** A binary is started as it is; the source, or the bundle made of it, by the Deno that runs it, with the same packages. */
export function ownProgram(env: Env): OwnProgram {
  const command = Deno.execPath();
  if (Deno.build.standalone) return { command, args: [], env: {} };
  const run = ["run", "--quiet", "--allow-all"];
  const folder = sourceFolder();
  // A bundle holds all packages, and its first module beside the others: nothing else is looked up.
  if (folder === undefined) {
    const main = new URL("./troupe.js", import.meta.url).href;
    return { command, args: [...run, "--no-config", "--no-lock", "--unstable-kv", main], env: {} };
  }
  // Without these it would look for the packages in another place, and fetch them all again.
  const names = ["DENO_DIR", "XDG_CACHE_HOME"] as const;
  const given = names.map((name) => [name, env(name) ?? ""] as const);
  // Its home is another one, where there is no cache.
  const ofCache = given.some(([, value]) => value !== "")
    ? given
    : [["DENO_DIR", defaultCache(env)] as const];
  return {
    command,
    args: [...run, "--config", `${folder}/deno.json`, `${folder}/main.ts`],
    env: Object.fromEntries(ofCache.filter(([, value]) => value !== "")),
  };
}

/** Where Deno keeps packages if nothing else is said; empty if that cannot be told. */
function defaultCache(env: Env): string {
  const [name, below] = {
    darwin: ["HOME", "Library/Caches/deno"] as const,
    windows: ["LOCALAPPDATA", "deno"] as const,
    other: ["HOME", ".cache/deno"] as const,
  }[Deno.build.os === "darwin" || Deno.build.os === "windows" ? Deno.build.os : "other"];
  const base = env(name) ?? "";
  return base === "" ? "" : `${base}/${below}`;
}
