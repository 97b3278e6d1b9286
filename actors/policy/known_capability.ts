/** The capabilities that there are: what an agent can be granted (DM-30). What nobody knows is a mistake, not a right. */

import { nearest } from "../nearest.ts";

/** What stands behind the colon of each key: nothing, or the name of what is granted. */
const forms = {
  "fs.read": undefined,
  "fs.write": undefined,
  "terminal.exec": undefined,
  "shell": undefined,
  "secret.bind": "NAME",
  "network.fetch": undefined,
  "schedule.manage": undefined,
  "task.control": undefined,
  "session.read": undefined,
  "tool.call": "tool",
  "mcp.connect": "server",
  "mcp.call": "server",
  "skill.activate": undefined,
  "state.core.read": undefined,
  "state.core.write": undefined,
  "state.session.read": undefined,
  "state.session.write": undefined,
  "agents.run": "core",
  "agents.spawn": "core",
} as const;

/** All capabilities, as they are written: `fs.read`, `mcp.call:<server>`. */
export const knownCapabilities: readonly string[] = Object.entries(forms).map(([key, name]) =>
  name === undefined ? key : `${key}:<${name}>`
);

/** Why a capability cannot be granted, one clause with what to write instead; undefined if it can. */
export function capabilityProblem(capability: string): string | undefined {
  const colon = capability.indexOf(":");
  const key = colon < 0 ? capability : capability.slice(0, colon);
  if (!Object.hasOwn(forms, key)) {
    const near = nearest(key, Object.keys(forms));
    const meant = near === undefined ? "" : ` (did you mean ${near}${capability.slice(key.length)}?)`;
    const known = `known are ${knownCapabilities.join(", ")}`;
    return `there is no capability ${JSON.stringify(capability)}${meant}; ${known}`;
  }
  const name = forms[key as keyof typeof forms];
  if (name === undefined) return colon < 0 ? undefined : `"${key}" has nothing behind it; write ${key}`;
  if (colon >= 0) return undefined;
  // A wildcard hands out no secret (DM-27), so none is suggested.
  const everything = key === "secret.bind" ? "" : `, or ${key}:* for all`;
  return `"${key}" needs a name behind it; write ${key}:<${name}>${everything}`;
}

/** What servers may want during a call: nothing that an agent is granted, but the host may have a rule for it (CM-34). */
const wantedByServers = /^mcp\.(?:elicit|sample|roots):[^:]+$/;

/** Why a rule of the host for a capability would never be asked, one clause; undefined if some call may need it. */
export function capabilityRuleProblem(capability: string): string | undefined {
  if (wantedByServers.test(capability)) return undefined;
  const problem = capabilityProblem(capability);
  if (problem !== undefined) return problem;
  if (capability.startsWith("mcp.connect:")) {
    return `no call needs ${JSON.stringify(capability)}: policy.connect says whether servers may be started`;
  }
  if (!capability.startsWith("secret.bind:")) return undefined;
  return `no call needs ${JSON.stringify(capability)}: only capabilities in agent.yaml give a secret`;
}
