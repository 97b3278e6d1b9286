/** The tool `terminal` behind its gates, with real processes: what a command gets, and what is told of it. */
import assert from "node:assert/strict";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { ToolResultEnvelope } from "../../schemas/tool.ts";
import { type Artifact, ArtifactFolder } from "../../src/commands/artifacts.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import type { Attempt } from "../../src/effects/adapter.ts";
import { createTerminalCall, type TerminalCallOptions } from "../../src/effects/terminal_call.ts";
import { ProcessRegistry } from "../../src/processes/registry.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { terminal } from "../../src/tools/terminal.ts";
import { childEnv, hasCommand, isGone, until, within } from "../support/child_stage.ts";
import { entryFor, useIn, withFolder, workspaceAt } from "../support/tools.ts";

const seams = createSystemSeams({ log: () => {} });

/** What the host's environment holds: of this, a command may see only what is listed. */
const host: { readonly [name: string]: string } = {
  ...childEnv,
  LANG: "C.UTF-8",
  LC_CTYPE: "C",
  COLORTERM: "truecolor",
  TZ: "UTC",
  HOME: "/the/operator",
  AWS_SECRET_ACCESS_KEY: "needle-1",
  GITHUB_TOKEN: "needle-2",
  OPENAI_API_KEY: "needle-3",
  TROUPE_STORE: "needle-4",
  PIN: "7391",
};

/** One terminal in a folder of its own. */
interface Stage {
  readonly folder: string;
  readonly registry: ProcessRegistry;
  readonly notes: readonly { readonly type: string; readonly body: JsonObject }[];
  /** True once something may have been applied. */
  hasBegun(): boolean;
  call(given: JsonObject, signal?: AbortSignal): Promise<Attempt>;
  /** Calls what must return something. */
  returned(given: JsonObject, signal?: AbortSignal): Promise<ToolResultEnvelope>;
}

let stages = 0;

async function onStage(
  play: (stage: Stage) => Promise<void>,
  changes: (folder: string) => Partial<TerminalCallOptions> = () => ({}),
  deadlineMs = 130_000,
): Promise<void> {
  await withFolder({ "ws/": "", "home/": "", "outside/": "" }, async (folder) => {
    const store = `${folder}/store.db`;
    const runId = `terminal-${Deno.pid}-${++stages}`;
    const registry = new ProcessRegistry({ store, runId, ...seams });
    const known = new KnownSecrets();
    const adapter = createTerminalCall({
      registry,
      openArtifacts: new ArtifactFolder(store, seams.digest).open,
      homeOf: () => Promise.resolve(`${folder}/home`),
      environment: ["CI", "NODE_ENV", "LD_PRELOAD"],
      goesOn: false,
      readVariable: (name) => host[name],
      readSecret: (name) => name === "DEPLOY_KEY" ? "deploy-key-of-the-host" : undefined,
      onBound: (value, name) => void known.add({ value, name, source: "bound" }),
      redactor: createDoorRedactor(known),
      seams,
      ...changes(folder),
    });
    const cwd = await workspaceAt(`${folder}/ws`);
    const notes: { type: string; body: JsonObject }[] = [];
    let begun = false;
    const call = (given: JsonObject, signal = new AbortController().signal) =>
      within("the call", () => {
        begun = false;
        return adapter({
          root: "session/ses_1",
          ordinal: "call/0.0",
          entry: entryFor(terminal.definition),
          arguments: given,
          use: useIn(cwd, { signal, deadlineAtMs: seams.clock.now() + deadlineMs, clock: seams.clock }),
          intent: "1.0",
          attempt: "1.0",
          origin: "model",
          begin: () => {
            begun = true;
            return () => void (begun = false);
          },
          note: (type: string, body: Json) => void notes.push({ type, body: body as JsonObject }),
          late: () => {},
        });
      });
    const returned = async (given: JsonObject, signal?: AbortSignal) => {
      const attempt = await call(given, signal);
      assert.ok(attempt.kind === "returned", JSON.stringify(attempt));
      return ToolResultEnvelope.parse(attempt.envelope);
    };
    try {
      await play({ folder, registry, notes, hasBegun: () => begun, call, returned });
    } finally {
      await registry.closeAll();
    }
  });
}

