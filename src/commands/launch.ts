/**
 * A command that was allowed, from its arguments to its real end, in the foreground or the background (DM-96): planned
 * anew, given what it may have, started, followed, and its outputs kept.
 */
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { exhaustionAdvice, isExhausted } from "../exhaustion.ts";
import { baseEnvironment } from "../mcp/child_environment.ts";
import { findCommand } from "../processes/command.ts";
import type { CommandRun } from "../processes/command_run.ts";
import type { OutputSink } from "../processes/drain.ts";
import { ProcessError } from "../processes/process_error.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import { ExactRedactor } from "../redact/exact_redactor.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Seams } from "../seams.ts";
import type { Workspace } from "../tools/workspace.ts";
import type { CommandArtifacts, OpenArtifacts } from "./artifacts.ts";
import { readBound, type SecretPlaces } from "./bound_secrets.ts";
import { Capture } from "./capture.ts";
import { type CommandFacts, stateOf, totalsOf } from "./command_result.ts";
import { bindingsOf, type CommandPlan, planCommand, shellProgram } from "./plan.ts";

/** What a host gives to every command. */
export interface LaunchOptions extends SecretPlaces {
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

/** A command that could be started, as far as can be told without a secret being read or a file being made. */
export interface PlannedCommand {
  readonly plan: CommandPlan;
  /** What every child has, and what the call adds. */
  readonly base: { readonly [name: string]: string };
  /** The file that will run. */
  readonly executable: string;
}

/** What is ready to be started. */
export interface ReadyCommand extends PlannedCommand {
  readonly env: { readonly [name: string]: string };
  readonly bound: { readonly [variable: string]: string };
  readonly artifacts: CommandArtifacts;
}

/** Plans the command of a call of a session. */
export async function planLaunch(
  given: JsonObject,
  { root, workspace }: { readonly root: RootAddress; readonly workspace: Workspace },
  { environment, readVariable, homeOf }: LaunchOptions,
): Promise<PlannedCommand | Failure> {
  const plan = await planCommand(given, { workspace, environment });
  if ("code" in plan) return plan;
  let home: string;
  try {
    home = await homeOf(root);
  } catch (error) {
    if (isExhausted(error)) return exhausted();
    const advice = "make room, or make the store's folder writable";
    return failure("spawn_failed", `Cannot run this: its home cannot be made beside the store; ${advice}`);
  }
  const base = { ...baseEnvironment(readVariable, home), ...plan.request.env };
  const executable = findExecutable(plan, base);
  return typeof executable === "string" ? { plan, base, executable } : executable;
}

/** Reads the secrets of a planned command, and opens the files for its outputs. `name` is unique and plain. */
export async function readyLaunch(
  planned: PlannedCommand,
  { root, name }: { readonly root: RootAddress; readonly name: string },
  options: LaunchOptions,
): Promise<ReadyCommand | Failure> {
  const bound = readBound(planned.plan.secrets, options);
  if ("failure" in bound) return bound.failure;
  for (const [variable, value] of Object.entries(bound.values)) options.onBound(value, variable);
  try {
    const artifacts = await options.openArtifacts(root, name);
    return { ...planned, env: { ...planned.base, ...bound.values }, bound: bound.values, artifacts };
  } catch (error) {
    if (isExhausted(error)) return exhausted();
    const advice = "make room, or make the store's folder writable";
    return failure(
      "artifact_failed",
      `Cannot run this: its output cannot be kept beside the store; ${advice}`,
    );
  }
}

/** What would be started is looked for before anything is read or made for it (B53). */
function findExecutable({ argv, request }: CommandPlan, env: PlannedCommand["base"]): string | Failure {
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
  if (error.code === "process_resources_exhausted") {
    return retryableFailure("resource_exhausted", error.message);
  }
  return failure("spawn_failed", error.message);
}

function exhausted(): Failure {
  return retryableFailure("resource_exhausted", `Cannot run this: ${exhaustionAdvice}`);
}

/** How a command is followed. */
export interface Following {
  readonly timeoutMs: number;
  /** After so long without output it is ended. Milliseconds. */
  readonly idleMs?: number | undefined;
  /** Aborts when nobody wants it any more. */
  readonly signal: AbortSignal;
  /** Called right before the start; what it returns takes that back, once it is certain that nothing was started. */
  readonly begin: () => () => void;
  /** Told of the start and of the end, for audits. */
  readonly note: (type: "command.started" | "command.ended", body: JsonObject) => void;
  /** Told of both outputs as they come, without secrets. */
  readonly onText?: (text: string) => void;
}

/** How a launch ended. `closed`: the runtime ends, so nothing was started. */
export type Launched =
  | { readonly kind: "ended"; readonly facts: CommandFacts }
  | { readonly kind: "not_started"; readonly failure: Failure; readonly isClosed: boolean }
  | { readonly kind: "lost"; readonly failure: Failure };

/** Starts a command and follows it until nothing of it is left. */
export async function launch(
  ready: ReadyCommand,
  how: Following,
  options: LaunchOptions,
): Promise<Launched> {
  const { timeoutMs, idleMs, signal, note } = how;
  const { clock } = options.seams;
  const made: { run: CommandRun | undefined } = { run: undefined };
  // What cannot be kept makes the call fail: it is ended, and drained until it is (DM-103, DM-104).
  const onFailure = () => void made.run?.stop("output_lost");
  const [stdout, stderr] = capturesOf(ready, { onFailure, onText: how.onText }, options);
  const progress = new Progress(clock);
  const takeBack = how.begin();
  try {
    const sinks = { stdout: progress.seen(stdout), stderr: progress.seen(stderr) };
    made.run = await start(ready, { ...sinks, deadlineAtMs: clock.now() + timeoutMs }, options);
  } catch (error) {
    await Promise.all([stdout.end(true), stderr.end(true)]);
    if (error instanceof ProcessError && error.code === "process_unidentified") {
      return { kind: "lost", failure: failure("process_unidentified", error.message) };
    }
    takeBack();
    const isClosed = error instanceof ProcessError && error.code === "process_registry_closed";
    return { kind: "not_started", failure: spawnFailure(error, false), isClosed };
  }
  const { run } = made;
  note("command.started", auditOf(ready, timeoutMs));
  const stop = () => void run.stop("canceled");
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  if (stdout.captured.hasFailed || stderr.captured.hasFailed) onFailure();
  const over = new AbortController();
  if (idleMs !== undefined) progress.watch(idleMs, over.signal, () => void run.stop("stalled"));
  const end = await run.ended;
  over.abort();
  signal.removeEventListener("abort", stop);
  const facts = { end, stdout: stdout.captured, stderr: stderr.captured, timeoutMs, idleMs };
  note("command.ended", reportOf(facts));
  if (!end.isGone) return { kind: "lost", failure: failure("command_interrupted", notGone) };
  return { kind: "ended", facts };
}

const notGone =
  "The command was ended, and something that it started is still there: look for it with ps, and at what it did";

/** Sees output come: it is how a command makes progress. */
class Progress {
  readonly #clock: Seams["clock"];
  #lastAtMs: number;

