/** Where troupe's own source lies, if it runs from there. */

/** The folder of `main.ts`. Undefined in a binary and in a bundle: their modules stand in no folder of a project. */
export function sourceFolder(): string | undefined {
  if (Deno.build.standalone) return undefined;
  return /^(.*)[/\\]src[/\\]host[/\\]source_folder\.ts$/.exec(import.meta.filename ?? "")?.[1];
}