function textOf({ content }: ToolResultEnvelope): string {
  const piece = content.find(({ type }) => type === "text");
  return piece?.type === "text" ? piece.text : "";
}

function factsOf({ content }: ToolResultEnvelope): { readonly [name: string]: Json } {
  const piece = content.find(({ type }) => type === "structured");
  return piece?.type === "structured" ? piece.value as JsonObject : {};
}

function codeOf({ content }: ToolResultEnvelope): string | undefined {
  const [piece] = content;
  return piece?.type === "error" ? piece.failure.code : undefined;
}

async function assertRefused(stage: Stage, given: JsonObject, code: string, told: RegExp): Promise<void> {
  const attempt = await stage.call(given);
  assert.ok(attempt.kind === "not_started", JSON.stringify(attempt));
  assert.deepEqual([attempt.failure.code, stage.hasBegun()], [code, false], attempt.failure.message);
  assert.match(attempt.failure.message, told);
}

Deno.test("terminal runs a program with its arguments as they are, and tells code, outputs and totals", () =>
  onStage(async ({ returned }) => {
    const well = await returned({
      argv: ["sh", "-c", 'printf "%s|" "$@"; echo no >&2', "x", "a b", "$(id)"],
    });
    assert.equal(well.isError, false);
    assert.equal(textOf(well), "exit code 0\nstdout:\na b|$(id)|\nstderr:\nno");
    const { exit_code: code, signal, ended, stdout } = factsOf(well);
    assert.deepEqual([code, signal, ended], [0, null, "exited"]);
    const { bytes, characters, truncated } = stdout as JsonObject;
    assert.deepEqual([bytes, characters, truncated], [10, 10, false]);
    const ill = await returned({ argv: ["sh", "-c", "exit 3"] });
    assert.deepEqual([codeOf(ill), ill.isError, factsOf(ill)["exit_code"]], ["command_failed", true, 3]);
  }));

Deno.test("terminal gives a command the variables of the list and a home of its own, and nothing of the host (DM-82, DM-83, B47)", () =>
  onStage(async ({ folder, returned }) => {
    const shown = textOf(await returned({ argv: ["env"], env: { CI: "1" } }));
    const seen = new Map(shown.split("\n").slice(2).map((line) => line.split("=", 2) as [string, string]));
    assert.deepEqual([...seen.keys()].sort(), [
      "CI",
      "COLORTERM",
      "HOME",
      "LANG",
      "LC_CTYPE",
      "PATH",
      "TROUPE_OWNER",
      "TROUPE_SPAWN",
      "TZ",
    ]);
    assert.equal(seen.get("HOME"), `${folder}/home`);
    assert.ok(!shown.includes("needle"));
  }));

Deno.test("terminal refuses variables that the host did not list, or that decide what runs, by name and without their value (DM-88, B46)", () =>
  onStage(async (stage) => {
    const control =
      ("LD_PRELOAD ld_preload DYLD_INSERT_LIBRARIES NODE_OPTIONS BASH_ENV ENV GIT_SSH_COMMAND GIT_EXTERNAL_DIFF " +
        "GIT_CONFIG_COUNT SSH_ASKPASS PYTHONSTARTUP PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS PATH Path PAGER EDITOR " +
        "GCONV_PATH npm_config_registry DENO_DIR HOME SHELL TMPDIR GOFLAGS LUA_PATH ZDOTDIR MAKEFLAGS").split(
          " ",
        );
    for (const name of control) {
      const told = new RegExp(`sets ${name}, which decides what programs run`);
      await assertRefused(stage, { argv: ["true"], env: { [name]: "needle" } }, "env_key_denied", told);
      const secrets = [{ variable: name, source: "DEPLOY_KEY" }];
      await assertRefused(
        stage,
        { argv: ["true"], secrets },
        "secret_binding_refused",
        /decides what programs run/,
      );
    }
    const foreign = { argv: ["true"], env: { CI: "1", DEBUG: "needle" } };
    await assertRefused(
      stage,
      foreign,
      "env_key_denied",
      /sets DEBUG, which the host does not let calls set[^:]*$/,
    );
    assert.deepEqual(stage.notes, []);
  }));

