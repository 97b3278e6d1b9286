/** What a host's name gives away before anybody asks a resolver: names of this machine, of private networks, of metadata. */
import { limits } from "../../schemas/limits.ts";
import type { HostKind } from "../../schemas/url_decision.ts";

const metadataNames: ReadonlySet<string> = new Set([
  "metadata",
  "metadata.google.internal",
  "metadata.goog",
  "metadata.azure.internal",
  "metadata.azure.com",
  "metadata.oraclecloud.com",
  "instance-data",
  "instance-data.ec2.internal",
]);

/** Names of which only this machine or its network knows what they mean. */
const localSuffixes = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "home.arpa",
  "lan",
  "intranet",
  "corp",
  "home",
];

const labelForm = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** A name without its last dot, and what it is called. */
export interface HostName {
  readonly name: string;
  /** `public` says only that the name may be asked for; its addresses decide. */
  readonly kind: Extract<HostKind, "public" | "metadata" | "local_name">;
}

/** Reads a name as a parsed URL holds it (lower case, punycode). Gives nothing if it cannot be a name. */
export function readHostName(host: string): HostName | undefined {
  const name = host.endsWith(".") ? host.slice(0, -1) : host;
  if (name.length === 0 || name.length > limits.hostNameCharactersMax) return undefined;
  const labels = name.split(".");
  // Empty labels: resolvers differ in what they make of them, some take the rest for a local name.
  if (labels.some((label) => label === "")) return { name, kind: "local_name" };
  if (!labels.every((label) => labelForm.test(label))) return undefined;
  const tails = labels.map((_, index) => labels.slice(index).join("."));
  if (tails.some((tail) => metadataNames.has(tail))) return { name, kind: "metadata" };
  const isLocal = labels.length === 1 || tails.some((tail) => localSuffixes.includes(tail));
  return { name, kind: isLocal ? "local_name" : "public" };
}
