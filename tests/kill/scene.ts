/** The scene of one round: a folder of its own with agents, scripts, a workspace, and the world outside. */
import { loadAgent } from "../../src/host/agent_folder.ts";
import type { SessionOrder } from "../../src/host/host.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { HttpServer, json, said } from "../support/http_server.ts";
import {
  actScript,
  applyCall,
  type Effect,
  ledgerVariable,
  listedTools,
  type Target,
  toolsByName,
} from "./outside.ts";

const seams = createSystemSeams({ log: () => {} });
const stdioServer = new URL("stdio_server.ts", import.meta.url).pathname;

/** What carries a call to the outside. */
export const carriers = ["stdio", "http", "file", "command"] as const;
/** What carries a call to the outside. */
export type Carrier = (typeof carriers)[number];

/** What a session is told by its schedule, {@linkcode scheduleS} seconds after that was made. */
export const scheduledPrompt = "The time has come";
/** Seconds, long enough to stop the owner in time. */
export const scheduleS = 3;

/** One call of a script. A child agent writes a file; a command in the background is a task; a schedule is due soon. */
export interface Step {
  readonly carrier: Carrier | "background" | "child" | "schedule";
  readonly effect: Effect;
  readonly id: string;
  /** Characters of the answer. Default few. */
  readonly size?: number;
}

/** A session as it is to be played: turns of calls, one a step. */
export interface Part {
  readonly name: string;
  readonly turns: readonly (readonly Step[])[];
}

/** The paths of a scene. */
export interface Paths extends Target {
  readonly folder: string;
  readonly store: string;
  readonly acks: string;
  readonly reached: string;
}

/** Names of the files in a round's folder. */
export function pathsIn(folder: string): Paths {
  return {
    folder,
    store: `${folder}/store.db`,
    ledger: `${folder}/ledger.jsonl`,
    hold: `${folder}/hold`,
    acks: `${folder}/acknowledged.jsonl`,
    reached: `${folder}/reached.jsonl`,
  };
}

function toolOf(effect: Effect): string {
  return Object.keys(toolsByName).find((name) => toolsByName[name] === effect) ?? "";
}

function callOf({ carrier, effect, id, size }: Step): object {
  const sized = size === undefined ? {} : { size };
  switch (carrier) {
    case "stdio":
    case "http":
      return { tool: `${carrier}__${toolOf(effect)}`, arguments: { id, ...sized } };
    case "file":
      return { tool: "write_file", arguments: { path: `${id}.txt`, content: `applied ${id}\n` } };
    case "command":
      return { tool: "terminal", arguments: { argv: ["sh", "act.sh", id] } };
    case "background":
      return { tool: "terminal", arguments: { argv: ["sh", "act.sh", id, "0.4"], background: true } };
    case "schedule":
      return {
        tool: "schedule_manage",
        arguments: { action: "create", prompt: scheduledPrompt, in_s: scheduleS },
      };
    case "child":
      return { tool: "delegate_task", arguments: { goal: `Write ${id}`, model: "scripted/child.yaml" } };
  }
}

/** The scene of a round, with the HTTP server that outlives every runtime. */
export class Scene {
  readonly paths: Paths;
  readonly #http: HttpServer;
  #inFlight = 0;

