/** Servers of 2026-07-28 by the SDK's own packages, through the real command: found, listed, called, listened to. */
import assert from "node:assert/strict";
import {
  callOf,
  firstTurn,
  type Line,
  linesIn,
  markOf,
  onMcpStage,
  trustAgent,
  until,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";

const script = new URL("../support/modern/server.ts", import.meta.url).pathname;
const config = new URL("../support/modern/deno.json", import.meta.url).pathname;

/** Where this Deno keeps its packages: servers have a home of their own. */
const { denoDir } = JSON.parse(
  new TextDecoder().decode(
    (await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output()).stdout,
  ),
) as { readonly denoDir: string };

// A server's environment is its own, and nothing can be fetched in it where this machine needs more to reach a registry.
const fetched = await new Deno.Command(Deno.execPath(), {
  args: ["cache", "--quiet", "--config", config, "npm:@modelcontextprotocol/server@2.4.0"],
}).output();
assert.ok(fetched.success, new TextDecoder().decode(fetched.stderr));

function argsOf(words: readonly string[]): string[] {
  return ["run", "-A", "--quiet", "--config", config, script, ...words];
}

/** The manifest of a server that is a process. */
function processOf(stage: Stage, words: readonly string[], more: Line = {}): Line {
  const args = [
    `DENO_DIR=${denoDir}`,
    Deno.execPath(),
    ...argsOf(["stdio", ...words, markOf(stage, "modern")]),
  ];
  return { command: "env", args, approval_policy: "auto", ...more };
}

/** Plays with a server by HTTP, which has ended at the end. */
async function withServer(words: readonly string[], play: (url: string) => Promise<void>): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: argsOf(["http", ...words]),
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const { value = "" } = await reader.read();
    await play(`http://127.0.0.1:${value.trim()}/mcp`);
  } finally {
    child.kill("SIGKILL");
    await reader.cancel();
    await child.status;
  }
}

async function writeAgent(
  stage: Stage,
  manifest: Line,
  calls: readonly ReturnType<typeof callOf>[],
): Promise<void> {
  const url = String(manifest["url"] ?? "http://127.0.0.1:1");
  await stage.write({
    "config/troupe/troupe.yaml": JSON.stringify({ network: { allow: [new URL(url).host] } }),
  });
  await writeMcpAgent(stage, {
    servers: { remote: { approval_policy: "auto", ...manifest } },
    answers: [...calls.flatMap((one) => [{ calls: [one] }, { text: "done" }]), { text: "finished" }],
  });
  await stage.output(...trustAgent);
}

const transports = ["stdio", "streamable_http"] as const;

async function onServer(
  transport: (typeof transports)[number],
  words: readonly string[],
  play: (stage: Stage, manifest: Line, ledger: string) => Promise<void>,
): Promise<void> {
  await onMcpStage(async (stage) => {
    const ledger = `${stage.folder}/ledger`;
    const all = [...words, "--ledger", ledger];
    if (transport === "stdio") return await play(stage, processOf(stage, all), ledger);
    await withServer(all, (url) => play(stage, { transport, url }, ledger));
  });
}

