/** What a guarded request costs beside a bare `fetch`, both from this process to one server on loopback. */
import { GuardedClient } from "../../src/net/guarded_client.ts";
import { UrlPolicy } from "../../src/net/url_policy.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { progress } from "./progress.ts";
import { median } from "./statistics.ts";
import { duration, times } from "./table.ts";

/** What to measure. */
export interface NetRequest {
  readonly rounds: number;
  /** One after another, in each round of each side. */
  readonly requests: number;
}

/** Medians of the rounds, in milliseconds a request. */
export interface NetFigures {
  readonly fetchMs: number;
  readonly guardedMs: number;
  /** Median of the rounds' own ratios: both sides of a round see the same load. */
  readonly ratio: number;
}

/** Sends small POSTs by both in turn. */
export async function runNetRounds({ rounds, requests }: NetRequest): Promise<NetFigures> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => Response.json({ got: (await request.text()).length }),
  );
  const { clock } = createSystemSeams({ log: () => {} });
  const client = new GuardedClient({ policy: new UrlPolicy({ allow: ["127.0.0.1"] }), clock });
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const took = async (send: (url: string, init: RequestInit) => Promise<Response>) => {
    const startMs = performance.now();
    for (let at = 0; at < requests; at++) await (await send(url, { method: "POST", body: "{}" })).text();
    return (performance.now() - startMs) / requests;
  };
  const samples: { readonly fetchMs: number; readonly guardedMs: number }[] = [];
  for (let round = -2; round < rounds; round++) {
    progress(`guarded requests, round ${Math.max(0, round) + 1} of ${rounds}`);
    const sample = { fetchMs: await took(fetch), guardedMs: await took(client.fetch) };
    if (round >= 0) samples.push(sample);
  }
  client.close();
  await server.shutdown();
  progress("");
  return {
    fetchMs: median(samples.map(({ fetchMs }) => fetchMs)),
    guardedMs: median(samples.map(({ guardedMs }) => guardedMs)),
    ratio: median(samples.map(({ fetchMs, guardedMs }) => guardedMs / fetchMs)),
  };
}

/** The figures as text. */
export function netText({ fetchMs, guardedMs, ratio }: NetFigures): string {
  return `A small POST on loopback, one after another: ${duration(guardedMs)} guarded, ${
    duration(fetchMs)
  } by a bare ` +
    `fetch: ${times(ratio)}`;
}