Deno.test("terminal gives secrets to the command alone, once, and shows none of them, however short (DM-82, DM-86)", () =>
  onStage(async ({ folder, returned, notes }) => {
    const secrets = [{ variable: "KEY", source: "DEPLOY_KEY" }, { variable: "PIN", source: "env:PIN" }];
    const script = 'printf "%s " "$KEY" "$PIN"; printf %s "$PIN" | head -c 2; echo "$PIN" >&2; sleep 0';
    const given = { argv: ["sh", "-c", script], secrets };
    const result = await returned(given);
    assert.equal(textOf(result), "exit code 0\nstdout:\n[redacted] [redacted] 73\nstderr:\n[redacted]");
    const [{ body } = { body: {} as JsonObject }] = notes;
    assert.deepEqual(body["secrets"], secrets);
    assert.ok(!JSON.stringify(notes).includes("deploy-key-of"));
    // One-shot: the next command has none.
    assert.equal(
      textOf(await returned({ argv: ["sh", "-c", 'echo "[$KEY$PIN]"'] })),
      "exit code 0\nstdout:\n[]",
    );
    for await (const { name } of Deno.readDir(`${folder}/home`)) assert.fail(`${name} was left in its home`);
  }));

Deno.test("terminal refuses bindings that are too many, given twice, too long, or of what is not there (DM-88, DM-89)", () =>
  onStage(async (stage) => {
    const bind = (variable: string, more: JsonObject = {}) => ({ variable, source: "env:PIN", ...more });
    const argv = ["true"];
    const many = Array.from({ length: 17 }, (_, index) => bind(`V${index}`));
    assert.equal(limits.commandSecretsMax, 16);
    await assertRefused(stage, { argv, secrets: many }, "arguments_invalid", /secrets/);
    assert.equal((await stage.call({ argv, secrets: many.slice(1) })).kind, "returned");
    const twice = { argv, secrets: [bind("A"), bind("a")] };
    await assertRefused(stage, twice, "secret_binding_refused", /to a: it is given twice/);
    const overlaid = { argv, env: { CI: "1" }, secrets: [bind("CI")] };
    await assertRefused(stage, overlaid, "secret_binding_refused", /given twice/);
    const long = { argv, timeout_ms: 5_000, secrets: [bind("A", { expires_s: 6 })] };
    await assertRefused(
      stage,
      long,
      "secret_binding_refused",
      /longer than the command may run; use at most 5 s/,
    );
    for (const seconds of [0, 121]) {
      const bad = { argv, timeout_ms: 120_000, secrets: [bind("A", { expires_s: seconds })] };
      await assertRefused(stage, bad, "arguments_invalid", /expires_s/);
    }
    for (const source of ["file:/etc/passwd", "env:", "7391", "vault:x"]) {
      await assertRefused(stage, { argv, secrets: [bind("A", { source })] }, "arguments_invalid", /source/);
    }
    const gone = { argv, secrets: [bind("A", { source: "env:GONE" })] };
    await assertRefused(stage, gone, "secret_unavailable", /the variable GONE is not set/);
    // A name without env: is one of the host's secrets, never a variable.
    const foreign = { argv, secrets: [bind("A", { source: "GITHUB_TOKEN" })] };
    await assertRefused(stage, foreign, "secret_unavailable", /the host has no secret GITHUB_TOKEN/);
  }));

Deno.test("terminal reads a secret only once the command is about to start (DM-86)", () => {
  const reads: string[] = [];
  const readSecret = (name: string) => {
    reads.push(name);
    return "deploy-key-of-the-host";
  };
  const secrets = [{ variable: "KEY", source: "DEPLOY_KEY" }];
  return onStage(async ({ call }) => {
    for (
      const given of [{ argv: ["no-such-program"], secrets }, { argv: ["true"], cwd: "../outside", secrets }]
    ) {
      assert.equal((await call(given)).kind, "not_started");
      assert.deepEqual(reads, []);
    }
    await call({ argv: ["true"], secrets });
    assert.deepEqual(reads, ["DEPLOY_KEY"]);
  }, () => ({ readSecret }));
});

