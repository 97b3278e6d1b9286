/** Performers for runtimes of tests that have no MCP server. */
import { failure } from "../../schemas/failure.ts";
import type { PerformerResult } from "../../src/effects/performer.ts";
import type { HostPerformers } from "../../src/runtime.ts";

function refuse(): Promise<PerformerResult> {
  return Promise.resolve({
    status: "failed",
    failure: failure("mcp_unavailable", "There is no server in this test"),
  });
}

/** Refuses everything that a connection may ask for. */
export const noServers: Pick<
  HostPerformers,
  "mcp.connect" | "mcp.list" | "mcp.watch" | "mcp.close" | "mcp.call" | "mcp.task" | "model.sample"
> = {
  "mcp.connect": refuse,
  "mcp.list": refuse,
  "mcp.watch": refuse,
  "mcp.close": refuse,
  "mcp.call": refuse,
  "mcp.task": refuse,
  "model.sample": refuse,
};
