/** `troupe replay --what-if`: the calls of a session, judged again under another policy. */
import { isInterned } from "../../actors/library.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { shelve } from "../effects/shelved.ts";
import { readPolicyFile } from "../host/home.ts";
import type { Divergence } from "../kernel/feed.ts";
import { type Decided, type Redecision, WhatIf } from "../records/what_if.ts";
import { replayStream } from "../stream_replay.ts";
import type { Cli } from "./cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { withProgress } from "./progress.ts";
import { diverged } from "./replay_text.ts";
import { openRun, type RunSource } from "./run_source.ts";
import { safeText, type Terminal } from "./terminal.ts";

/** What is to be judged again, and by which policy. */
export interface WhatIfOrder {
  readonly name: string;
  /** The file of the policy. */
  readonly policy: string;
  readonly store: string | undefined;
  readonly json: boolean;
}

/** Judges every recorded call again. Throws if some would have been decided otherwise, or could not be judged. */
export async function replayWhatIf(cli: Cli, { name, policy, store, json }: WhatIfOrder): Promise<0> {
  const judge = new WhatIf(await readPolicyFile(policy), cli.seams.digest);
  const source = await openRun(cli, name, store);
  try {
    await withProgress(cli, `judging ${source.address}`, () => judgeAll(cli, source, judge));
  } finally {
    await source.close();
  }
  const { decisions } = judge;
  const others = decisions.filter(({ before, after }) =>
    after !== undefined && after.verdict !== before.verdict
  );
  const unknown = decisions.filter(({ after }) => after === undefined);
  if (json) {
    const { address } = source;
    out(cli).line(
      jsonLine({ address, policy, calls: decisions.length, otherwise: others, notJudged: unknown }),
    );
  } else print(cli.terminal, { decisions, others, unknown });
  if (others.length > 0) {
    const message = `${others.length} of ${decisions.length} calls would have been decided otherwise`;
    throw new CheckFailedError("decisions_differ", message);
  }
  if (unknown.length > 0) {
    const message = `${unknown.length} of ${decisions.length} calls could not be judged again`;
    throw new CheckFailedError("what_if_incomplete", message);
  }
  return exitCodes.ok;
}

async function judgeAll(cli: Cli, source: RunSource, judge: WhatIf): Promise<void> {
  const { address } = source;
  const catalog: RootAddress = address.replace(/^session/, "catalog");
  const pages = address.startsWith("session/") ? source.pagesOf(catalog) : undefined;
  if (pages === undefined) {
    const why = "it needs the stream of the session's catalog: name a session of a store, or a fixture";
    throw new UsageError("option_invalid", `Cannot use --what-if for "${address}": ${why}`);
  }
  const { digest } = cli.seams;
  const loadShelved = async (hash: string) => {
    if (isInterned(hash)) return;
    const value = await source.valueOf(hash);
    if (value !== undefined) shelve(hash, value);
  };
  // States are no matter here: whoever wrote the stream, its decisions are judged again one by one.
  const rest = { digest, loadShelved, anyCode: true, acceptsState: () => true };
  const first = await replayStream({
    ...rest,
    address: catalog,
    pages,
    watch: (crank, root) => judge.watchCatalog(crank, root),
  });
  refuse(first.divergence);
  await judge.resolve();
  const second = await replayStream({
    ...rest,
    address,
    pages: source.pages,
    watch: (crank, root) => judge.watchSession(crank, root),
  });
  refuse(second.divergence);
}

/** What does not replay cannot be judged. */
function refuse(divergence: Divergence | undefined): void {
  if (divergence !== undefined) throw diverged(divergence);
}

function out({ terminal }: Cli): Terminal["out"] {
  return terminal.out;
}

interface Found {
  readonly decisions: readonly Redecision[];
  readonly others: readonly Redecision[];
  readonly unknown: readonly Redecision[];
}

function print({ out, err }: Terminal, { decisions, others, unknown }: Found): void {
  const { green, yellow } = out.style;
  if (others.length === 0) out.line(green(`${decisions.length} calls judged again, none otherwise`));
  for (const { seq, turn, ordinal, tool, before, after } of others) {
    if (after === undefined) continue;
    out.line(safeText(`entry ${seq}  turn ${turn} ${ordinal} ${tool}`));
    out.line(safeText(`    was ${decidedText(before)}`));
    out.line(yellow(safeText(`    now ${decidedText(after)}`)));
  }
  for (const { seq, tool } of unknown) {
    err.line(
      safeText(`entry ${seq} ${tool}: what is recorded does not lead to what was decided; not judged again`),
    );
  }
}

function decidedText({ verdict, by, why }: Decided): string {
  return `${verdict}${by === "" ? "" : ` by ${by}`}${why === "" ? "" : `: ${why}`}`;
}