Deno.test("terminal ends a command at its time, 30 s by default and 120 s at most, with code 124 (DM-90)", () =>
  onStage(async (stage) => {
    const late = await stage.returned({ argv: ["sleep", "1000"], timeout_ms: 50 });
    assert.deepEqual([codeOf(late), factsOf(late)["exit_code"], factsOf(late)["ended"]], [
      "command_timed_out",
      124,
      "timed_out",
    ]);
    await stage.returned({ argv: ["true"] });
    assert.deepEqual(
      stage.notes.filter(({ type }) => type === "command.started").map(({ body }) => body["timeoutMs"]),
      [
        50,
        30_000,
      ],
    );
    await assertRefused(stage, { argv: ["true"], timeout_ms: 120_001 }, "arguments_invalid", /timeout_ms/);
    assert.equal((await stage.call({ argv: ["true"], timeout_ms: 120_000 })).kind, "returned");
  }));

Deno.test("terminal shortens a command's time to the first end of its secrets, and to what its call has left (DM-88)", async () => {
  const secrets = [{ variable: "A", source: "env:PIN", expires_s: 20 }, {
    variable: "B",
    source: "env:PIN",
    expires_s: 10,
  }];
  const timeOf = (stage: Stage) => Number(stage.notes.at(-2)?.body["timeoutMs"]);
  await onStage(async (stage) => {
    await stage.returned({ argv: ["true"], secrets });
    assert.equal(timeOf(stage), 10_000);
  });
  await onStage(
    async (stage) => {
      await stage.returned({ argv: ["true"] });
      assert.ok(timeOf(stage) <= 15_000 && timeOf(stage) > 0);
    },
    () => ({}),
    20_000,
  );
});

Deno.test("terminal works in a folder of the workspace, and nowhere else", () =>
  onStage(async (stage) => {
    const { folder } = stage;
    await Deno.mkdir(`${folder}/ws/deep`);
    await Deno.symlink(`${folder}/outside`, `${folder}/ws/link`);
    await Deno.writeTextFile(`${folder}/ws/file`, "");
    const real = await Deno.realPath(`${folder}/ws/deep`);
    assert.equal(
      textOf(await stage.returned({ argv: ["pwd"], cwd: "deep" })),
      `exit code 0\nstdout:\n${real}`,
    );
    const argv = ["touch", "marker"];
    for (const cwd of ["..", "link", "/", folder, "deep/../../outside"]) {
      await assertRefused(stage, { argv, cwd }, "path_outside_root", /outside the workspace/);
    }
    await assertRefused(stage, { argv, cwd: "file" }, "path_not_folder", /not a folder/);
    await assertRefused(stage, { argv, cwd: "gone" }, "path_not_found", /gone/);
    assert.deepEqual([...Deno.readDirSync(`${folder}/outside`)], []);
  }));

Deno.test("terminal passes arguments on as they are or not at all: NUL, halves of characters, too long (B43)", () =>
  onStage(async (stage) => {
    const echo = (text: string) => ({ argv: ["printf", "%s", text] });
    for (const text of ["a\nb\rc\td", "-rf", "$IFS${IFS}", "{a,b}*?~", "\u001b[31m"]) {
      assert.equal(textOf(await stage.returned(echo(text))), `exit code 0\nstdout:\n${text}`);
    }
    await assertRefused(stage, echo("a\0b"), "arguments_invalid", /NUL/);
    await assertRefused(stage, { argv: ["true"], env: { CI: "\0" } }, "arguments_invalid", /NUL/);
    await assertRefused(stage, echo("\ud83d"), "arguments_invalid", /half a character/);
    await assertRefused(stage, echo("x".repeat(200_000)), "argument_too_long", /more than 131072 bytes/);
    await assertRefused(stage, { argv: [] }, "arguments_invalid", /argv/);
    await assertRefused(stage, {}, "arguments_invalid", /argv or shell/);
    await assertRefused(stage, { argv: ["true"], shell: "true" }, "arguments_invalid", /argv or shell/);
  }));

