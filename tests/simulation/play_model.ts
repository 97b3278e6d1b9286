/** The model of a play: it says what the scenario draws, to whatever conversation it is given. */
import type { RootAddress } from "../../schemas/ids.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { scriptedCapabilities } from "../../src/model/scripted.ts";
import type { Send } from "./attempt.ts";
import type { Life } from "./life.ts";
import type { Performed } from "./outside.ts";
import type { Scenario } from "./scenario.ts";
import { withSecret } from "./secrets.ts";
import type { Sites } from "./sites.ts";
import { eventsOf } from "./targets.ts";

/** Options of {@linkcode playModel}. */
export interface PlayModelOptions {
  readonly life: Life;
  readonly root: RootAddress;
  readonly scenario: Scenario;
  readonly performed: readonly Performed[];
  readonly sites: Sites;
  readonly send: Send;
}

/** The model of one root in one life. */
export function playModel({ life, root, scenario, performed, sites, send }: PlayModelOptions): ModelProvider {
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
      const isPlain = answer.text.length < 100 && !answer.text.startsWith("poison");
      const text = isPlain ? withSecret(answer.text, sites) : answer.text;
      const calls = answer.calls.map((one) =>
        one.text === undefined ? one : { ...one, text: withSecret(one.text, sites) }
      );
      yield* eventsOf({ ...answer, text, calls }, { place: `${asked}_${step}`, told });
    },
  };
}
