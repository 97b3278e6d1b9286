/** Sums a CPU profile of V8: the own time of each function, and of the place that it belongs to. */

/** The part of a `.cpuprofile` that is read here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
  }[];
  readonly samples: readonly number[];
  /** Microseconds from one sample to the next. */
  readonly timeDeltas: readonly number[];
}

type Frame = CpuProfile["nodes"][number]["callFrame"];

/** Places by what their addresses or names look like; the first that fits counts. */
const places: readonly (readonly [pattern: RegExp, place: string])[] = [
  [/\/tests\/|deno_node\/inspector/, "the bench itself"],
  [/^\(garbage collector\)/, "garbage collector"],
  [/^\(idle\)/, "waiting: for the disk, mostly"],
  [/^\((program|root)\)/, "native code without a name"],
  [/^(stringify|parse) $/, "JSON.parse, JSON.stringify"],
  [/\/xstate\//, "machine: XState"],
  [/\/actors\//, "machine: actors/"],
  [/\/zod\/|\/schemas\//, "schemas: zod, schemas/"],
  [/\/src\/kernel\/|\/src\/runtime\.ts/, "kernel: crank, compose, rows, dispatch"],
  [/\/src\/journal\//, "journal: writer, packing"],
  [/\/src\/effects\/|\/src\/model\/|\/src\/tools\//, "performers: model, tools, conversation"],
  [/\/src\//, "rest of src/"],
  [/ext:deno_kv/, "Deno: KV"],
  [/ext:deno_crypto|digest/, "Deno: digests"],
  [/ext:deno_web|ext:deno_webidl/, "Deno: timers, aborts, ports, encoders"],
  [/./, "Deno: the rest"],
];

/** Own time by place, in microseconds, most first. */
export function placesOf(profile: CpuProfile): readonly (readonly [place: string, microseconds: number])[] {
  return sum(profile, (frame) => {
    const text = `${frame.functionName} ${frame.url}`;
    return places.find(([pattern]) => pattern.test(text))?.[1] ?? "unknown";
  });
}

/** Own time by function, in microseconds, most first. Waiting is left out. */
export function functionsOf(profile: CpuProfile): readonly (readonly [name: string, microseconds: number])[] {
  return sum(profile, ({ functionName, url, lineNumber }) => {
    const file = url.split("/").slice(-2).join("/");
    const name = functionName === "" ? "(no name)" : functionName;
    return file === "" ? name : `${name} ${file}:${lineNumber + 1}`;
  }).filter(([name]) => name !== "(idle)" && !name.includes("inspector"));
}

function sum(profile: CpuProfile, nameOf: (frame: Frame) => string): (readonly [string, number])[] {
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map<string, number>();
  profile.samples.forEach((id, index) => {
    const name = names.get(id) ?? "unknown";
    times.set(name, (times.get(name) ?? 0) + (profile.timeDeltas[index] ?? 0));
  });
  return [...times].sort((a, b) => b[1] - a[1]);
}