Deno.test({
  name: "terminal puts nothing of a repository or a folder's name into a command (B44)",
  ignore: !hasCommand("git"),
  fn: () =>
    onStage(async ({ folder, returned }) => {
      const evil = "$(touch marker)`touch marker`;touch marker";
      await Deno.mkdir(`${folder}/ws/${evil}`);
      for (const args of [["init", "-q"], ["config", "user.email", evil]]) {
        const { success } = await new Deno.Command("git", {
          args: ["-C", `${folder}/ws/${evil}`, ...args],
          env: { GIT_CONFIG_GLOBAL: "/dev/null" },
        }).output();
        assert.ok(success);
      }
      const asked = await returned({ shell: "git config user.email; pwd", cwd: evil });
      assert.equal(
        textOf(asked),
        `exit code 0\nstdout:\n${evil}\n${await Deno.realPath(`${folder}/ws/${evil}`)}`,
      );
      await returned({ argv: ["git", "status"], cwd: evil });
      const found = await returned({ argv: ["find", ".", "-name", "marker"] });
      assert.equal(textOf(found), "exit code 0");
    }),
});

Deno.test("terminal says that nothing was started where there is no such program, or none that may run (B53)", () =>
  onStage(async (stage) => {
    const { folder } = stage;
    await Deno.writeTextFile(`${folder}/ws/plain`, "echo", { mode: 0o644 });
    await Deno.writeTextFile(`${folder}/ws/script`, "#!/no/such/interpreter\n", { mode: 0o755 });
    await Deno.mkdir(`${folder}/ws/folder`);
    for (const program of ["no-such-program", "./gone", "./plain", "./folder", "./script", ""]) {
      await assertRefused(stage, { argv: [program] }, "spawn_failed", /Cannot start/);
    }
    assert.deepEqual(stage.notes, []);
    // What was opened for its output is gone again.
    const kept = [...Deno.readDirSync(`${folder}/store.db.artifacts`)].flatMap(({ name }) => [
      ...Deno.readDirSync(`${folder}/store.db.artifacts/${name}`),
    ]);
    assert.deepEqual(kept, []);
  }));

Deno.test("terminal runs shell text by bash without anybody's profile, and says so where there is none", async () => {
  await onStage(async ({ folder, returned }) => {
    for (const name of [".bashrc", ".bash_profile", ".profile"]) {
      await Deno.writeTextFile(`${folder}/home/${name}`, "echo profile\n");
    }
    const result = await returned({ shell: 'echo "$0" | tr a-z A-Z && echo end' });
    assert.match(textOf(result), /^exit code 0\nstdout:\n.*BASH\nend$/);
  });
  const readVariable = (name: string) => name === "PATH" ? "/nowhere" : undefined;
  await onStage(
    (stage) => assertRefused(stage, { shell: "true" }, "shell_missing", /there is no bash here/),
    () => ({ readVariable }),
  );
});

Deno.test("terminal tells an auditor where, as what and with which variables a command ran, and how it ended (DM-85, CM-118)", () =>
  onStage(async ({ folder, returned, notes }) => {
    const secrets = [{ variable: "KEY", source: "DEPLOY_KEY", expires_s: 5 }];
    await returned({ argv: ["sh", "-c", "echo x; exit 2"], env: { CI: "1" }, secrets });
    const [started, ended] = notes;
    const real = await Deno.realPath(`${folder}/ws`);
    const { environment, executable, ...rest } = started?.body ?? {};
    assert.deepEqual([started?.type, rest], ["command.started", {
      ordinal: "call/0.0",
      cwd: real,
      overlay: ["CI"],
      timeoutMs: 5_000,
      secrets,
    }]);
    assert.match(String(executable), /^\/.*\/sh$/);
    assert.ok(
      (environment as string[]).includes("KEY") && !(environment as string[]).includes("GITHUB_TOKEN"),
    );
    const { state, exitCode, signal, leftBehind } = ended?.body ?? {};
    assert.deepEqual([ended?.type, state, exitCode, signal, leftBehind], [
      "command.ended",
      "failed",
      2,
      null,
      0,
    ]);
    // Numbers of processes, and when they began, stay in this process.
    assert.doesNotMatch(JSON.stringify(notes), /pid|spawn|startMark/i);
    await returned({ shell: "true" });
    assert.match(String(notes.at(-2)?.body["shell"]), /\/bash$/);
    assert.equal(notes.at(-1)?.body["state"], "completed");
  }));

