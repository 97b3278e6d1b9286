/** Supervision, in OTP's words. */
import { z } from "zod";
import { RootAddress } from "./ids.ts";
import { limits } from "./limits.ts";

/** Which children restart with a crashed one. */
export const Strategy = z.enum(["one_for_one", "one_for_all", "rest_for_one"]);
/** Which children restart with a crashed one. */
export type Strategy = z.infer<typeof Strategy>;

/** Which ends are answered by a restart: every one, crashes only, none. */
export const Restart = z.enum(["permanent", "transient", "temporary"]);
/** Which ends are answered by a restart. */
export type Restart = z.infer<typeof Restart>;

/** How a child comes back: from snapshot and journal, from nothing, or not at all. */
export const ComeBack = z.enum(["resume", "clean", "never"]);
/** How a child comes back. */
export type ComeBack = z.infer<typeof ComeBack>;

/** One supervised child, as data. */
export const ChildSpec = z.strictObject({
  child: RootAddress,
  restart: Restart,
  comeBack: ComeBack,
  stopGraceMs: z.int().min(0).max(600_000).default(limits.stopGraceMs),
});
/** One supervised child. */
export type ChildSpec = z.infer<typeof ChildSpec>;

/** How a supervisor restarts: at most `restartsMax` within `periodMs`, then it escalates. */
export const SupervisorPolicy = z.strictObject({
  strategy: Strategy.default("one_for_one"),
  restartsMax: z.int().min(0).max(1_000).default(limits.restartsMax),
  periodMs: z.int().min(1).default(limits.restartPeriodMs),
  backoffFirstMs: z.int().min(0).default(limits.restartBackoffFirstMs),
  backoffMsMax: z.int().min(0).default(limits.restartBackoffMsMax),
  /** Used for a child that crashed without having been added. */
  childDefault: ChildSpec.omit({ child: true }).default({
    restart: "transient",
    comeBack: "resume",
    stopGraceMs: limits.stopGraceMs,
  }),
});
/** How a supervisor restarts. */
export type SupervisorPolicy = z.infer<typeof SupervisorPolicy>;
