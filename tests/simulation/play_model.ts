/** The model of a play: it says what the scenario draws, to whatever conversation it is given. */
import type { RootAddress } from "../../schemas/ids.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { scriptedCapabilities } from "../../src/model/scripted.ts";
import type { Send } from "./attempt.ts";
import type { Life } from "./life.ts";
import type { Performed } from "./outside.ts";
import type { Scenario } from "./scenario.ts";
import { eventsOf } from "./targets.ts";

/** Options of {@linkcode playModel}. */
export interface PlayModelOptions {
  readonly life: Life;
  readonly root: RootAddress;
  readonly scenario: Scenario;
  readonly performed: readonly Performed[];
  readonly send: Send;
}

/** The model of one root in one life. */
export function playModel({ life, root, scenario, performed, send }: PlayModelOptions): ModelProvider {
  const wait = () =>
    new Promise<void>((resolve) => {
      const what = { life, name: "model", root, key: `${root} model`, fate: "no" as const };
      send(what, { apply: () => {}, answer: resolve });
    });
  return {
    name: "play",
    capabilities: { ...scriptedCapabilities, parallelToolCalls: true },
    async *generate({ messages }) {
      const call = performed.findLast((one) => one.root === root && one.port === "model.generate");
      const told = JSON.stringify(messages);
      if (call !== undefined) call.conversation = told;
      const asked = messages.findLastIndex((message) => message.role === "user");
      const step = messages.slice(asked).filter((message) => message.role === "assistant").length;
      const isChild = life.runtime?.kernel.records.get(root)?.parent !== undefined;
      await wait();
      const answer = scenario.answer(messages[asked]?.text ?? "", step, isChild);
      yield* eventsOf(answer, { place: `${asked}_${step}`, told });
    },
  };
}