Deno.test("terminal ends a command whose call is canceled, and tells how it ended once nothing of it is left (CM-118, B51)", () =>
  onStage(async ({ folder, returned, notes }) => {
    const stop = new AbortController();
    const script = "trap '' TERM; sleep 1000 & echo $! > pids; echo $$ >> pids; wait; sleep 1000";
    const calling = returned({ argv: ["sh", "-c", script] }, stop.signal);
    const pids = () => {
      try {
        return Deno.readTextFileSync(`${folder}/ws/pids`).trim().split("\n").map(Number);
      } catch {
        return [];
      }
    };
    await until("it runs", () => pids().length === 2);
    stop.abort();
    const result = await calling;
    assert.deepEqual(pids().filter((pid) => !isGone(pid)), []);
    assert.deepEqual([codeOf(result), result.isError, notes.at(-1)?.body["state"]], [
      "command_canceled",
      true,
      "canceled",
    ]);
  }));

Deno.test("terminal's command that the runtime's end cut off is interrupted (CM-118, DM-104)", () =>
  onStage(async ({ returned, registry, notes }) => {
    const calling = returned({ argv: ["sleep", "1000"] });
    await until("it runs", () => notes.length === 1);
    await registry.endCommands();
    const result = await calling;
    assert.deepEqual([codeOf(result), notes.at(-1)?.body["state"]], ["command_interrupted", "interrupted"]);
  }));

Deno.test("terminal keeps a flood in a file, shows its end, and says where the whole is (DM-99, DM-101, DM-102)", () =>
  onStage(async ({ folder, returned }) => {
    const result = await returned({
      argv: ["sh", "-c", "yes 0123456789 | head -c 2000000; echo; echo last"],
    });
    const { bytes, truncated, artifact } = factsOf(result)["stdout"] as { readonly [name: string]: Json };
    const { root, path } = artifact as JsonObject;
    assert.deepEqual([bytes, truncated], [2_000_006, true]);
    const text = textOf(result);
    assert.ok(text.length < 12_300 && text.endsWith("\nlast"), String(text.length));
    assert.ok(text.includes(`the operator has the whole as ${root}/${path}`));
    const whole = await Deno.stat(`${folder}/store.db.artifacts/${root}/${path}`);
    assert.deepEqual([whole.size, whole.mode! & 0o777], [2_000_006, 0o600]);
  }));

Deno.test("terminal whose artifact breaks has failed: the command is ended, and drained to its end (DM-103, DM-104, DM-138)", async () => {
  const broken: Artifact = {
    write: () => Promise.reject(new Error("no room")),
    close: () => Promise.resolve(undefined),
  };
  const openArtifacts = () => Promise.resolve({ stdout: broken, stderr: broken });
  await onStage(
    async ({ returned, notes, registry }) => {
      const script = "echo first; trap '' TERM; while :; do echo more; done";
      const result = await returned({ argv: ["sh", "-c", script] });
      assert.deepEqual([codeOf(result), result.isError], ["artifact_failed", true]);
      assert.deepEqual([notes.at(-1)?.body["state"], registry.size], ["failed", 0]);
      // Also where the command itself ended well before anybody could end it.
      assert.equal(codeOf(await returned({ argv: ["echo", "x"] })), "artifact_failed");
    },
    () => ({ openArtifacts }),
  );
});

Deno.test("terminal starts nothing whose output could not be kept (DM-103)", () =>
  onStage(async (stage) => {
    await Deno.writeTextFile(`${stage.folder}/store.db.artifacts`, "");
    const given = { argv: ["touch", "marker"] };
    await assertRefused(stage, given, "artifact_failed", /make room, or make the store's folder writable/);
    assert.deepEqual([...Deno.readDirSync(`${stage.folder}/ws`)], []);
  }));

Deno.test("terminal starts nothing once the runtime has stopped, and says so (DM-105)", () =>
  onStage(async (stage) => {
    await stage.registry.closeAll();
    await assertRefused(stage, { argv: ["touch", "marker"] }, "spawn_failed", /the runtime is stopping/);
    assert.deepEqual([...Deno.readDirSync(`${stage.folder}/ws`)], []);
  }));
