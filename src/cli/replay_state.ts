/** The states of a root's machines at one entry: as a tree, for people and for programs. */
import type { Json } from "../../schemas/json.ts";
import type { LiveRoot } from "../kernel/live_root.ts";
import { peek, peekObject, peekText } from "../peek.ts";
import { jsonLine } from "./json_line.ts";
import { cutTo } from "./table.ts";
import { safeText, type Terminal } from "./terminal.ts";

/** Longest line about one machine, in characters. */
const lineCharactersMax = 200;

/** A port that waits for its outcome. */
export interface PortState {
  readonly id: string;
  readonly port: string;
  /** Position of its intent in the stream. */
  readonly intent: string;
  readonly effect: string;
  readonly cancelAsked: boolean;
}

/** A machine: where it is, what it remembers, and those inside it. */
export interface MachineState {
  readonly id: string;
  readonly machine: string;
  readonly status: string;
  readonly state: Json;
  readonly context: Json;
  readonly machines: readonly MachineState[];
  readonly ports: readonly PortState[];
}

/** A root behind one of its entries. */
export interface RootState {
  /** The last entry that the state knows of: all that one message caused comes with it. */
  readonly seq: number;
  readonly root: MachineState;
}

/** The state of a root that was replayed. */
export function stateOf(root: LiveRoot): RootState {
  return { seq: root.seq, root: machineOf(root.address, root.kind, root.persisted()) };
}

function machineOf(id: string, machine: string, snapshot: Json): MachineState {
  const children = Object.entries(peekObject(snapshot, "children"));
  const isPort = ([, child]: readonly [string, Json]) =>
    peek(child, "snapshot", "request", "port") !== undefined;
  return {
    id,
    machine,
    status: peekText(snapshot, "status"),
    state: peek(snapshot, "value") ?? null,
    context: peek(snapshot, "context") ?? null,
    machines: children.filter((child) => !isPort(child)).map(([name, child]) =>
      machineOf(name, peekText(child, "src"), peek(child, "snapshot") ?? null)
    ),
    ports: children.filter(isPort).filter(([, child]) => peekText(child, "snapshot", "status") === "active")
      .map(([name, child]) => portOf(name, peek(child, "snapshot") ?? null)),
  };
}

function portOf(id: string, snapshot: Json): PortState {
  return {
    id,
    port: peekText(snapshot, "request", "port"),
    intent: peekText(snapshot, "id"),
    effect: peekText(snapshot, "request", "effect"),
    cancelAsked: peek(snapshot, "cancelAsked") === true,
  };
}

/** Prints the tree, a line for each machine and each port that waits. */
export function printState({ out }: Terminal, { seq, root }: RootState): void {
  out.line(`  state      at entry ${seq}`);
  for (const line of treeLines(root)) out.line(safeText(cutTo(`    ${line}`, lineCharactersMax)));
}

function treeLines(
  { id, machine, status, state, context, machines, ports }: MachineState,
): readonly string[] {
  const at = typeof state === "string" ? state : jsonLine(state);
  const over = status === "active" ? "" : ` (${status})`;
  const about = aboutOf(machine, context);
  const kind = id.startsWith(`${machine}/`) ? "" : `, ${machine}`;
  return [
    `${id}${kind}: ${at}${over}${about === "" ? "" : `, ${about}`}`,
    ...ports.map((one) =>
      `  ${one.id} waits for ${one.port} ${one.intent}, ${one.effect}${
        one.cancelAsked ? ", cancel asked" : ""
      }`
    ),
    ...machines.flatMap(treeLines).map((line) => `  ${line}`),
  ];
}

/** What tells one machine from its neighbours. */
function aboutOf(machine: string, context: Json): string {
  if (machine === "invocation") {
    const tool = peekText(context, "request", "entry", "name") || peekText(context, "request", "name");
    return `${tool} ${jsonLine(peek(context, "request", "arguments") ?? {})}, attempt ${
      peekText(context, "attempt")
    }`;
  }
  return machine === "turn" ? `step ${peekText(context, "step")}` : "";
}
