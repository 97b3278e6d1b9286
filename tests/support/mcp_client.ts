/** A client of MCP that others wrote, in either era of the protocol, at the server of a stage. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { HttpStage } from "./http_stage.ts";

/** Both eras. */
export const eras = ["2025-11-25", "2026-07-28"] as const;
/** A revision of the protocol. */
export type Era = (typeof eras)[number];

/** What a tool answered. */
export interface Told {
  readonly isError: boolean;
  readonly value: { readonly [name: string]: unknown };
  /** As text, what a model reads. */
  readonly text: { readonly [name: string]: unknown };
}

/** A client, connected. It checks what is structured against the schemas that it was given. */
export interface OtherClient {
  readonly client: Client;
  call(name: string, given?: object, options?: Parameters<Client["callTool"]>[1]): Promise<Told>;
  close(): Promise<void>;
}

/** Connects as a principal of the stage. */
export async function openMcpClient(stage: HttpStage, era: Era, token = "p1"): Promise<OtherClient> {
  const client = new Client({ name: "other", version: "1" }, {
    ...(era === "2026-07-28" ? { versionNegotiation: { mode: { pin: era } } } : {}),
  });
  const transport = new StreamableHTTPClientTransport(new URL(`${stage.server.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  await client.listTools();
  return {
    client,
    call: async (name, given = {}, options) => {
      const result = await client.callTool({ name, arguments: { ...given } }, options);
      const [piece] = result.content as { readonly type: string; readonly text: string }[];
      return {
        isError: result.isError === true,
        value: (result.structuredContent ?? {}) as Told["value"],
        text: piece === undefined ? {} : JSON.parse(piece.text),
      };
    },
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

/** Plays with a client in each era. */
export async function inEachEra(
  stage: HttpStage,
  play: (client: OtherClient, era: Era) => Promise<void>,
): Promise<void> {
  for (const era of eras) {
    const client = await openMcpClient(stage, era);
    try {
      await play(client, era);
    } finally {
      await client.close();
    }
  }
}

/** An agent that reads a file first. */
export const asks = `answers:
  - calls: [{ tool: read_file, arguments: { path: a.txt } }]
  - text: Alpha
  - text: Again
  - text: And again
`;
/** Under which it needs a person for that. */
export const waits = { policy: { tools: { read_file: "prompt" } } };

/** Looks that are enough for anything: only a broken build comes near it. */
const looksMax = 2_000;

/** Waits until something is so; each look is a request, so nothing is slept through. */
export async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let looks = 0; looks < looksMax; looks++) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error("It does not come");
}
