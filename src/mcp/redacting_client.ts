/** A client whose server was given secrets: what it echoes of them stays here (DM-53). */
import { type Failure, reworded } from "../../schemas/failure.ts";
import type { McpCallResult, McpClient } from "./client.ts";
import { withoutSecrets, withoutSecretsDeep } from "./variables.ts";

/** Puts marks in the place of secrets in everything that a server says. Without secrets it is the client itself. */
export function redactingClient(client: McpClient, secrets: readonly string[]): McpClient {
  if (secrets.length === 0) return client;
  const clean = <T>(value: T) => withoutSecretsDeep(value, secrets);
  return {
    greeting: clean(client.greeting),
    ...(client.capabilities === undefined ? {} : { capabilities: clean(client.capabilities) }),
    isRemote: client.isRemote,
    ...(client.subscriptions === undefined ? {} : { subscriptions: client.subscriptions }),
    list: async (signal) => clean(await client.list(signal)),
    call: async (request) =>
      cleanResult(
        await client.call({
          ...request,
          onProgress: (message) => request.onProgress(withoutSecrets(message, secrets)),
          onStray: (result) => request.onStray?.(clean(result)),
        }),
        secrets,
      ),
    listChanged: () => client.listChanged(),
    taskTold: (task, signal) => client.taskTold(task, signal),
    closed: client.closed.then(({ failure: why, end }) => ({
      failure: cleanFailure(why, secrets),
      end: clean(end),
    })),
    close: async () => clean(await client.close()),
    kill: () => client.kill(),
  };
}

function cleanResult(result: McpCallResult, secrets: readonly string[]): McpCallResult {
  return result.status === "returned"
    ? { ...result, result: withoutSecretsDeep(result.result, secrets) }
    : { ...result, failure: cleanFailure(result.failure, secrets) };
}

/** The failure with its message cleaned; the code is ours. */
export function cleanFailure(why: Failure, secrets: readonly string[]): Failure {
  return reworded(why, withoutSecrets(why.message, secrets));
}
