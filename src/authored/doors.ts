/** The doors of one call: each opens as far as the definition, the agent's grants and the host's policy all say. */
import { matchCapability } from "../../actors/policy/capability.ts";
import type { DoorAnswer, DoorRequest } from "../../schemas/authored.ts";
import type { HostPolicy } from "../../schemas/config.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { HttpError } from "../net/http_error.ts";
import { accept } from "../tools/path.ts";
import type { ToolUseContext } from "../tools/tool.ts";
import { doorKinds } from "./described_tool.ts";

/** What the doors of a call are made of. */
export interface DoorsOptions {
  readonly definition: ToolDefinition;
  readonly use: ToolUseContext;
  readonly policy: Pick<HostPolicy, "capabilities">;
  /** The value of a secret of the host; undefined if it has none of that name. */
  readonly readSecret: (name: string) => string | undefined;
  /** Told of a value that is given away: from then on it is taken out of all that is written. */
  readonly onBound: (value: string, name: string) => void;
  /** To be called right before anything may be applied. */
  readonly begin: () => void;
  /** Told of every use: which door, what for, and what came of it. */
  readonly onUse: (use: { readonly door: string; readonly target: string; readonly outcome: string }) => void;
}

/** Why a door stays closed. */
class DoorClosed extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Makes what answers a tool while it runs. Every use is told of, also one that is refused. */
export function openDoors(options: DoorsOptions): (request: DoorRequest) => Promise<DoorAnswer> {
  return async (request) => {
    const about = { door: request.door, target: targetOf(request) };
    try {
      const value = await pass(request, options);
      options.onUse({ ...about, outcome: "ok" });
      return { ok: true, value };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) {
        options.onUse({ ...about, outcome: "failed" });
        throw error;
      }
      options.onUse({ ...about, outcome: refusal.code });
      return { ok: false, code: refusal.code, message: refusal.message };
    }
  };
}

function refusalOf(error: unknown): { readonly code: string; readonly message: string } | undefined {
  if (error instanceof HttpError) return error.failure;
  return error instanceof DoorClosed ? { code: error.code, message: error.message } : undefined;
}

/** What a use is about, without what may be secret: of an address no query and no login. */
function targetOf(request: DoorRequest): string {
  switch (request.door) {
    case "fetch": {
      if (!URL.canParse(request.url)) return request.method;
      const { origin, pathname } = new URL(request.url);
      return `${request.method} ${origin}${pathname}`;
    }
    case "capability":
      return request.capability;
    case "secret":
      return request.name;
    default:
      return request.path;
  }
}

async function pass(request: DoorRequest, options: DoorsOptions): Promise<Json> {
  const { use, begin } = options;
  switch (request.door) {
    case "capability":
      need(request.capability, options);
      return true;
    case "secret":
      return secretOf(request.name, options);
    case "files.read": {
      const read = await use.cwd.readText(placeOf(request.path, "read", options));
      return read.ok ? read.value.text : closed(read.failure);
    }
    case "files.list": {
      const listed = await use.cwd.listFolder(placeOf(request.path, "read", options));
      return listed.ok ? listed.value.map(({ name, kind }) => ({ name, kind })) : closed(listed.failure);
    }
    case "files.write": {
      const path = placeOf(request.path, "write", options);
      begin();
      const written = await use.cwd.changeText(path, () => accept(request.text));
      return written.ok ? written.value.bytes : closed(written.failure);
    }
    case "fetch":
      return await send(request, options);
  }
}

function closed({ code, message }: Failure): never {
  throw new DoorClosed(code, message);
}

/** The capability must be one that the tool names, one that the agent was granted, and none that the host denies. */
function need(capability: string, { definition, use, policy }: DoorsOptions): void {
  const asked = definition.capabilities ?? [];
  if (!asked.includes(capability)) {
    throw new DoorClosed("capability_missing", `The tool does not name the capability "${capability}"`);
  }
  if (matchCapability(use.permission_context.capabilities, capability) === undefined) {
    throw new DoorClosed("capability_missing", `The agent does not have the capability "${capability}"`);
  }
  const rule = policy.capabilities[matchCapability(Object.keys(policy.capabilities), capability) ?? ""];
  if (rule === "deny") {
    throw new DoorClosed("policy_denied", `The host's policy denies the capability "${capability}"`);
  }
}

function namedBy(door: keyof typeof doorKinds, { definition }: DoorsOptions): readonly string[] {
  return definition.resources.filter(({ kind }) => kind === doorKinds[door]).map(({ scope }) => scope);
}

function secretOf(name: string, options: DoorsOptions): string {
  if (!namedBy("secrets", options).includes(name)) {
    throw new DoorClosed("capability_missing", `The tool's permissions.secrets do not name "${name}"`);
  }
  need(`secret.bind:${name}`, options);
  const value = options.readSecret(name);
  if (value === undefined) throw new DoorClosed("secret_unavailable", `The host has no secret "${name}"`);
  options.onBound(value, name);
  return value;
}

/** The plain form of a path that the tool's permissions name, or something below it. */
function placeOf(path: string, door: "read" | "write", options: DoorsOptions): string {
  const relative = options.use.cwd.relative(path);
  if (!relative.ok) return closed(relative.failure);
  const plain = relative.value;
  const isNamed = namedBy(door, options).some((place) => {
    const named = options.use.cwd.relative(place);
    return named.ok && (named.value === "" || plain === named.value || plain.startsWith(`${named.value}/`));
  });
  if (!isNamed) {
    throw new DoorClosed("capability_missing", `The tool's permissions.${door} do not name "${plain}"`);
  }
  need(door === "read" ? "fs.read" : "fs.write", options);
  return plain === "" ? "." : plain;
}

/** A request goes to a host that the tool names, and follows no redirect by itself: the tool sees where one leads. */
async function send(
  { url, method, headers, body }: Extract<DoorRequest, { door: "fetch" }>,
  options: DoorsOptions,
): Promise<Json> {
  const host = URL.canParse(url) ? new URL(url).host : "";
  if (!namedBy("net", options).includes(host)) {
    throw new DoorClosed("capability_missing", `The tool's permissions.net do not name "${host}"`);
  }
  need("network.fetch", options);
  options.begin();
  const { use } = options;
  const init: RequestInit = {
    method,
    headers: [...headers],
    redirect: "manual",
    signal: use.signal,
    ...(body === undefined ? {} : { body: Uint8Array.fromBase64(body) }),
  };
  const answer = await use.fetch(url, init, { bodyBytesMax: limits.webBodyBytesMax });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return { status: answer.status, headers: [...answer.headers], body: bytes.toBase64() };
}
