/** A play about background tasks: tools open them, their work ends well or breaks off, and models are told of each end. */
import type { PlannedCommand, Scenario, Tool } from "./scenario.ts";

/** Opens a task. Tried again after a crash, it is the same one (GA-54). */
export const hire: Tool = {
  name: "hire",
  effect: "conditional",
  mechanism: "key",
  parallelSafe: true,
  opensTask: true,
};

/** Two sessions that open tasks, one turn that is canceled meanwhile, and a last prompt once everything has ended. */
export function taskScenario(): Scenario {
  const prompt = (key: string, text: string, to = 0, after: readonly string[] = []): PlannedCommand => ({
    key,
    to,
    kind: "prompt",
    text: `${text} ${key}`,
    after,
  });
  const last = { after: ["k1", "k2", "k3", "k4"], during: "nothing that ever runs" };
  return {
    sessions: 2,
    tools: [hire],
    commands: [
      prompt("k1", "hire"),
      prompt("k2", "hire", 1),
      prompt("k3", "hire", 0, ["k1"]),
      { key: "k4", to: 0, kind: "cancel", text: "enough", after: ["k1"], during: "harm" },
      { ...prompt("k5", "plain"), ...last },
      { ...prompt("k6", "plain", 1), ...last },
    ],
    answer: (text, step) => {
      const calls = text.startsWith("hire") && step === 0 ? ["a", "b"] : [];
      return { text: `answer ${step}`, calls: calls.map((one) => ({ tool: "hire", text: one })) };
    },
    fate: () => "ok",
    work: (text) => text === "b" ? "breaks" : "exits",
    isSlow: () => false,
    decide: ({ kind }) => kind === "approval" ? "allow" : "mark_applied",
  };
}
