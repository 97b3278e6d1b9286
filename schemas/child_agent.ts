/** Child agents: who a session is a child of, and what it and its task tell each other of questions to a person. */
import { z } from "zod";
import { RootAddress } from "./ids.ts";
import { limits } from "./limits.ts";

/** Names of the agents from the root to a child. */
export const AgentPath = z.array(z.string().min(1).max(limits.agentNameShownCharactersMax))
  .max(limits.agentDepthMax + 1);
/** Names of the agents from the root to a child. */
export type AgentPath = z.infer<typeof AgentPath>;

/** Who a session is a child of. */
export const Parentage = z.strictObject({
  /** The task that runs it: the only one that may tell it anything, and that is told of its answers and its end. */
  task: RootAddress,
  /** The session that began it. */
  session: RootAddress,
  path: AgentPath,
});
/** Who a session is a child of. */
export type Parentage = z.infer<typeof Parentage>;