for (const transport of transports) {
  Deno.test(`server of the modern era by ${transport} is found, called and told of, and needs no word in its manifest`, async () => {
    await onServer(transport, ["strict"], async (stage, manifest, ledger) => {
      await writeAgent(stage, manifest, [callOf("remote__echo", { text: "héllo" })]);
      const checked = await stage.output("mcp", "check", "remote", "--agent", "./agent", "--workspace", "ws");
      assert.match(checked, /^ {2}protocol +2026-07-28 \(modern era\)\n {2}calls itself +modern 2\.4\.0$/m);
      // Only by HTTP are arguments repeated in headers, so only there a tool that cannot say which is left out.
      const verdict = transport === "stdio"
        ? /^twice +ok/m
        : /^twice +dropped +.*x-mcp-header A stands twice/m;
      assert.match(checked, verdict);
      await stage.output(...firstTurn, "--answer", "deny");
      const [called] = await linesIn(ledger);
      const { tool, given, era, headers, envelope } = called ?? {};
      assert.deepEqual([tool, given, era], ["echo", { text: "héllo" }, "modern"]);
      const names = { "mcp-method": "tools/call", "mcp-name": "echo", "mcp-protocol-version": "2026-07-28" };
      const repeated = { ...names, "mcp-param-text": "=?base64?aMOpbGxv?=" };
      assert.deepEqual(headers, transport === "stdio" ? {} : repeated);
      assert.equal((envelope as Line)["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
      assert.deepEqual((envelope as Line)["io.modelcontextprotocol/clientCapabilities"], {
        elicitation: { form: { applyDefaults: true }, url: {} },
        extensions: { "io.modelcontextprotocol/tasks": {} },
      });
      const logs = await stage.output("mcp", "logs", "remote", "--agent", "./agent");
      assert.match(logs, /protocol 2026-07-28 \(modern era\)/);
      const { invocations } = JSON.parse(await stage.output("inspect", "last", "--json")) as {
        invocations: Line[];
      };
      assert.equal(invocations[0]?.["status"], "succeeded");
      assert.match(JSON.stringify(invocations[0]?.["response"]), /héllo/);
    });
  });

  Deno.test(`agent that subscribed to a resource of a server of the modern era by ${transport} is told that it changed (CM-34)`, async () => {
    await onServer(transport, ["strict"], async (stage, manifest) => {
      const uri = { uri: "x:a" };
      await writeAgent(stage, manifest, [callOf("remote__subscribe_resource", uri), callOf("remote__touch")]);
      const { url = "http://127.0.0.1" } = manifest;
      const network = { allow: [new URL(String(url)).host] };
      await withOwner(stage, async ({ host, session, prompt }) => {
        assert.equal((await prompt("one")).outcome, "completed");
        assert.equal((await prompt("two")).outcome, "completed");
        const told: unknown[] = [];
        await until("the session is told", async () => {
          told.length = 0;
          for await (const page of host.readPages(session)) {
            told.push(...page.filter(({ type }) => type === "resource.updated"));
          }
          return told.length > 0;
        });
        assert.equal(told.length, 1);
        const { invocations } = JSON.parse(await stage.output("inspect", session, "--json")) as {
          invocations: Line[];
        };
        assert.deepEqual(invocations.map(({ status }) => status), ["succeeded", "succeeded"]);
      }, { network });
    });
  });

  Deno.test(`server of the modern era by ${transport} that says that its tools changed has them listed for the next turn (AR-15)`, async () => {
    await onServer(transport, ["strict"], async (stage, manifest) => {
      await writeAgent(stage, manifest, [callOf("remote__grow"), callOf("remote__more")]);
      const { url = "http://127.0.0.1" } = manifest;
      const network = { allow: [new URL(String(url)).host] };
      await withOwner(stage, async ({ host, session, prompt }) => {
        assert.equal((await prompt("one")).outcome, "completed");
        await until("the change is known", async () => {
          let isKnown = false;
          for await (const page of host.readPages(session)) {
            isKnown ||= page.some(({ type }) => type === "catalog.stale");
          }
          return isKnown;
        });
        assert.equal((await prompt("two")).outcome, "completed");
        assert.match(await stage.output("inspect", session), /2026-07-28 +modern/);
      }, { network });
      const { invocations } = JSON.parse(await stage.output("inspect", "last", "--json")) as {
        invocations: Line[];
      };
      assert.deepEqual(invocations.map(({ status }) => status), ["succeeded", "succeeded"]);
    });
  });
}

Deno.test("server of both eras by HTTP is spoken to in the newer one, unless its manifest says otherwise", async () => {
  await withServer([], async (url) => {
    await onMcpStage(async (stage) => {
      const manifest = { transport: "streamable_http", url };
      await writeAgent(stage, manifest, []);
      const check = [
        "mcp",
        "check",
        "remote",
        "--agent",
        "./agent",
        "--workspace",
        "ws",
        "--answer",
        "allow",
      ];
      assert.match(await stage.output(...check), /protocol +2026-07-28 \(modern era\)/);
      await writeAgent(stage, { ...manifest, protocol: "2025-06-18" }, []);
      assert.match(await stage.output(...check), /protocol +2025-06-18 \(legacy era\)/);
    });
  });
});