  constructor(clock: Seams["clock"]) {
    this.#clock = clock;
    this.#lastAtMs = clock.now();
  }

  seen(sink: OutputSink): OutputSink {
    return {
      push: (chunk) => {
        this.#lastAtMs = this.#clock.now();
        return sink.push(chunk);
      },
      end: (isCut) => sink.end(isCut),
    };
  }

  /** Tells once if nothing came for `idleMs`. */
  async watch(idleMs: number, signal: AbortSignal, onIdle: () => void): Promise<void> {
    while (this.#clock.now() < this.#lastAtMs + idleMs) {
      await this.#clock.sleepUntil(this.#lastAtMs + idleMs, signal);
      if (signal.aborted) return;
    }
    onIdle();
  }
}

/** First the very values that it was given, whatever they look like; then all that is known or looks like a secret. */
function capturesOf(
  { artifacts, bound }: ReadyCommand,
  told: { readonly onFailure: () => void; readonly onText: Following["onText"] },
  { redactor }: LaunchOptions,
): readonly [Capture, Capture] {
  const capture = (artifact: CommandArtifacts["stdout"]) => {
    const filters = [new ExactRedactor(Object.values(bound)), redactor.stream("model")];
    return new Capture({ filters, artifact, ...told });
  };
  return [capture(artifacts.stdout), capture(artifacts.stderr)];
}

function start(
  { plan, env }: ReadyCommand,
  rest: { readonly stdout: OutputSink; readonly stderr: OutputSink; readonly deadlineAtMs: number },
  { registry }: LaunchOptions,
): Promise<CommandRun> {
  const [command = "", ...args] = plan.argv;
  return registry.run({ command, args, cwd: plan.request.cwd, env, ...rest });
}

/** What an auditor is told of a start: where, with which variables, by which program, with which secrets (DM-85). */
function auditOf({ plan, env, executable }: ReadyCommand, timeoutMs: number): JsonObject {
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
