/** `troupe serve --mcp`: what the actor API needs in order to be spoken as MCP, on a pipe or by HTTP. */
import type { McpFeatures } from "../api/mcp/mcp_features.ts";
import type { McpPipe, McpPipeParts } from "../api/mcp/mcp_pipe.ts";
import type { McpFront } from "../api/mcp/mcp_front.ts";
import type { ActorApi } from "../api/actor_api.ts";
import { UsageError } from "./exit.ts";
import type { OptionValues } from "./options.ts";
import type { Seams } from "../seams.ts";

/** How MCP is spoken. */
export const mcpOptions = {
  mcp: {
    kind: "flag",
    help: "speak MCP on standard input and output: methods as tools, sessions as resources",
  },
  http: { kind: "flag", help: "with --mcp: by Streamable HTTP at /mcp, beside the paths of the API" },
  "suite-features": {
    kind: "flag",
    help: "with --mcp: also what the protocol's own test suite expects of a server",
    isHidden: true,
  },
} as const;

type Given = OptionValues<typeof mcpOptions>;

/** Which of the carriers speaks: on the pipe, or at a port. Refuses what does not go together. */
export function isPiped({ mcp, http, stdio, ...rest }: Given & { readonly stdio: boolean }): boolean {
  if (mcp && stdio) {
    throw new UsageError(
      "options_conflict",
      "--stdio and --mcp are two languages on one pipe: give one of them",
    );
  }
  if (!mcp && (http || rest["suite-features"])) {
    throw new UsageError(
      "option_invalid",
      "--http says how MCP is spoken: it needs --mcp; without both, HTTP is the default",
    );
  }
  return stdio || (mcp && !http);
}

/** The server at `/mcp`. */
export async function openMcpFront(
  given: Given,
  parts: { readonly api: ActorApi; readonly seams: Seams },
): Promise<McpFront> {
  const { McpFront } = await import("../api/mcp/mcp_front.ts");
  return new McpFront({ ...parts, ...await moreOf(given) });
}

/** The server on a pipe. */
export async function openMcpPipe(given: Given, parts: Omit<McpPipeParts, "more">): Promise<McpPipe> {
  const { McpPipe } = await import("../api/mcp/mcp_pipe.ts");
  return new McpPipe({ ...parts, ...await moreOf(given) });
}

async function moreOf(given: Given): Promise<{ readonly more?: McpFeatures }> {
  if (!given["suite-features"]) return {};
  const { suiteFeatures } = await import("../api/mcp/suite_features.ts");
  return { more: suiteFeatures };
}
