/** Performers for runtimes of tests that have no MCP server and run no command. */
import { failure } from "../../schemas/failure.ts";
import type { PerformerResult } from "../../src/effects/performer.ts";
import type { HostCommands } from "../../src/host/host_performers.ts";
import { TaskLogs } from "../../src/tasks/task_log.ts";
import type { HostPerformers } from "../../src/host_services.ts";

function refuse(): Promise<PerformerResult> {
  return Promise.resolve({
    status: "failed",
    failure: failure("mcp_unavailable", "There is no server in this test"),
  });
}

/** Refuses everything that a connection may ask for, and looks at no command. */
export const noServers: Pick<
  HostPerformers,
  | "command.review"
  | "mcp.connect"
  | "mcp.list"
  | "mcp.watch"
  | "mcp.close"
  | "mcp.call"
  | "mcp.task"
  | "model.sample"
  | "task.run"
> = {
  "command.review": () =>
    Promise.resolve({
      status: "failed",
      failure: failure("tool_failed", "No command is looked at in this test"),
    }),
  "mcp.connect": refuse,
  "mcp.list": refuse,
  "mcp.watch": refuse,
  "mcp.close": refuse,
  "mcp.call": refuse,
  "mcp.task": refuse,
  "model.sample": refuse,
  "task.run": refuse,
};

/** For hosts of tests that run no command. */
export const noCommands: HostCommands = {
  registry: { run: () => Promise.reject(new Error("No command is run in this test")) },
  openArtifacts: () => Promise.reject(new Error("No output is kept in this test")),
  homeOf: () => Promise.reject(new Error("No command has a home in this test")),
  environment: [],
  goesOn: false,
  logs: new TaskLogs(),
  ownersHome: "/",
  readVariable: () => undefined,
  readSecret: () => undefined,
  onBound: () => {},
};
