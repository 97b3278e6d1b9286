/** Reads the manifest of an MCP server as an operator may write it now: stricter than what older journals may hold. */
import { limits } from "../../schemas/limits.ts";
import { McpManifest } from "../../schemas/manifest.ts";
import { ConfigError, readConfigFile } from "../config_file.ts";
import { peekText } from "../peek.ts";
import { parseYaml } from "../yaml.ts";

/** A manifest whose server, if it is reached by HTTP, is at a place to which a secret may be sent (GA-8). */
const WrittenManifest = McpManifest.superRefine((manifest, { addIssue }) => {
  const problem = manifest.transport === "stdio" ? undefined : endpointProblem(manifest.url);
  if (problem !== undefined) {
    addIssue({ code: "custom", path: ["url"], message: problem, input: manifest });
  }
});

/** Transports of other hosts that nobody speaks here, and what to write instead. */
const unspoken: { readonly [transport: string]: string } = {
  ws: "a server that speaks Streamable HTTP, or a command",
  websocket: "a server that speaks Streamable HTTP, or a command",
};

/** Reads a manifest's text. Throws `ConfigError`: `transport_unsupported` for WebSockets (LC-24). */
export async function readManifest(text: string, file: string): Promise<McpManifest> {
  checkTransport(text, file);
  return await readConfigFile(WrittenManifest, text, file);
}

function checkTransport(text: string, file: string): void {
  const document = parseYaml(text, { file });
  const transport = peekText(document.value, "transport");
  const isSocket = /^wss?:/i.test(peekText(document.value, "url"));
  const instead = Object.hasOwn(unspoken, transport)
    ? unspoken[transport]
    : isSocket
    ? unspoken["ws"]
    : undefined;
  if (instead === undefined) return;
  const place = document.at([isSocket ? "url" : "transport"]);
  const at = `${file}:${place.line}:${place.column}`;
  const why = `troupe speaks no WebSocket; use ${instead}`;
  throw new ConfigError(`Cannot read "${file}": ${at}: ${why}`, file, place, "transport_unsupported");
}

/** Why a URL is none for a server: what is secret in a request would be seen, or the URL says what it must not. */
function endpointProblem(text: string): string | undefined {
  if (text.length > limits.mcpEndpointCharactersMax) {
    return `must have at most ${limits.mcpEndpointCharactersMax} characters`;
  }
  const url = URL.parse(text);
  if (url === null) return undefined; // That was said already.
  const { protocol, hostname } = url;
  if (text.includes("#")) return "must have no fragment: no server is ever sent one";
  const isLoopback = hostname === "localhost" || hostname === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname);
  return protocol === "http:" && !isLoopback
    ? "must be https: plain http is for a server on this machine (localhost, 127.0.0.1, [::1])"
    : undefined;
}
