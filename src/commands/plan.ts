/** A command as it would be run: where, in which environment, how long. Made before it is judged, and once more before it runs. */
import { isCommandControl } from "../../actors/variable_names.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { bindingSource, type SecretBinding, type TerminalInput, terminalInput } from "../tools/terminal.ts";
import { head, visible } from "../tools/visible.ts";
import type { Workspace } from "../tools/workspace.ts";
import type { CommandRequest } from "./request.ts";

/** The shell of shell text, and how it is started: nothing of anybody's profile is read. */
export const shellProgram = ["bash", "--noprofile", "--norc", "-c"] as const;

/** What a command is planned against. */
export interface PlanGround {
  readonly workspace: Workspace;
  /** Variables that the host lets calls set. */
  readonly environment: readonly string[];
}

/** A command that may be run, as far as its arguments go. */
export interface CommandPlan {
  readonly request: CommandRequest;
  /** Program and arguments, with the shell where there is one. */
  readonly argv: readonly string[];
  readonly secrets: readonly SecretBinding[];
}

type Times = Pick<CommandRequest, "timeoutMs" | "background">;

/** Reads the arguments of a call. Refuses what cannot or must not be run, and says what to change. Starts nothing. */
export async function planCommand(
  given: JsonObject,
  { workspace, environment }: PlanGround,
): Promise<CommandPlan | Failure> {
  const parsed = terminalInput.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return invalid(`${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`.trim());
  }
  const { argv, shell, cwd, env = {}, secrets = [] } = parsed.data;
  const times = timesOf(parsed.data);
  if ("code" in times) return times;
  if ((argv === undefined) === (shell === undefined)) return invalid("give argv or shell, one of both");
  const words = argv ?? [...shellProgram, shell ?? ""];
  const refusal = textRefusal([...words, ...Object.values(env)]) ??
    variableRefusal(env, environment) ?? secretRefusal(secrets, env, times);
  if (refusal !== undefined) return refusal;
  const folder = await workspace.realFolder(cwd);
  if (!folder.ok) return folder.failure;
  const what = argv === undefined ? { shell: shell ?? "" } : { argv };
  return { request: { ...what, cwd: folder.value, env, ...times }, argv: words, secrets };
}

/** How long it may run, and how it does in the background: what is meant for the other way is refused. */
function timesOf(
  { background, detached, timeout_ms: timeoutMs, idle_timeout_ms: idleMs }: TerminalInput,
): Times | Failure {
  if (background) {
    const idle = idleMs ?? (detached ? limits.detachedIdleMsDefault : undefined);
    return {
      timeoutMs: timeoutMs ?? limits.backgroundMsDefault,
      background: { detached, ...(idle === undefined ? {} : { idleMs: idle }) },
    };
  }
  if (detached || idleMs !== undefined) {
    return invalid("detached and idle_timeout_ms are for the background; give background too");
  }
  if (timeoutMs === undefined || timeoutMs <= limits.commandMsMax) {
    return { timeoutMs: timeoutMs ?? limits.commandMsDefault };
  }
  return invalid(`timeout_ms is at most ${limits.commandMsMax}; give background for more`);
}

/** Text reaches a program as it is, or not at all (B43). */
function textRefusal(texts: readonly string[]): Failure | undefined {
  for (const text of texts) {
    if (text.includes("\0")) {
      return invalid("a text in it holds a NUL character, which no program can be given");
    }
    if (/\p{Cs}/u.test(text)) {
      return invalid("a text in it holds half a character, which no program can be given");
    }
    if (new TextEncoder().encode(text).length > limits.commandArgumentBytesMax) {
      const most = limits.commandArgumentBytesMax;
      const message = `Cannot run this: one of its arguments has more than ${most} bytes; give it in a file`;
      return failure("argument_too_long", message);
    }
  }
  return undefined;
}

/** Names what is refused, never what it would be set to (B46). */
function variableRefusal(
  env: { readonly [name: string]: string },
  allowed: readonly string[],
): Failure | undefined {
  const names = Object.keys(env);
  if (names.length > limits.commandVariablesMax) {
    return invalid(`env sets more than ${limits.commandVariablesMax} variables`);
  }
  const control = names.find(isCommandControl);
  if (control !== undefined) {
    const why = "which decides what programs run; leave it out";
    return failure("env_key_denied", `Cannot run this: env sets ${shown(control)}, ${why}`);
  }
  const foreign = names.find((name) => !allowed.includes(name));
  if (foreign === undefined) return undefined;
  const why = "which the host does not let calls set; leave it out, or have it named in commands.environment";
  return failure("env_key_denied", `Cannot run this: env sets ${shown(foreign)}, ${why}`);
}

function secretRefusal(
  secrets: readonly SecretBinding[],
  env: { readonly [name: string]: string },
  { timeoutMs, background }: Times,
): Failure | undefined {
  if (background !== undefined && secrets.length > 0) {
    const why =
      "it goes on beside the turn that was allowed to; run it in the foreground, or leave secrets out";
    return failure("secret_binding_refused", `Cannot bind a secret to a command in the background: ${why}`);
  }
  const taken = new Set(Object.keys(env).map((name) => name.toUpperCase()));
  for (const binding of secrets) {
    const { variable, expires_s: seconds } = binding;
    const place = `Cannot bind a secret to ${shown(variable)}`;
    if (isCommandControl(variable)) {
      const why = "it decides what programs run; use another variable";
      return failure("secret_binding_refused", `${place}: ${why}`);
    }
    if (taken.has(variable.toUpperCase())) {
      return failure("secret_binding_refused", `${place}: it is given twice; use one variable for each`);
    }
    if (seconds !== undefined && seconds * 1_000 > timeoutMs) {
      const why = `it would be good for longer than the command may run; use at most ${timeoutMs / 1_000} s`;
      return failure("secret_binding_refused", `${place}: ${why}`);
    }
    taken.add(variable.toUpperCase());
  }
  return undefined;
}

/** How long a command may run: as it asks, and no longer than the first of its secrets is good for (DM-88). */
export function durationOf({ request, secrets }: CommandPlan): number {
  const ends = secrets.flatMap(({ expires_s: seconds }) => seconds === undefined ? [] : [seconds * 1_000]);
  return Math.min(request.timeoutMs, ...ends);
}

/** The names of the secrets that a command binds, as audits tell them: never a value (DM-85). */
export function bindingsOf({ secrets }: CommandPlan): readonly JsonObject[] {
  return secrets.map((binding) => ({
    variable: binding.variable,
    source: bindingSource(binding).isVariable ? binding.source : bindingSource(binding).name,
    ...(binding.expires_s === undefined ? {} : { expires_s: binding.expires_s }),
  }));
}

function invalid(why: string): Failure {
  return failure("arguments_invalid", `Cannot run this: ${why}`);
}

function shown(name: string): string {
  return head(visible(name), 128);
}
