/** The command line of the bench. */

/** What can be left out. */
export const sections = [
  "turns",
  "governed",
  "mcp",
  "scale",
  "allocation",
  "session",
  "replay",
  "split",
  "redact",
  "catalog",
  "net",
  "models",
  "access",
  "commands",
  "tasks",
  "children",
  "authored",
  "binary",
  "api",
  "commits",
  "recovery",
  "long",
] as const;
/** A part of the bench. */
export type Section = (typeof sections)[number];

/** What was asked for. */
export interface Options {
  readonly isHelp: boolean;
  readonly isQuick: boolean;
  /** Where the figures go as JSON. */
  readonly jsonFile: string | undefined;
  readonly only: readonly Section[];
  readonly rounds: number | undefined;
  /** Leaves the peers out: they need their packages, from the cache or from the network. */
  readonly isAlone: boolean;
  readonly seed: number;
}

/** What `--help` prints. */
export const helpText = `Measures speed and sizes of governed turns.

Usage: deno task bench [options]

  --quick        Fewer rounds and turns: about two minutes, rough figures
  --only LIST    Only these parts, by commas: ${sections.join(", ")}
  --rounds N     Rounds of the parts that have rounds (default 5 to 15; quick 1 to 5)
  --alone        Without the peers, which need npm packages
  --json FILE    Writes all figures as JSON, too
  --seed N       Order of cases within the rounds (default: drawn, and printed)
  --help         Shows this

Examples:
  deno task bench --quick
  deno task bench --only replay,split
  deno task bench --only governed
  deno task bench --only mcp,scale
  deno task bench --only redact,catalog
  deno task bench --only binary
  deno task bench --only net,access,commands,tasks,children
  deno task bench --only api,authored
  deno task bench --only commits,recovery,replay,long
  deno task bench --json bench.json

It does not measure: model latency and streaming, real tools, sandboxes, a remote store,
or a power cut. Times depend on the disk and on what else the machine does; the counts do not.
`;

/** Reads the arguments. Throws with one line for the user. */
export function parseOptions(args: readonly string[]): Options {
  const found = new Map<string, string | true>();
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [name, inline] = arg.split("=", 2);
    if (name === undefined || !known.has(name)) throw new Error(`Unknown option "${arg}": see --help`);
    if (known.get(name) === "flag") found.set(name, true);
    else {
      const value = inline ?? rest.shift();
      if (value === undefined) throw new Error(`${name} needs a value: see --help`);
      found.set(name, value);
    }
  }
  const json = found.get("--json");
  return {
    isHelp: found.has("--help"),
    isQuick: found.has("--quick"),
    jsonFile: typeof json === "string" ? json : undefined,
    only: parseSections(found.get("--only")),
    rounds: parseNumber("--rounds", found.get("--rounds")),
    isAlone: found.has("--alone"),
    seed: parseNumber("--seed", found.get("--seed")) ?? Math.floor(Math.random() * 1_000_000),
  };
}

const known: ReadonlyMap<string, "flag" | "value"> = new Map([
  ["--help", "flag"],
  ["--quick", "flag"],
  ["--alone", "flag"],
  ["--json", "value"],
  ["--only", "value"],
  ["--rounds", "value"],
  ["--seed", "value"],
]);

function parseSections(text: string | true | undefined): readonly Section[] {
  if (typeof text !== "string") return sections;
  return text.split(",").map((name) => {
    const section = sections.find((one) => one === name.trim());
    if (section === undefined) throw new Error(`--only knows ${sections.join(", ")}, not "${name}"`);
    return section;
  });
}

function parseNumber(name: string, text: string | true | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new Error(`${name} must be a whole number of at least 1, not "${text}"`);
}
