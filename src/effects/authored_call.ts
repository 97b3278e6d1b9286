/** Calls of authored tools: the file that was trusted, in a jail of its own, with the doors that it was granted. */
import type { HostPolicy } from "../../schemas/config.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import { openDoors } from "../authored/doors.ts";
import { toolCode } from "../authored/tool_code.ts";
import { readToolFile } from "../authored/tool_file.ts";
import type { TrustedTools } from "../authored/trusted_tools.ts";
import type { JailPool } from "../jail/jail_pool.ts";
import type { JobEnd } from "../jail/jail.ts";
import { ProcessError } from "../processes/process_error.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Seams } from "../seams.ts";
import { head, visible } from "../tools/visible.ts";
import { errorEnvelope, structuredEnvelope, textEnvelope } from "../tools/tool.ts";
import type { Adapter, Attempt, Routed } from "./adapter.ts";
import { cleanText } from "./clean.ts";

/** What calls of authored tools need. */
export interface AuthoredCallOptions {
  readonly pool: JailPool;
  readonly trusted: TrustedTools;
  /** The folder of a session's agent, a real path; undefined if it has none. */
  readonly folderOf: (root: RootAddress) => string | undefined;
  readonly policy: Pick<HostPolicy, "capabilities">;
  readonly readSecret: (name: string) => string | undefined;
  readonly onBound: (value: string, name: string) => void;
  readonly redactor: Redactor;
  readonly seams: Pick<Seams, "digest" | "log">;
}

/** Longest target of a door in a note, in characters. */
const targetCharactersMax = 300;

/** Makes the adapter. Until a door was used by which something may be applied, a call has certainly done nothing. */
export function createAuthoredCall(options: AuthoredCallOptions): Adapter {
  return async (routed) => {
    const code = await codeOf(routed, options);
    if (typeof code !== "string") return { kind: "not_started", failure: code };
    const { entry, arguments: input, use, note, ordinal } = routed;
    let hasBegun = false;
    const onDoor = openDoors({
      ...options,
      definition: entry.definition,
      use,
      begin: () => {
        if (!hasBegun) routed.begin();
        hasBegun = true;
      },
      onUse: ({ door, target, outcome }) => {
        const clean = head(visible(cleanText(options.redactor, target, "operator")), targetCharactersMax);
        note("authored.used", { ordinal, door, target: clean, outcome });
      },
    });
    const onProgress = (text: string) => use.notifications.push(text);
    const job = { type: "execute", code, input, key: use.idempotencyKey } as const;
    try {
      const end = await options.pool.run(job, { signal: use.signal, onDoor, onProgress });
      return attemptOf(end, entry.canonicalName, hasBegun);
    } catch (error) {
      if (!(error instanceof ProcessError)) throw error;
      return { kind: "not_started", failure: failure("spawn_failed", error.message) };
    }
  };
}

/** The code that the call runs: that of the file which the session's catalog was made with, if it is trusted still. */
async function codeOf(
  { root, entry, use }: Routed,
  { folderOf, trusted, seams }: AuthoredCallOptions,
): Promise<string | Failure> {
  const { origin: file, fingerprint = "" } = entry.provenance;
  const folder = folderOf(root);
  if (folder === undefined || use.agent_folder === undefined) {
    return failure("tool_changed", `Cannot run ${file}: the folder of the agent is gone`);
  }
  const read = await readToolFile(use.agent_folder, { folder, file }, seams.digest);
  if ("problem" in read) return failure("tool_changed", `Cannot run ${file}: ${read.problem}`);
  if (read.fingerprint !== fingerprint) {
    const message =
      `The file ${file} was changed since the session began: look at it with troupe trust, and begin a new session`;
    return failure("tool_changed", message);
  }
  const found = await trusted.find(fingerprint);
  if (found === undefined) {
    return failure(
      "tool_not_trusted",
      `The file ${file} is not trusted any more: look at it with troupe trust`,
    );
  }
  if ("code" in found) return found;
  const looked = await toolCode(file, read.text);
  return "message" in looked ? looked : looked.code;
}

function attemptOf(end: JobEnd, name: string, hasBegun: boolean): Attempt {
  switch (end.type) {
    case "result":
      return { kind: "returned", envelope: envelopeOf(end.value) };
    case "failed": {
      const code = end.isArguments ? "arguments_invalid" : "tool_failed";
      return { kind: "returned", envelope: errorEnvelope(failure(code, visible(end.message))) };
    }
    default: {
      const why = end.type === "broken" ? end.why : "it answered what it was not asked";
      const broken = failure("tool_jail_ended", `The tool "${name}" ended without a result: ${why}`);
      return { kind: hasBegun ? "lost" : "not_started", failure: broken };
    }
  }
}

/** A tool gives a value, and nothing but a value: what it looks like makes it no envelope (DM-48). */
function envelopeOf(value: Extract<JobEnd, { type: "result" }>["value"]): ToolResultEnvelope {
  if (value === null) return textEnvelope("[the tool gave nothing]");
  return typeof value === "string" ? textEnvelope(value) : structuredEnvelope(value);
}
