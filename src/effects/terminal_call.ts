/** Calls of the tool `terminal`: the command that was judged is started, followed to its real end, and told of. */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { CommandArtifacts, OpenArtifacts } from "../commands/artifacts.ts";
import { readBound, type SecretPlaces } from "../commands/bound_secrets.ts";
import { Capture } from "../commands/capture.ts";
import { commandEnvelope, type CommandFacts, stateOf, totalsOf } from "../commands/command_result.ts";
import { bindingsOf, type CommandPlan, durationOf, planCommand, shellProgram } from "../commands/plan.ts";
import { baseEnvironment } from "../mcp/child_environment.ts";
import { findCommand } from "../processes/command.ts";
import type { CommandRun } from "../processes/command_run.ts";
import { ProcessError } from "../processes/process_error.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import { ExactRedactor } from "../redact/exact_redactor.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Seams } from "../seams.ts";
import type { Adapter, Attempt, Routed } from "./adapter.ts";

/** Time that is kept back from a call's own, to end its command and to say so. Milliseconds. */
const reserveMs = limits.commandEndingMs / 2;

/** A command that is told to stop is waited for: it can be ended, and then it is known how it did (K11). Milliseconds. */
export function graceOf({ adapter, definition }: CatalogEntry): number {
  return adapter === "builtin" && definition.review === "command" ? limits.commandEndingMs : 0;
}

/** Options of {@linkcode createTerminalCall}. */
export interface TerminalCallOptions extends SecretPlaces {
  readonly registry: Pick<ProcessRegistry, "run">;
  readonly openArtifacts: OpenArtifacts;
  readonly homeOf: (root: RootAddress) => Promise<string>;
  /** Variables that the host lets calls set. */
  readonly environment: readonly string[];
  /** Told of every value that a command was given: it is a secret from then on. */
  readonly onBound: (value: string, variable: string) => void;
  readonly redactor: Redactor;
  readonly seams: Seams;
}

/** What is ready to be started. */
interface Ready {
  readonly plan: CommandPlan;
  readonly env: { readonly [name: string]: string };
  readonly bound: { readonly [variable: string]: string };
  /** The file that will run. */
  readonly executable: string;
  readonly artifacts: CommandArtifacts;
}

/** Makes the adapter. Whatever ends before the start certainly did nothing; what was started is followed to its end. */
export function createTerminalCall(options: TerminalCallOptions): Adapter {
  return async (routed) => {
    const ready = await prepare(routed, options);
    if ("code" in ready) return { kind: "not_started", failure: ready };
    return await perform(ready, routed, options);
  };
}

async function prepare(
  { arguments: given, root, use }: Routed,
  options: TerminalCallOptions,
): Promise<Ready | Failure> {
  const { environment, readVariable, homeOf, openArtifacts, onBound, seams } = options;
  const plan = await planCommand(given, { workspace: use.cwd, environment });
  if ("code" in plan) return plan;
  let home: string;
  try {
    home = await homeOf(root);
  } catch {
    const advice = "make room, or make the store's folder writable";
    return failure("spawn_failed", `Cannot run this: its home cannot be made beside the store; ${advice}`);
  }
  const base = { ...baseEnvironment(readVariable, home), ...plan.request.env };
  const executable = findExecutable(plan, base);
  if (typeof executable !== "string") return executable;
  const bound = readBound(plan.secrets, options);
  if ("failure" in bound) return bound.failure;
  for (const [variable, value] of Object.entries(bound.values)) onBound(value, variable);
  try {
    const artifacts = await openArtifacts(root, seams.nextId("cmd"));
    return { plan, env: { ...base, ...bound.values }, bound: bound.values, executable, artifacts };
  } catch {
    const advice = "make room, or make the store's folder writable";
    return failure(
      "artifact_failed",
      `Cannot run this: its output cannot be kept beside the store; ${advice}`,
    );
  }
}

/** What would be started is looked for before anything is read or made for it (B53). */
function findExecutable({ argv, request }: CommandPlan, env: Ready["env"]): string | Failure {
  try {
    return findCommand({ command: argv[0] ?? "", cwd: request.cwd, env });
  } catch (error) {
    return spawnFailure(error, request.shell !== undefined);
  }
}