  constructor(folder: string) {
    this.paths = pathsIn(folder);
    this.#http = new HttpServer({
      list: (message) => json(message, { tools: listedTools }),
      call: async (message) => {
        const { name, arguments: given, _meta: meta } = message.params as {
          readonly name: string;
          readonly arguments: { readonly id: string; readonly size?: number };
          readonly _meta?: { readonly [key: string]: unknown };
        };
        const key = String(meta?.["troupe/idempotency-key"] ?? "");
        this.#inFlight += 1;
        try {
          const text = await applyCall(this.paths, { tool: name, id: given.id, key, size: given.size ?? 0 });
          return json(message, said(text));
        } finally {
          this.#inFlight -= 1;
        }
      },
    });
  }

  /** True while a request is at the server, whoever sent it. */
  get isBusy(): boolean {
    return this.#inFlight > 0;
  }

  /** The environment of everything that is started here. */
  get env(): { readonly [name: string]: string } {
    const { folder, store, ledger } = this.paths;
    return {
      TROUPE_STORE: store,
      XDG_CONFIG_HOME: `${folder}/config`,
      XDG_DATA_HOME: `${folder}/data`,
      NO_COLOR: "1",
      TROUPE_CONFIG: "",
      TROUPE_TRUST: "",
      TROUPE_DEBUG: "",
      [ledgerVariable]: ledger,
    };
  }

  /** Writes the agents. `asked`: carriers whose calls need a person besides those that always do. */
  async write(parts: readonly Part[], asksAlways: boolean): Promise<void> {
    const { folder } = this.paths;
    await Deno.mkdir(`${folder}/ws`, { recursive: true });
    await Deno.mkdir(`${folder}/config/troupe`, { recursive: true });
    await Deno.writeTextFile(`${folder}/ws/act.sh`, actScript(this.paths));
    const tools = ["stdio", "http"].flatMap((server) =>
      Object.entries(toolsByName).map(([tool, effect]) => [`mcp.${server}.${tool}`, effect] as const)
    );
    const policy = {
      effects: Object.fromEntries(tools),
      ...(asksAlways ? { tools: Object.fromEntries(tools.map(([tool]) => [tool, "prompt"])) } : {}),
    };
    const network = { allow: [new URL(this.#http.url).host] };
    await Deno.writeTextFile(`${folder}/config/troupe/troupe.yaml`, JSON.stringify({ policy, network }));
    for (const part of parts) await this.#writeAgent(part);
  }

  async #writeAgent({ name, turns }: Part): Promise<void> {
    const { folder, ledger, hold } = this.paths;
    const agent = `${folder}/${name}`;
    await Deno.mkdir(`${agent}/mcp`, { recursive: true });
    const steps = turns.flat();
    const uses = (carrier: string) => steps.some((step) => step.carrier === carrier);
    const files: { [path: string]: unknown } = {
      "agent.yaml": {
        name,
        model: "scripted/script.yaml",
        model_fallbacks: ["scripted/child.yaml"],
        tools: ["write_file", "terminal", "delegate_task", "schedule_manage"],
        capabilities: [
          "fs.write",
          "schedule.manage",
          "terminal.exec",
          "shell",
          `agents.spawn:${name}`,
          "mcp.connect:*",
          "mcp.call:*",
        ],
      },
      "script.yaml": {
        answers: [
          ...turns.flatMap((turn, index) => [
            ...turn.map((step) => ({ calls: [callOf(step)] })),
            { text: `turn ${index + 1} is done` },
          ]),
          { text: "there is nothing more to do" },
        ],
      },
      "child.yaml": {
        answers: [
          ...steps.filter(({ carrier }) => carrier === "child").slice(0, 1)
            .map((step) => ({ calls: [callOf({ ...step, carrier: "file" })] })),
          { text: "written" },
        ],
      },
      ...(uses("stdio")
        ? {
          "mcp/stdio.yaml": {
            command: Deno.execPath(),
            args: ["run", "-A", "--quiet", "--no-config", stdioServer, ledger, hold],
            approval_policy: "auto",
          },
        }
        : {}),
      ...(uses("http")
        ? {
          "mcp/http.yaml": { transport: "streamable_http", url: this.#http.url, approval_policy: "auto" },
        }
        : {}),
    };
    for (const [path, content] of Object.entries(files)) {
      await Deno.writeTextFile(`${agent}/${path}`, JSON.stringify(content));
    }
  }

  /** What a client orders to begin the session of a part. */
  async orderOf({ name }: Part): Promise<SessionOrder> {
    const { folder } = this.paths;
    const agent = await loadAgent(name, { cwd: folder, digest: seams.digest });
    const { definition, coreRevision, servers } = agent;
    const home = { agent: agent.home, workspace: `${folder}/ws` };
    return { agent: definition, coreRevision, home, title: name, servers };
  }

  /** Holds the targets back before or behind their effect, until `letGo`. */
  async hold(when: "before" | "after"): Promise<void> {
    await Deno.writeTextFile(this.paths.hold, when);
  }

  async letGo(): Promise<void> {
    await Deno.remove(this.paths.hold).catch(() => {});
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}
