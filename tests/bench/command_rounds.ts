/** What it takes to drain a flood: a command writes as fast as it can, and only its end is kept in memory. */
import { ArtifactFolder } from "../../src/commands/artifacts.ts";
import { Capture } from "../../src/commands/capture.ts";
import { ProcessRegistry } from "../../src/processes/registry.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { createRedactor } from "../../src/redact/redactor.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { progress } from "./progress.ts";

/** How one flood went. */
export interface FloodFigures {
  readonly bytes: number;
  readonly seconds: number;
  /** How much more memory the process had at the most than before. */
  readonly growthBytes: number;
  readonly artifactBytes: number;
}

/** Drains lines of text, with secrets taken out and the artifact written, as a call of `terminal` does. */
export async function drainFlood(bytes: number): Promise<FloodFigures> {
  const seams = createSystemSeams({ log: () => {} });
  const folder = await Deno.makeTempDir({ prefix: "troupe-flood-" });
  const store = `${folder}/store.db`;
  const registry = new ProcessRegistry({ store, runId: "flood", ...seams });
  const known = new KnownSecrets();
  known.add({ value: "k9-Vwx-1234-secret", name: "KEY", source: "env:KEY" });
  const redactor = createRedactor({ known });
  const artifacts = await new ArtifactFolder(store, seams.digest).open("session/ses_1", "flood");
  const captureOf = (name: "stdout" | "stderr") =>
    new Capture({ filters: [redactor.stream("model")], artifact: artifacts[name], onFailure: () => {} });
  const [stdout, stderr] = [captureOf("stdout"), captureOf("stderr")];
  const before = Deno.memoryUsage().rss;
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, Deno.memoryUsage().rss);
    progress(`drained ${Math.round(stdout.captured.bytes / 1_048_576)} MiB`);
  }, 100);
  const startMs = performance.now();
  try {
    const line = "src/tools/terminal.ts:12:5 warning: something that a program has to say";
    const run = await registry.run({
      command: "sh",
      args: ["-c", `yes '${line}' | head -c ${bytes}`],
      cwd: folder,
      env: { PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin" },
      deadlineAtMs: seams.clock.now() + 600_000,
      stdout,
      stderr,
    });
    await run.ended;
  } finally {
    clearInterval(watching);
    progress("");
    await registry.closeAll();
    await Deno.remove(folder, { recursive: true });
  }
  const { captured } = stdout;
  return {
    bytes: captured.bytes,
    seconds: (performance.now() - startMs) / 1_000,
    growthBytes: most - before,
    artifactBytes: captured.artifact?.bytes ?? 0,
  };
}

/** The figures as text. */
export function floodText({ bytes, seconds, growthBytes, artifactBytes }: FloodFigures): string {
  const [all, kept, grown] = [bytes, artifactBytes, growthBytes].map((one) => Math.round(one / 1_048_576));
  return `A command that writes ${all} MiB, drained in ${
    seconds.toFixed(1)
  } s: ${kept} MiB of it kept in a file, the ` +
    `process grew by ${grown} MiB at the most`;
}
