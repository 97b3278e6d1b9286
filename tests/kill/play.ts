/** What all kinds of rounds are played with: the scene, the client, the processes, and what is found to be broken. */
import type { Decision } from "../../schemas/question.ts";
import type { ActingHost } from "../../src/host/host.ts";
import { Client, type Decide } from "./client.ts";
import { type CrashPlan, planVariable } from "./crash_plan.ts";
import type { Draw } from "./draw.ts";
import { findLeft } from "./judges.ts";
import { pause } from "./pause.ts";
import { type KillableProcess, startOwner, startTroupe } from "./process.ts";
import { Scene } from "./scene.ts";

/** A broken promise. */
export interface Complaint {
  readonly invariant: string;
  readonly message: string;
}

/** Longest life of what a killed runtime left behind, once the next has started. */
const orphanMs = 10_000;

/** The stage of one round: everything that its kinds share. */
export class Play {
  readonly draw: Draw;
  readonly scene: Scene;
  readonly client: Client;
  readonly complaints: Complaint[] = [];
  readonly processes: KillableProcess[] = [];
  kills = 0;
  damaged: string | undefined;

  constructor(draw: Draw, folder: string) {
    this.draw = draw;
    this.scene = new Scene(folder);
    this.client = new Client(this.scene, draw.parts, decideBy(draw));
  }

  complain(invariant: string, message: string): void {
    this.complaints.push({ invariant, message });
  }

  owner(plan?: Pick<CrashPlan, "point" | "port">): KillableProcess {
    const { env, paths: { folder, store, ledger, reached } } = this.scene;
    const whole = plan === undefined ? "" : JSON.stringify({ ...plan, nth: 1, ledger, reached });
    return this.#track(startOwner(store, { folder, env: { ...env, [planVariable]: whole } }));
  }

  troupe(...args: readonly string[]): KillableProcess {
    const { env, paths: { folder } } = this.scene;
    return this.#track(startTroupe(args, { folder, env: { ...env, [planVariable]: "" } }));
  }

  /** Has the client work with an owner; resolves at the end of all its orders, or of the owner. */
  async work(owner: KillableProcess): Promise<ActingHost | undefined> {
    const host = await this.client.connect(owner);
    if (host === undefined) return undefined;
    await this.client.play(host);
    return host;
  }

  async kill(process: KillableProcess): Promise<void> {
    if (!process.isOver) this.kills += 1;
    await process.kill();
  }

  /** A last life without faults: everything must settle, and the runtime must end well. */
  async heal(): Promise<void> {
    const orphans = findLeft(this.scene.paths.folder).map(pidIn);
    const owner = this.owner();
    const host = await this.client.connect(owner);
    if (host === undefined) {
      const { code } = await owner.ended;
      return this.complain("I11", `The next start ended with exit code ${code}`);
    }
    await this.judgeOrphans(orphans);
    // Only now: what was under way with the last runtime may be under way still.
    await this.scene.letGo();
    await this.client.play(host);
    await this.finish(owner, host);
  }

  /** Waits for what goes on beside turns, and stops the owner in order. */
  async finish(owner: KillableProcess, host: ActingHost): Promise<void> {
    await this.client.untilTasksEnded(host);
    await host.close();
    owner.signal("SIGTERM");
    const { code, signal } = await owner.ended;
    if (code !== 0) this.complain("I11", `The healed runtime ended with exit code ${code}, signal ${signal}`);
  }

  async judgeOrphans(orphans: readonly number[]): Promise<void> {
    const { folder } = this.scene.paths;
    const living = () => findLeft(folder).filter((one) => orphans.includes(pidIn(one)));
    for (const giveUpAt = Date.now() + orphanMs; living().length > 0 && Date.now() < giveUpAt;) {
      await pause(50);
    }
    for (const one of living()) this.complain("I11", `It outlived the runtime that started it: ${one}`);
  }

  #track(process: KillableProcess): KillableProcess {
    this.processes.push(process);
    return process;
  }
}

function pidIn(text: string): number {
  return Number(text.split(":")[0]);
}

/** An operator: looks at the world when asked what happened, and mostly lets things happen. */
function decideBy({ random, cell }: Draw): Decide {
  return ({ subject: { kind } }, _id, isApplied): Decision => {
    if (kind !== "uncertain") return cell === undefined && random() < 0.08 ? "deny" : "allow";
    if (cell === undefined && random() < 0.15) return "abandon";
    if (isApplied) return cell === undefined && random() < 0.2 ? "run_again" : "mark_applied";
    return cell === undefined && random() < 0.3 ? "mark_not_applied" : "run_again";
  };
}