function spawnFailure(error: unknown, isShell: boolean): Failure {
  if (!(error instanceof ProcessError)) throw error;
  if (isShell && error.code === "process_command_missing") {
    const [name] = shellProgram;
    return failure(
      "shell_missing",
      `Cannot run this: there is no ${name} here; use argv, or install ${name}`,
    );
  }
  return failure("spawn_failed", error.message);
}

async function perform(ready: Ready, routed: Routed, options: TerminalCallOptions): Promise<Attempt> {
  const { use, begin, note } = routed;
  const { plan, artifacts, bound } = ready;
  const { clock } = options.seams;
  const made: { run: CommandRun | undefined } = { run: undefined };
  // What cannot be kept makes the call fail: it is ended, and drained until it is (DM-103, DM-104).
  const onFailure = () => void made.run?.stop("output_lost");
  const captures = (["stdout", "stderr"] as const).map((name) =>
    new Capture({ filters: filtersFor(bound, options.redactor), artifact: artifacts[name], onFailure })
  );
  const [stdout, stderr] = captures as [Capture, Capture];
  const timeoutMs = Math.min(durationOf(plan), Math.max(0, use.deadlineAtMs - clock.now() - reserveMs));
  const takeBack = begin();
  try {
    made.run = await start(ready, { stdout, stderr, deadlineAtMs: clock.now() + timeoutMs }, options);
  } catch (error) {
    await Promise.all(captures.map((capture) => capture.end(true)));
    if (error instanceof ProcessError && error.code === "process_unidentified") {
      return { kind: "lost", failure: failure("process_unidentified", error.message) };
    }
    takeBack();
    return { kind: "not_started", failure: spawnFailure(error, false) };
  }
  const { run } = made;
  note("command.started", { ordinal: routed.ordinal, ...auditOf(ready, timeoutMs) });
  const stop = () => void run.stop("canceled");
  use.signal.addEventListener("abort", stop, { once: true });
  if (use.signal.aborted) stop();
  if (stdout.captured.hasFailed || stderr.captured.hasFailed) onFailure();
  const end = await run.ended;
  use.signal.removeEventListener("abort", stop);
  const facts = { end, stdout: stdout.captured, stderr: stderr.captured, timeoutMs };
  note("command.ended", { ordinal: routed.ordinal, ...reportOf(facts) });
  if (!end.isGone) return { kind: "lost", failure: failure("command_interrupted", notGone) };
  return { kind: "returned", envelope: commandEnvelope(facts) };
}

const notGone =
  "The command was ended, and something that it started is still there: look for it with ps, and at what it did";

function start(
  { plan, env }: Ready,
  rest: { readonly stdout: Capture; readonly stderr: Capture; readonly deadlineAtMs: number },
  { registry }: TerminalCallOptions,
): Promise<CommandRun> {
  const [command = "", ...args] = plan.argv;
  return registry.run({ command, args, cwd: plan.request.cwd, env, ...rest });
}

/** First the very values that it was given, whatever they look like; then all that is known or looks like a secret. */
function filtersFor(bound: Ready["bound"], redactor: Redactor) {
  return [new ExactRedactor(Object.values(bound)), redactor.stream("model")];
}

/** What an auditor is told of a start: where, with which variables, by which program, with which secrets (DM-85). */
function auditOf({ plan, env, executable }: Ready, timeoutMs: number): JsonObject {
  const isShell = plan.request.shell !== undefined;
  return {
    cwd: plan.request.cwd,
    environment: Object.keys(env).sort(),
    overlay: Object.keys(plan.request.env).sort(),
    ...(isShell ? { shell: executable } : { executable }),
    timeoutMs,
    secrets: bindingsOf(plan),
  };
}

/** How it ended: the exit report (CM-118, CM-119). */
function reportOf(facts: CommandFacts): JsonObject {
  const { code, signal, reason, durationMs, leftBehind } = facts.end;
  return {
    state: stateOf(facts),
    ended: reason,
    exitCode: code,
    signal,
    durationMs,
    leftBehind,
    stdout: totalsOf(facts.stdout),
    stderr: totalsOf(facts.stderr),
  };
}
