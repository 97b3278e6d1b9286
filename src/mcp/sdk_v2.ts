/** The only door to `@modelcontextprotocol/client`, which speaks the revisions from 2026-07-28 on. */
export { Client, ProtocolError } from "@modelcontextprotocol/client";
export type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
