/** A client whose server was given secrets: what it echoes of them stays here (DM-53). */
import { type Failure, reworded } from "../../schemas/failure.ts";
import type { McpCallResult, McpClient } from "./client.ts";
import { isRecord } from "./json_bounds.ts";
import { withoutSecrets, withoutSecretsDeep } from "./variables.ts";

/** Puts marks in the place of secrets in everything that a server says. Without secrets it is the client itself. */
export function redactingClient(client: McpClient, secrets: readonly string[]): McpClient {
  if (secrets.length === 0) return client;
  const clean = <T>(value: T) => withoutSecretsDeep(value, secrets);
  return {
    greeting: clean(client.greeting),
    ...(client.capabilities === undefined ? {} : { capabilities: clean(client.capabilities) }),
    isRemote: client.isRemote,
    gate: client.gate,
    ...(client.subscriptions === undefined ? {} : { subscriptions: client.subscriptions }),
    list: async (signal) => clean(await client.list(signal)),
    call: async (request) =>
      cleanResult(
        await client.call({
          ...request,
          onProgress: (message) => request.onProgress(withoutSecrets(message, secrets)),
          onStray: (result) => request.onStray?.(clean(result)),
          ...(request.onAsk === undefined ? {} : {
            onAsk: (ask) => request.onAsk?.({ ...ask, read: (key) => clean(ask.read(key)) }) ?? declined,
          }),
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
  if ("data" in result) {
    const { data, ...refused } = result;
    return {
      ...refused,
      failure: cleanFailure(result.failure, secrets),
      data: withoutSecretsDeep(data, secrets),
    };
  }
  return result.status === "returned"
    ? { ...result, result: withState(withoutSecretsDeep(result.result, secrets), result.result) }
    : { ...result, failure: cleanFailure(result.failure, secrets) };
}

const declined = Promise.resolve({ action: "decline" as const });

/** What a server wants back goes back as it came, whatever is in it; nobody is shown it. */
function withState(clean: unknown, raw: unknown): unknown {
  if (!isRecord(raw) || !isRecord(clean) || raw["resultType"] !== "input_required") return clean;
  return "requestState" in raw ? { ...clean, requestState: raw["requestState"] } : clean;
}

/** The failure with its message cleaned; the code is ours. */
export function cleanFailure(why: Failure, secrets: readonly string[]): Failure {
  return reworded(why, withoutSecrets(why.message, secrets));
}
