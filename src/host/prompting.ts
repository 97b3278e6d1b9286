/** Gives prompts to sessions for clients, and tells them everything until the turn has ended, or waits for a person. */
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { TurnWait } from "../../schemas/recovery.ts";
import { KernelError } from "../kernel/kernel.ts";
import type { GivenPrompt, Runtime } from "../runtime.ts";
import { reportWhenOver } from "../lost_turn.ts";
import type { TurnReport } from "../turn_report.ts";
import { readStandingWait } from "../why/standing_wait.ts";
import { waitText } from "../why/wait_reason.ts";
import type { Answerers } from "./answerers.ts";
import type { HostEvent, PromptOrder } from "./host.ts";
import { watchRoot } from "./watch_root.ts";

/** By what prompts are given. */
export interface PromptParts {
  readonly runtime: Runtime;
  readonly answerers: Answerers;
}

/** Gives a prompt, or lets a turn go on; resolves once the turn has ended. A turn that waits for a person is told as `turn_waiting`. */
export async function givePrompt(
  { runtime, answerers }: PromptParts,
  order: PromptOrder,
  hear: (event: HostEvent) => void,
): Promise<TurnReport> {
  const { session, request, key, fromSeq } = order;
  if (!("resume" in request)) await refuseBehindWait(runtime, session);
  const stop = new AbortController();
  const leave = answerers.add(session, order.answers);
  stop.signal.addEventListener("abort", leave, { once: true });
  const goAway = () => stop.abort();
  order.gone?.addEventListener("abort", goAway, { once: true });
  const unheard = Promise.withResolvers<never>();
  unheard.promise.catch(() => {});
  const heard = (async () => {
    for await (
      const event of watchRoot(runtime, session, { fromSeq, questions: true, signal: stop.signal })
    ) {
      hear(event);
      if (event.type === "entries" && event.root === session) refuseWait(session, event.entries);
    }
  })();
  heard.catch(unheard.reject);
  try {
    const { accepted, report } = await give(runtime, session, { request, key });
    // Of a store that takes nothing is told here; once it has taken the prompt, the report is waited for.
    const taken = accepted({ hurry: false }).then(() => report);
    return await Promise.race([report, taken, unheard.promise]);
  } finally {
    stop.abort();
    order.gone?.removeEventListener("abort", goAway);
    await heard.catch(() => {}); // Everything that was said comes before the end; a failure has been told already.
  }
}

async function give(
  runtime: PromptParts["runtime"],
  session: RootAddress,
  { request, key }: Pick<PromptOrder, "request" | "key">,
): Promise<GivenPrompt> {
  if ("text" in request) return runtime.prompt(session, request.text, { key, images: request.images });
  if ("call" in request) return runtime.call(session, request.call, key);
  const sent = await runtime.send(session, { type: "session.resume" }, key);
  const report = reportWhenOver(runtime, session, sent);
  report.catch(() => {}); // Whoever wants it awaits it.
  return { accepted: sent.accepted, report };
}

/** A prompt behind a turn that waits for a person would wait as long. */
async function refuseBehindWait({ journal }: PromptParts["runtime"], session: RootAddress): Promise<void> {
  const wait = await readStandingWait(journal, session);
  if (wait?.strategy === "manual") throw waitingFor(session, wait);
}

function refuseWait(session: RootAddress, entries: readonly Entry[]): void {
  for (const { kind, type, body } of entries) {
    if (kind !== "note" || type !== "turn.waiting") continue;
    const wait = TurnWait.safeParse(body).data;
    if (wait?.strategy === "manual") throw waitingFor(session, wait);
  }
}

function waitingFor(session: RootAddress, wait: TurnWait): KernelError {
  const id = session.slice("session/".length);
  return new KernelError(
    "turn_waiting",
    `The turn ${wait.turn} waits for ${waitText(wait, session)}; troupe cancel ${id} ends it instead`,
  );
}
