/** What a call that runs a command needs besides its tool's policy: by what it asks for, and by what was found in it. */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { CommandReview } from "../../schemas/command_review.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import type { ArgumentsFinding } from "./arguments_check.ts";

/** What shell text needs besides: a program with arguments does not, unless it is a shell. */
const shell = "shell";
const shells = new Set("sh ash bash csh dash fish ksh mksh tcsh zsh busybox pwsh powershell cmd".split(" "));

/** True for calls that run a command: they are looked at before they are judged. */
export function runsCommand({ definition }: CatalogEntry): boolean {
  return definition.review === "command";
}

/** The capabilities that the arguments of a command need besides that of its tool (DM-27, DM-82). */
export function commandCapabilities(entry: CatalogEntry, given: JsonObject): readonly string[] {
  if (!runsCommand(entry)) return [];
  const bound = secretsIn(given).map(({ source }) => `secret.bind:${secretName(source)}`);
  return [...(isForShell(given) ? [shell] : []), ...new Set(bound)];
}

/** True for text of a shell, and for a shell by its name: what hides one in another program, the review finds. */
function isForShell({ shell, argv }: JsonObject): boolean {
  if (shell !== undefined) return true;
  const program = Array.isArray(argv) ? (argv as readonly Json[])[0] : undefined;
  if (typeof program !== "string") return false;
  const name = program.slice(program.replaceAll("\\", "/").lastIndexOf("/") + 1);
  return shells.has(name.toLowerCase().replace(/\.exe$/, ""));
}

/** True if a command is given secrets: that is approved anew each time (DM-39, DM-82). */
export function bindsSecrets(entry: CatalogEntry, given: JsonObject): boolean {
  return runsCommand(entry) && secretsIn(given).length > 0;
}

/** Name of a secret, from `env:NAME` or `NAME`. */
export function secretName(source: string): string {
  return source.replace(/^env:/, "");
}

/**
 * Why a command needs a person whatever the policy of its tool says, and in every mode (DM-84, DM-94). Undefined if it
 * does not.
 */
export function commandFinding(
  entry: CatalogEntry,
  given: JsonObject,
  review: CommandReview | undefined,
): (ArgumentsFinding & { readonly by: string }) | undefined {
  if (!runsCommand(entry)) return undefined;
  if (bindsSecrets(entry, given)) {
    return { policy: "prompt", by: "its secrets", why: "The command is given secrets, so a person is asked" };
  }
  if (review?.verdict === "prompt") {
    return { policy: "prompt", by: "its review", why: `The command needs a person: ${rulesOf(review)}` };
  }
  const overlay = given["env"];
  if (typeof overlay !== "object" || overlay === null || Object.keys(overlay).length === 0) return undefined;
  return {
    policy: "prompt",
    by: "its arguments",
    why: "The command is given variables, so a person is asked",
  };
}

/**
 * True if a look at the command is enough: nothing was found, and nobody but the tool itself asks for a person. What the
 * host or the agent asks for, no review answers.
 */
export function isHarmless(entry: CatalogEntry, review: CommandReview | undefined): boolean {
  return runsCommand(entry) && review?.verdict === "allow" && entry.approvalBy === "tool";
}

/** What an approval of a command is about besides its arguments, where nobody can tell from them what is run (DM-95). */
export function identityOf(review: CommandReview | undefined): string {
  return review === undefined || review.verdict === "allow" ? "" : ` ${review.identity}`;
}

/** The rules that a command meets, by name. */
export function rulesOf({ findings }: CommandReview): string {
  return [...new Set(findings.map(({ rule }) => rule))].join(", ");
}

/** Why a command is blocked, or a person is asked about it: in words, which may show pieces of it. */
export function reasonsOf({ findings }: CommandReview): string {
  return findings.map(({ rule, why }) => `${rule}: ${why}`).join("; ");
}

function secretsIn({ secrets }: JsonObject): readonly { readonly source: string }[] {
  if (!Array.isArray(secrets)) return [];
  return (secrets as readonly Json[]).flatMap((one) => {
    const { source } = Object(one) as { readonly source?: unknown };
    return typeof source === "string" ? [{ source }] : [];
  });
}
