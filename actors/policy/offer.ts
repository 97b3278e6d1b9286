/** What a question about a call offers: "always" only where one rule says exactly what would be allowed (B20, DM-39). */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { type Decision, offeredDecisions } from "../../schemas/question.ts";

/** Programs that run what they are told: whoever allows one of them allows everything. */
const interpreters = new Set(
  ("sh ash bash csh dash fish ksh mksh tcsh zsh cmd powershell pwsh command builtin exec eval source . " +
    "busybox toybox python pypy node nodejs deno bun tsx perl ruby php lua luajit tclsh expect awk gawk mawk nawk " +
    "osascript java jshell groovy scala ghci erl elixir iex julia r rscript " +
    "env xargs parallel find fd sudo doas su runuser pkexec timeout nice ionice chrt taskset nohup stdbuf setsid " +
    "time watch script flock unshare nsenter chroot setarch strace ltrace gdb systemd-run at batch crontab " +
    "ssh docker podman kubectl npx pnpx bunx uvx pipx make").split(" "),
);

/** Names of arguments that hold a command, in lower case and without `_` and `-`. */
const commandNames = new Set(
  "argv command cmd cmdline commandline program executable exec script shell".split(" "),
);

/** What makes a command line more than one plain command. */
const shellSigns = /[;&|<>`$(){}\\\n\r]/;

/** The capability of tools that run commands. */
const execution = "terminal.exec";

/** True if a call binds a secret: such an approval is never remembered (DM-39). */
export function bindsSecret({ definition: { capability = "", resources } }: CatalogEntry): boolean {
  return capability.startsWith("secret.bind:") || resources.some(({ kind }) => kind === "secret");
}

/**
 * The decisions that a question about a call offers, by the rule that "always" would add: see `ruleKey`. Without a rule,
 * or in a catalog of an earlier release, whose entries have no hash, "always" is none of them.
 */
export function offersFor({ hash }: Pick<CatalogEntry, "hash">, rule: string): readonly Decision[] {
  const all = offeredDecisions.approval;
  return rule !== "" && hash !== undefined
    ? all
    : all.filter((decision) => decision !== "always_allow_for_session");
}

/** True if a call starts a program that runs whatever it is told, or one that cannot be told apart from such. */
export function runsAnything({ definition }: CatalogEntry, callArguments: JsonObject): boolean {
  const commands = Object.entries(callArguments).filter(([name]) => isCommandName(name));
  const isExecution = definition.capability === execution ||
    (definition.capability ?? "").startsWith(`${execution}:`);
  if (isExecution && commands.length === 0) return true;
  return commands.some(([, value]) => isInterpreter(value, isExecution));
}

/** True if arguments name a command: a rule for the tool alone would then allow any. */
export function holdsCommand(callArguments: JsonObject): boolean {
  return Object.keys(callArguments).some(isCommandName);
}

function isCommandName(name: string): boolean {
  return commandNames.has(name.toLowerCase().replace(/[_-]/g, ""));
}

function isInterpreter(value: Json, isExecution: boolean): boolean {
  if (typeof value === "string") {
    if (value.trim() !== "" && isKnown(firstWord(value))) return true;
    return shellSigns.test(value) || (isExecution && value.trim() === "");
  }
  if (!Array.isArray(value)) return typeof value === "object" && value !== null;
  const [first] = value as readonly Json[];
  return typeof first === "string" ? isKnown(first) : isExecution || typeof first === "object";
}

/** The program of a command line: what comes after assignments, without quotes. */
function firstWord(line: string): string {
  const words = line.trim().split(/\s+/);
  return words.find((word) => !/^[A-Za-z_][A-Za-z0-9_]*=/.test(word)) ?? "";
}

/** True for a known program, also with a path in front, a version behind, or quotes and backslashes in between. */
function isKnown(word: string): boolean {
  const plain = word.replaceAll("\\", "/").replace(/['"]/g, "").trim();
  const name = plain.slice(plain.lastIndexOf("/") + 1).toLowerCase().replace(/\.(exe|cmd|bat|com)$/, "");
  return interpreters.has(name) || interpreters.has(name.replace(/[-.]?[0-9][0-9.]*$/, ""));
}
