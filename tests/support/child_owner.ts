/**
 * A runtime that a test kills: opens a registry for the store and run that its arguments name, starts `sh` with the
 * script of the third, prints the pid that the script prints, and stays.
 */
import { ProcessRegistry } from "../../src/processes/registry.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { LineReader } from "./child_stage.ts";

const [store = "", runId = "", script = ""] = Deno.args;
const seams = createSystemSeams({ log: () => {} });
const registry = new ProcessRegistry({ store, runId, ...seams });
const child = await registry.start({
  command: "sh",
  args: ["-c", script],
  cwd: ".",
  env: { PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin" },
});
const line = await new LineReader(child.stdout).next();
await Deno.stdout.write(new TextEncoder().encode(`${line}\n`));
// Stays until it is killed: the child is the last that this waits for.
await child.ended;
