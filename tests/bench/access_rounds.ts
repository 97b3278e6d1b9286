/** What a client can read off the time of an answer: an agent of somebody else beside one that is not there (CM-19). */
import { accessLimits } from "../../schemas/access_limits.ts";
import { createApiToken } from "../../src/door/token.ts";
import { openHttpStage } from "../support/http_stage.ts";
import { byTokens, issue } from "../support/token_access.ts";
import { progress } from "./progress.ts";
import { median } from "./statistics.ts";
import { duration, times } from "./table.ts";

/** What to measure. */
export interface AccessRequest {
  readonly rounds: number;
  /** Of each side in turn, in each round. */
  readonly requests: number;
}

/** Medians over all requests, in milliseconds. */
export interface AccessFigures {
  readonly foreignMs: number;
  readonly missingMs: number;
  /** Foreign over missing: median of the rounds' own ratios of medians. */
  readonly ratio: number;
  /** A refused token beside one that opens, both among as many tokens as there may be. */
  readonly refusedMs: number;
  readonly openMs: number;
}

/** Asks for both by HTTP, one after another, in turn. */
export async function runAccessRounds({ rounds, requests }: AccessRequest): Promise<AccessFigures> {
  const stage = await openHttpStage({ ...byTokens(), rate: undefined });
  try {
    const [mine, other] = [await issue(stage, "mine"), await issue(stage, "other")];
    for (let at = 2; at < accessLimits.tokensMax; at++) await issue(stage, `p${at}`);
    const spawn = { token: other.secret, body: { agent: "tester" }, key: "k" };
    const { address } = await (await stage.ask("/agents", spawn)).json();
    const took = async (path: string, token: string) => {
      const startMs = performance.now();
      await (await stage.ask(path, { token })).arrayBuffer();
      return performance.now() - startMs;
    };
    const missing = `session/ses_${"0".repeat(26)}`;
    const wrong = await createApiToken();
    const all = {
      foreign: [] as number[],
      missing: [] as number[],
      refused: [] as number[],
      open: [] as number[],
    };
    const ratios: number[] = [];
    for (let round = -2; round < rounds; round++) {
      progress(`foreign and missing agents, round ${Math.max(0, round) + 1} of ${rounds}`);
      const [foreigns, missings]: [number[], number[]] = [[], []];
      for (let at = 0; at < requests; at++) {
        const isFirst = at % 2 === 0;
        if (isFirst) foreigns.push(await took(`/actors/${address}`, mine.secret));
        missings.push(await took(`/actors/${missing}`, mine.secret));
        if (!isFirst) foreigns.push(await took(`/actors/${address}`, mine.secret));
        if (round < 0) continue;
        all.refused.push(await took("/agents", wrong));
        all.open.push(await took("/agents", mine.secret));
      }
      if (round < 0) continue;
      ratios.push(median(foreigns) / median(missings));
      all.foreign.push(...foreigns);
      all.missing.push(...missings);
    }
    return {
      foreignMs: median(all.foreign),
      missingMs: median(all.missing),
      ratio: median(ratios),
      refusedMs: median(all.refused),
      openMs: median(all.open),
    };
  } finally {
    progress("");
    await stage.end();
  }
}

/** The figures as text. */
export function accessText({ foreignMs, missingMs, ratio, refusedMs, openMs }: AccessFigures): string {
  return `GET of an agent, ${accessLimits.tokensMax} tokens: ${duration(foreignMs)} for somebody else's, ${
    duration(missingMs)
  } for none: ${times(ratio)}\nA list with a token: ${duration(openMs)}, with a wrong one: ${
    duration(refusedMs)
  }`;
}
