/** A guarded client for tests: names lead where the test says, addresses to servers on loopback, time stands still. */
import assert from "node:assert/strict";
import type { UrlDecision } from "../../schemas/url_decision.ts";
import type { Endpoint } from "../../src/net/dialer.ts";
import { GuardedClient, type HttpBounds } from "../../src/net/guarded_client.ts";
import { HttpError } from "../../src/net/http_error.ts";
import { UrlPolicy } from "../../src/net/url_policy.ts";
import { createWorld, type World } from "./world.ts";

/** What a test says about its network. */
export interface GuardedSetup {
  /** Places of `network.allow`. */
  readonly allow?: readonly string[];
  /** What each name resolves to; several lists are the answers to the first, second, … question. */
  readonly names?: { readonly [name: string]: readonly (readonly string[])[] };
  /** Which port on loopback stands for an address. Others are connected to as they are. */
  readonly routes?: { readonly [address: string]: number };
  readonly bounds?: Partial<HttpBounds>;
  readonly caCerts?: readonly string[];
}

/** A client, and what it did. */
export interface Guarded {
  readonly client: GuardedClient;
  readonly world: World;
  /** What was dialed, in order. */
  readonly dialed: readonly Endpoint[];
  readonly asked: readonly string[];
  readonly decisions: readonly UrlDecision[];
}

/** Runs a test with a client that is closed at its end. */
export async function withGuarded(
  setup: GuardedSetup,
  test: (guarded: Guarded) => Promise<void>,
): Promise<void> {
  const { names = {}, routes = {}, allow = [], bounds, caCerts } = setup;
  const world = createWorld();
  const dialed: Endpoint[] = [];
  const asked: string[] = [];
  const decisions: UrlDecision[] = [];
  const client = new GuardedClient({
    policy: new UrlPolicy({ allow: [...allow] }),
    clock: world.seams.clock,
    ...(bounds ? { bounds } : {}),
    ...(caCerts ? { caCerts } : {}),
    onDecision: (decision) => void decisions.push(decision),
    resolve: (name) => {
      const answers = names[name];
      if (!answers) return Promise.reject(new Error("ENOTFOUND"));
      const times = asked.filter((other) => other === name).length;
      asked.push(name);
      return Promise.resolve(answers[Math.min(times, answers.length - 1)] ?? []);
    },
    dial: (endpoint, signal) => {
      dialed.push(endpoint);
      const port = routes[endpoint.address];
      return Deno.connect({
        hostname: port ? "127.0.0.1" : endpoint.address,
        port: port ?? endpoint.port,
        signal,
      });
    },
  });
  try {
    await test({ client, world, dialed, asked, decisions });
  } finally {
    client.close();
    // What is closed ends when the loop has been around.
    await world.settle();
  }
}

/** The error that a request or a body ends with. */
export async function failureOf(work: Promise<unknown>): Promise<HttpError> {
  const error = await work.then(() => undefined, (reason: unknown) => reason);
  assert.ok(error instanceof HttpError, `expected an HttpError, got ${error}`);
  return error;
}

/** What a promise comes to that waits for time alone: if it does not come in a few turns of the loop, it never does. */
export async function now<T>(world: World, work: Promise<T>): Promise<T> {
  let isOver = false;
  work.then(() => isOver = true, () => isOver = true);
  for (let turns = 0; turns < 100 && !isOver; turns++) await world.settle();
  assert.ok(isOver, "it is waited for without end");
  return await work;
}
