/**
 * Holds a store until SIGTERM: the product's own host, started by the harness as a process of its own. With a plan in its
 * environment it kills itself where the plan says.
 *
 *   deno run -A tests/kill/owner.ts STORE
 */
import { reportError } from "../../src/cli/exit.ts";
import { readHostSettings } from "../../src/host/home.ts";
import { openOwner } from "../../src/host/open_host.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import type { Performer } from "../../src/effects/performer.ts";
import type { HostPerformers } from "../../src/host_services.ts";
import { CrashPlan, planVariable, Saboteur } from "./crash_plan.ts";
import { appendLine, ledgerVariable } from "./outside.ts";

function fail(error: unknown): never {
  const { message, code, exit } = reportError(error);
  console.error(`troupe: ${message} [${code}]`);
  if (code === "internal" && error instanceof Error) console.error(error.stack);
  Deno.exit(exit);
}

/** A file has no ledger: that it is to be written is told before it is. */
function tellFiles(performers: HostPerformers): HostPerformers {
  const ledger = Deno.env.get(ledgerVariable) ?? "";
  const perform = performers["tool.call"];
  const tell: Performer<"tool.call"> = (call) => {
    const { entry, arguments: given } = call.request.args;
    const { path } = given as { readonly path?: string };
    if (entry.name === "write_file" && ledger !== "") {
      const id = String(path).replace(/\.txt$/, "");
      appendLine(ledger, { what: "begun", id, key: call.key, effect: "non_idempotent" });
    }
    return perform(call);
  };
  return { ...performers, "tool.call": tell };
}

function env(name: string): string | undefined {
  return Deno.env.get(name) || undefined;
}

globalThis.addEventListener("unhandledrejection", (event) => fail(event.reason));
const planned = Deno.env.get(planVariable) ?? "";
const saboteur = planned === "" ? undefined : new Saboteur(CrashPlan.parse(JSON.parse(planned)));
const seams = createSystemSeams({
  log: ({ level, event, detail }) => console.error(`${level}: ${event} ${JSON.stringify(detail ?? {})}`),
});
try {
  const { config } = await readHostSettings(env);
  const host = await openOwner({
    location: Deno.args[0] ?? "",
    config,
    seams,
    env,
    self: { command: Deno.execPath(), args: [], env: {} },
    isAttended: true,
    goesOn: true,
    around: {
      store: (store) => saboteur?.store(store) ?? store,
      performers: (performers) => saboteur?.performers(tellFiles(performers)) ?? tellFiles(performers),
    },
  });
  Deno.addSignalListener("SIGTERM", () => void host.close().then(() => Deno.exit(0), fail));
  console.error("held");
} catch (error) {
  fail(error);
}
