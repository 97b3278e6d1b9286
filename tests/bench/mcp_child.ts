/** The child that calls an MCP server: `mcp_child.ts sdk`, `client` or `governed`. */
import { createSystemSeams } from "../../src/system_seams.ts";
import { measureFloor } from "./floor.ts";
import { createClientSide, createSdkSide } from "./mcp_bare.ts";
import { openGovernedSide } from "./mcp_governed.ts";
import type { McpSide } from "./mcp_protocol.ts";
import { serve } from "./serve.ts";

const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "troupe-bench-mcp-" }));
const seams = createSystemSeams({ log: (event) => console.error(JSON.stringify(event)) });

function openSide(name: string | undefined): McpSide | Promise<McpSide> {
  switch (name) {
    case "sdk":
      return createSdkSide();
    case "client":
      return createClientSide(seams, `${folder}/store.db`);
    case "governed":
      return openGovernedSide({ seams, folder });
    default:
      throw new Error(`There is no side "${name}"`);
  }
}

const side = await openSide(Deno.args[0]);
await serve({
  mcp: (request) => side.measure(request),
  floor: (request) => measureFloor(request, folder),
});
await side.stop();
await Deno.remove(folder, { recursive: true });
