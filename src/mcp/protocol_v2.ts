/** The protocol from 2026-07-28 on, by its SDK: no handshake, every request says all that the server has to know. */
import { modernRevision } from "../../schemas/mcp_revision.ts";
import { version } from "../version.ts";
import { EraError } from "./era_error.ts";
import { type Fields, isRecord } from "./json_bounds.ts";
import { Mouthpiece } from "./mouthpiece.ts";
import { foreverMs, type McpProtocol, rpcCodes, RpcError, type SpeakOptions } from "./protocol.ts";
import { anyResult } from "./request.ts";
import type { JSONRPCMessage } from "./sdk_v1.ts";
import { Client, ProtocolError, type TransportSendOptions } from "./sdk_v2.ts";
import type { Wire } from "./wire.ts";

const serverInfoKey = "io.modelcontextprotocol/serverInfo";

/**
 * Asks a server what it is. Rejects with `RpcError` if it refuses, with {@linkcode EraError} if its answer is none of
 * this era: only one that names the revision counts.
 */
export async function speak(wire: Wire, { capabilities = {}, signal }: SpeakOptions): Promise<McpProtocol> {
  wire.begin("modern");
  const sdk = new Client({ name: "troupe", version }, { capabilities });
  const mouth = new RawMouthpiece(wire);
  // Nothing is known yet. The SDK is told what it needs to speak at all; what the server says of itself is read here.
  const discover = { supportedVersions: [modernRevision], capabilities: {}, resultType: "complete" };
  await sdk.connect(mouth, {
    prior: { kind: "modern", discover: { ...discover, ttlMs: 0, cacheScope: "private" } },
  });
  const request: McpProtocol["request"] = async ({ method, params }, { signal, onProgress }) => {
    const told = onProgress === undefined ? {} : { onprogress: onProgress };
    try {
      return await sdk.request({ method, params }, anyResult, { signal, timeout: foreverMs, ...told });
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      if (error.data instanceof RawResult) return error.data.result;
      throw new RpcError(error.code, error.message, error.data);
    }
  };
  try {
    const discover = () => request({ method: "server/discover", params: {} }, { signal });
    // Whoever names our revision as one of his own takes it the second time.
    const found = await discover().catch((error) => {
      if (isOurs(error)) return discover();
      throw error;
    });
    return {
      ...readDiscovery(found),
      era: "modern",
      hangsUp: wire.isPerRequest,
      request,
      hear: hearing(sdk),
    };
  } catch (error) {
    await sdk.close();
    throw error;
  }
}

/** True if a server refuses our revision, and offers it. */
function isOurs(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.code !== rpcCodes.versionUnsupported) return false;
  const supported = isRecord(error.data) ? error.data["supported"] : undefined;
  return Array.isArray(supported) && supported.includes(modernRevision);
}

function readDiscovery(found: Fields): Pick<McpProtocol, "server" | "capabilities"> {
  const { supportedVersions, capabilities, _meta: meta } = found;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(modernRevision)) {
    const text = `its answer to server/discover does not name revision ${modernRevision}`;
    throw new EraError(`${text}; leave protocol out of its manifest`);
  }
  const told = isRecord(meta) ? meta[serverInfoKey] : undefined;
  const info = isRecord(told) ? told : isRecord(found["serverInfo"]) ? found["serverInfo"] : {};
  return {
    server: { name: textOf(info["name"]), version: textOf(info["version"]) },
    capabilities: isRecord(capabilities) ? capabilities : {},
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function hearing(sdk: Client): McpProtocol["hear"] {
  return (take) => {
    sdk.fallbackNotificationHandler = ({ method, params }) => {
      take({ method, params: params ?? {} });
      return Promise.resolve();
    };
  };
}

/** A result on its way past the SDK. */
class RawResult {
  readonly result: Fields;
  constructor(result: Fields) {
    this.result = result;
  }
}

/**
 * The SDK holds a result against the whole schema of the revision: one tool that is malformed costs a list, and a result
 * of a kind that it does not know is lost. So results go past it as the data of an error, which no server can send.
 */
class RawMouthpiece extends Mouthpiece {
  get hasPerRequestStream(): boolean {
    return this.wire.isPerRequest;
  }

  override send(message: JSONRPCMessage, { requestSignal }: TransportSendOptions = {}): Promise<void> {
    if (requestSignal !== undefined && "id" in message) {
      const request = Number(message.id) + this.base;
      requestSignal.addEventListener("abort", () => this.wire.forget(request), { once: true });
    }
    return super.send(message);
  }

  protected override hear(message: JSONRPCMessage): void {
    if (!("result" in message)) return super.hear(message);
    const error = { code: 0, message: "", data: new RawResult(message.result) };
    super.hear({ jsonrpc: "2.0", id: message.id, error });
  }
}
