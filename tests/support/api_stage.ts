/** The actor API over a runtime on a stage, for clients of any principal. */
import type { ApiScope } from "../../schemas/api_scope.ts";
import { ApiScope as ApiScopes } from "../../schemas/api_scope.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostConfig } from "../../schemas/config.ts";
import type { Principal } from "../../schemas/principal.ts";
import { ActorApi } from "../../src/api/actor_api.ts";
import { Fates } from "../../src/api/fates.ts";
import type { AgentShelf } from "../../src/api/agent_shelf.ts";
import type { Caller } from "../../src/api/caller.ts";
import { type ActorClient, createClient, inProcess } from "../../src/client.ts";
import { createLocalHost } from "../../src/host/local_host.ts";
import { Declarer } from "../../src/host/declarer.ts";
import { Answerers } from "../../src/host/answerers.ts";
import { TaskLogs } from "../../src/tasks/task_log.ts";
import { ProgramDesk } from "../../src/programs/program_desk.ts";
import { openStage, settled, type Stage, type StageOptions } from "./stage.ts";

/** A stage with its API. */
export interface ApiStage extends Stage {
  readonly api: ActorApi;
  /** A client of a principal; by default of a program with every right that programs may have. */
  client(by?: Partial<Caller>): ActorClient;
  /** Waits for a call while the world runs. */
  run<T>(promise: Promise<T>): Promise<T>;
}

/** A program with every right that a program may have. */
export const someProgram: Principal = { kind: "program", id: "p1" };

/** Rights of programs. */
export const programScopes: ReadonlySet<ApiScope> = new Set(
  ApiScopes.options.filter((scope) => scope !== "admin" && scope !== "approvals:decide"),
);

/** Opens a runtime on a stage, with its API. Agents that are offered: `tester`, with the tools that are named. */
export async function openApiStage(
  options: StageOptions & {
    readonly tools_of_agent?: readonly string[];
    readonly capabilities?: readonly string[];
    readonly config?: unknown;
  } = {},
): Promise<ApiStage> {
  const stage = await openStage(options);
  const { runtime, world } = stage;
  const config = HostConfig.parse(options.config ?? {});
  const declarer = new Declarer({
    policy: config.policy,
    digest: world.seams.digest,
    secrets: new Set(),
    trustFile: undefined,
  });
  const host = createLocalHost({
    runtime,
    config,
    answerers: new Answerers(),
    declarer,
    logs: new TaskLogs(),
    release: () => Promise.resolve(),
  });
  const programs = new ProgramDesk({ runtime, seams: world.seams, config });
  const onEnd = (connection: string) => programs.endConnection(connection);
  const fates = new Fates({ runtime, seams: world.seams, onEnd });
  await settled(world, Promise.all([fates.begin(), programs.begin()]));
  const api = new ActorApi({
    fates,
    programs,
    runtime,
    host,
    seams: world.seams,
    config,
    declarer,
    shelf: shelfOf(options.tools_of_agent ?? [], options.capabilities ?? []),
    mode: "default",
  });
  return {
    ...stage,
    api,
    client: ({ principal = someProgram, scopes = programScopes, connection } = {}) =>
      createClient(
        inProcess(api, { principal, scopes, connection }, () => world.seams.nextId("req")),
        () => world.seams.nextId("key"),
      ),
    run: (promise) => settled(world, promise),
  };
}

function shelfOf(tools: readonly string[], capabilities: readonly string[]): AgentShelf {
  const place = { agent: { kind: "inline" as const }, workspace: "/" };
  const definition = AgentDefinition.parse({
    name: "tester",
    model: "scripted/test",
    tools: [...tools],
    capabilities: [...capabilities],
  });
  return {
    names: ["tester"],
    place,
    find: (name) =>
      Promise.resolve(
        name === "tester"
          ? { definition, coreRevision: "core-1", home: place.agent, servers: [], place }
          : undefined,
      ),
  };
}
