/** Checks of what a built-in tool is called with: they can only tighten what policy resolved (DM-21). */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { ApprovalPolicy } from "../../schemas/tool.ts";

/** What the arguments ask for on their own. */
export interface ArgumentsFinding {
  /** Never `auto`: what needs nothing has no finding. */
  readonly policy: Exclude<ApprovalPolicy, "auto">;
  /** One clause for people; holds no argument. */
  readonly why: string;
}

const checks: { readonly [tool: string]: (given: JsonObject) => ArgumentsFinding | undefined } = {
  read_file: pathCheck,
  search_files: pathCheck,
  write_file: pathCheck,
  patch: pathCheck,
};

/**
 * What the arguments of a call ask for, if the tool is the runtime's own, whoever carries it out. Tools of agents,
 * programs and servers have none: of those only their policy is known.
 */
export function checkArguments(
  { canonicalName, sourceKind, governance }: CatalogEntry,
  given: JsonObject,
): ArgumentsFinding | undefined {
  const isOwn = sourceKind === "runtime" || sourceKind === "troupe" || governance === "whitelist_only";
  const check = isOwn && Object.hasOwn(checks, canonicalName) ? checks[canonicalName] : undefined;
  return check?.(given);
}

/** Actions of the runtime's own tools that only look: they need no capability (DM-16). */
const looks: { readonly [tool: string]: readonly string[] } = { schedule_manage: ["list"] };

/** True for a call of one of the runtime's own tools that only looks, by its action. */
export function isLook(
  { canonicalName, sourceKind, governance }: CatalogEntry,
  { action }: JsonObject,
): boolean {
  const isOwn = sourceKind === "troupe" || governance === "whitelist_only";
  const actions = isOwn && Object.hasOwn(looks, canonicalName) ? looks[canonicalName] : undefined;
  return typeof action === "string" && actions?.includes(action) === true;
}

/** Names of files that usually hold secrets, in lower case. */
const names = new Set([
  ".git-credentials",
  ".htpasswd",
  ".netrc",
  ".npmrc",
  ".pgpass",
  ".pypirc",
  "id_dsa",
  "id_ecdsa",
  "id_ed25519",
  "id_rsa",
]);
const endings = [".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx"];
const folders = new Set([".aws", ".gnupg", ".kube", ".ssh"]);
/** Examples of such files, which are there to be read. */
const examples = /\.(?:example|sample|template|dist)$/;

/** True if a path leads to what usually holds secrets. Knows names only: no file is looked at. */
export function isSecretPath(path: string): boolean {
  const parts = path.toLowerCase().split(/[/\\]/).filter((part) => part !== "" && part !== ".");
  const name = parts.at(-1) ?? "";
  if (parts.some((part) => folders.has(part))) return true;
  if (name === ".env" || name.startsWith(".env.")) return !examples.test(name);
  return names.has(name) || endings.some((ending) => name.endsWith(ending));
}

function pathCheck({ path }: JsonObject): ArgumentsFinding | undefined {
  if (typeof path !== "string" || !isSecretPath(path)) return undefined;
  return { policy: "prompt", why: "Files of this name usually hold secrets, so a person is asked" };
}
