/** What `deno compile` put into an executable: its settings and its files. The layout is Deno's own and of no standard. */

/** What was embedded. */
export interface Payload {
  readonly settings: Settings;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** The settings that are looked at. */
export interface Settings {
  readonly argv: readonly string[];
  readonly permissions: { readonly [name: string]: unknown };
  readonly code_cache_key: unknown;
  readonly env_vars_from_env_file: object;
  readonly unsafely_ignore_certificate_errors: unknown;
  readonly entrypoint_key: string;
  readonly node_modules: unknown;
  readonly unstable_config: { readonly features: readonly string[] };
  readonly otel_config: { readonly tracing_enabled: boolean; readonly metrics_enabled: boolean };
  readonly app_name?: string;
}

/** A node of the embedded tree: a file with the place of its bytes, or a folder. */
interface Node {
  readonly File?: { readonly n: string; readonly o: readonly [start: number, length: number] };
  readonly Dir?: { readonly n: string; readonly e: readonly Node[] };
}

const mark = new TextEncoder().encode("d3n0l4nd");
const decoder = new TextDecoder();

/** Reads it. Throws if the layout is not the one of Deno 2.9. */
export function readPayload(program: Uint8Array): Payload {
  const { settings, end } = readSettings(program);
  const opening = new TextEncoder().encode("[{");
  // Between the settings and the tree stand the packages, of which a bundle has none: a few empty sections.
  for (let at = find(program, opening, end); at >= 0 && at < end + 256; at = find(program, opening, at + 1)) {
    const tree = readJson(program, at - 8);
    if (tree === undefined) continue;
    const start = tree.end + 8;
    const length = readLength(program, tree.end);
    const last = start + length;
    if (!isAt(program, mark, last)) {
      throw new Error("Cannot read the payload: its files do not end where they should");
    }
    const files = new Map<string, Uint8Array>();
    collect(tree.value as readonly Node[], "", program.subarray(start, last), files);
    return { settings, files };
  }
  throw new Error("Cannot read the payload: no files follow its settings");
}

function readSettings(program: Uint8Array): { readonly settings: Settings; readonly end: number } {
  const text = new TextEncoder().encode('{"argv":');
  for (let at = find(program, mark, 0); at >= 0; at = find(program, mark, at + 1)) {
    const behind = at + mark.length;
    if (!isAt(program, text, behind + 8)) continue;
    const found = readJson(program, behind);
    if (found !== undefined) return { settings: found.value as Settings, end: found.end };
  }
  throw new Error("Cannot read the payload: there is none, or Deno lays it out anew");
}

/** The JSON whose length stands at a place; undefined if none does. */
function readJson(
  program: Uint8Array,
  at: number,
): { readonly value: unknown; readonly end: number } | undefined {
  const length = readLength(program, at);
  const start = at + 8;
  if (length > program.length - start) return undefined;
  try {
    return {
      value: JSON.parse(decoder.decode(program.subarray(start, start + length))),
      end: start + length,
    };
  } catch {
    return undefined;
  }
}

function readLength(program: Uint8Array, at: number): number {
  return Number(new DataView(program.buffer, program.byteOffset + at, 8).getBigUint64(0, true));
}

function collect(
  nodes: readonly Node[],
  folder: string,
  bytes: Uint8Array,
  files: Map<string, Uint8Array>,
): void {
  for (const { File: file, Dir: dir } of nodes) {
    if (file !== undefined) {
      const [start, length] = file.o;
      files.set(folder + file.n, bytes.slice(start, start + length));
    }
    if (dir !== undefined) collect(dir.e, `${folder}${dir.n}/`, bytes, files);
  }
}

function isAt(program: Uint8Array, wanted: Uint8Array, at: number): boolean {
  return wanted.every((byte, index) => program[at + index] === byte);
}

/** Where bytes stand, at the earliest from a place on; -1 if nowhere. */
function find(program: Uint8Array, wanted: Uint8Array, from: number): number {
  const [first = 0] = wanted;
  for (let at = program.indexOf(first, from); at >= 0; at = program.indexOf(first, at + 1)) {
    if (isAt(program, wanted, at)) return at;
  }
  return -1;
}
