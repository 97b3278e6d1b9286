/** What a request of the modern era says in its headers of the message in its body, for whoever reads no bodies. */
import type { JSONRPCMessage } from "./sdk_v1.ts";

/** Which field of a request names what it is about. */
const naming: { readonly [method: string]: string } = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** `Mcp-Method` and `Mcp-Name` of a message. */
export function messageHeaders(message: JSONRPCMessage): readonly [string, string][] {
  if (!("method" in message)) return [];
  const { method, params } = message;
  const field = Object.hasOwn(naming, method) ? naming[method] : undefined;
  const name = field === undefined ? undefined : (params as { readonly [key: string]: unknown })?.[field];
  const headers: [string, string][] = [["mcp-method", encodeHeader(method)]];
  return typeof name === "string" ? [...headers, ["mcp-name", encodeHeader(name)]] : headers;
}

/** A text as a header can carry it: as it is, or as Base64 of its UTF-8 if it would not come through unchanged. */
export function encodeHeader(text: string): string {
  const isSafe = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isSafe ? text : `=?base64?${new TextEncoder().encode(text).toBase64()}?=`;
}
