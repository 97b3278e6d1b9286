/** The protocol up to 2025-11-25, by its SDK: a handshake, and requests behind it. */
import { modernRevision } from "../../schemas/mcp_revision.ts";
import { version } from "../version.ts";
import { EraError } from "./era_error.ts";
import { oneLine } from "./plain_text.ts";
import { anyResult } from "./request.ts";
import { Mouthpiece } from "./mouthpiece.ts";
import { foreverMs, type McpProtocol, RpcError, type SpeakOptions } from "./protocol.ts";
import { Client, type JSONRPCMessage, McpError } from "./sdk_v1.ts";
import type { Wire } from "./wire.ts";

/** Shakes hands. Rejects with `RpcError` if the server refuses. */
export async function speak(
  wire: Wire,
  { capabilities = {}, revision, onRequest }: SpeakOptions,
): Promise<McpProtocol> {
  wire.begin("legacy");
  const sdk = new Client({ name: "troupe", version }, { capabilities });
  if (onRequest !== undefined) {
    sdk.fallbackRequestHandler = async (request, { signal }) => {
      try {
        return { ...await onRequest(request, signal) };
      } catch (error) {
        throw error instanceof RpcError ? new McpError(error.code, error.message) : error;
      }
    };
  }
  const mouth = new Offer(wire, revision);
  // The signal stays with us: a handshake is not canceled by a message but by the end of the other side.
  await sdk.connect(mouth, { timeout: foreverMs }).catch((error) => {
    if (mouth.answered !== modernRevision) throw plain(error);
    throw new EraError(`it answers to the handshake with revision ${modernRevision}, which has none`);
  });
  if (revision !== undefined && wire.protocolVersion !== revision) {
    const words = `it answers with revision ${oneLine(wire.protocolVersion, 40)}, not with ${revision}`;
    throw new Error(`${words}, which protocol in its manifest asks for`);
  }
  const server = sdk.getServerVersion();
  return {
    era: "legacy",
    server: { name: server?.name ?? "", version: server?.version ?? "" },
    capabilities: sdk.getServerCapabilities() ?? {},
    hangsUp: false,
    request: ({ method, params }, { signal, onProgress }) => {
      const told = onProgress === undefined ? {} : { onprogress: onProgress };
      return sdk.request({ method, params }, anyResult, { signal, timeout: foreverMs, ...told })
        .catch((error) => {
          throw plain(error);
        });
    },
    hear: (take) => {
      sdk.fallbackNotificationHandler = ({ method, params }) => {
        take({ method, params: params ?? {} });
        return Promise.resolve();
      };
    },
  };
}

/** Offers a revision of ours, since the SDK itself always offers the newest that it knows, and sees what is answered. */
class Offer extends Mouthpiece {
  /** The revision in the server's first answer. */
  answered: unknown = undefined;
  readonly #revision: string | undefined;

  constructor(wire: Wire, revision: string | undefined) {
    super(wire);
    this.#revision = revision;
  }

  override send(message: JSONRPCMessage): Promise<void> {
    const isOffer = "method" in message && message.method === "initialize";
    if (!isOffer || this.#revision === undefined) return super.send(message);
    return super.send({ ...message, params: { ...message.params, protocolVersion: this.#revision } });
  }

  protected override hear(message: JSONRPCMessage): void {
    if ("result" in message) this.answered ??= message.result["protocolVersion"] ?? null;
    super.hear(message);
  }
}

/** The SDK puts its own words in front of a server's. */
function plain(error: unknown): unknown {
  if (!(error instanceof McpError)) return error;
  return new RpcError(error.code, error.message.replace(`MCP error ${error.code}: `, ""), error.data);
}
