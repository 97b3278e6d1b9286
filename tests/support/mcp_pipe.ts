/** A client of MCP that others wrote, over a pipe. */
export { Client } from "@modelcontextprotocol/client";
export { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
