/** What an authored tool says of itself, and the messages between the runtime and the jail that it runs in. */
import { z } from "zod";
import { Json, JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { Capability } from "./principal.ts";
import { GovernedName } from "./governance.ts";
import { ApprovalPolicy, EffectClass, RiskLevel } from "./tool.ts";

const place = z.string().min(1).max(200);

/** A machine by name, `api.example.com`, with its port if that is not the usual one. No wildcard. */
export const DoorHost = z.string().regex(
  /^[a-z0-9](?:[a-z0-9.-]{0,198}[a-z0-9])?(?::[0-9]{1,5})?$/,
  "must be a host such as api.example.com, in lower case, with a port if it is not the usual one",
);

/** Which doors a tool wants to use, and how far: hosts, paths of the workspace (with all below), names of secrets. */
export const DoorPermissions = z.strictObject({
  net: z.array(DoorHost).max(8).default([]),
  read: z.array(place).max(8).default([]),
  write: z.array(place).max(8).default([]),
  secrets: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/)).max(8).default([]),
});
/** Which doors a tool wants to use. */
export type DoorPermissions = z.infer<typeof DoorPermissions>;

/** What a tool file says of its tool: nothing in it grants anything (DM-29). */
export const AuthoredDefinition = z.strictObject({
  name: GovernedName,
  title: z.string().max(200).default(""),
  description: z.string().min(1).max(8_000),
  /** JSON Schema of the arguments. */
  input: JsonObject,
  /** The gate before its code is run; `tool.call:<name>` if it names none (DM-28). */
  capability: Capability.optional(),
  /** What it checks itself while it runs. They never stand for the gate (DM-28). */
  capabilities: z.array(Capability).max(24).default([]),
  risk: RiskLevel.default("medium"),
  effect_class: EffectClass.exclude(["conditional"]).default("non_idempotent"),
  approval_policy: ApprovalPolicy.default("auto"),
  permissions: DoorPermissions.prefault({}),
  timeout_ms: z.int().min(1).max(limits.toolCallDurationMsMax).default(limits.toolCallDurationMsDefault),
  parallel_safe: z.boolean().default(false),
});
/** What a tool file says of its tool. */
export type AuthoredDefinition = z.infer<typeof AuthoredDefinition>;

/** What a tool may want of the runtime while it runs. */
export const DoorRequest = z.discriminatedUnion("door", [
  z.strictObject({
    door: z.literal("fetch"),
    url: z.string().max(limits.urlCharactersMax),
    method: z.string().max(20),
    headers: z.array(z.tuple([z.string().max(200), z.string().max(8_000)])).max(64),
    /** In base64. */
    body: z.string().optional(),
  }),
  z.strictObject({ door: z.literal("files.read"), path: z.string().max(limits.pathCharactersMax) }),
  z.strictObject({ door: z.literal("files.list"), path: z.string().max(limits.pathCharactersMax) }),
  z.strictObject({
    door: z.literal("files.write"),
    path: z.string().max(limits.pathCharactersMax),
    text: z.string(),
  }),
  z.strictObject({ door: z.literal("capability"), capability: z.string().max(200) }),
  z.strictObject({ door: z.literal("secret"), name: z.string().max(100) }),
]);
/** What a tool may want of the runtime while it runs. */
export type DoorRequest = z.infer<typeof DoorRequest>;

/** What comes out of the jail. */
export const JailMessage = z.discriminatedUnion("type", [
  /** The job was read: from now on code of the tool may have run. */
  z.strictObject({ type: z.literal("begun") }),
  z.strictObject({ type: z.literal("described"), definition: Json }),
  z.strictObject({ type: z.literal("result"), value: Json }),
  z.strictObject({
    type: z.literal("failed"),
    message: z.string().max(limits.toolErrorCharactersMax),
    isArguments: z.boolean(),
  }),
  z.strictObject({ type: z.literal("progress"), text: z.string().max(2_000) }),
  z.strictObject({ type: z.literal("door"), id: z.int().min(1), request: DoorRequest }),
]);
/** What comes out of the jail. */
export type JailMessage = z.infer<typeof JailMessage>;

/** The one thing that a jail is asked to do: its code is JavaScript without any import. */
export type JailJob =
  | { readonly type: "describe"; readonly code: string }
  | {
    readonly type: "execute";
    readonly code: string;
    readonly input: JsonObject;
    /** The same for every attempt of the call, for targets that deduplicate. */
    readonly key: string;
  };

/** What a door gives. */
export type DoorAnswer =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly code: string; readonly message: string };
