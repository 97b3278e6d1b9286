/** The review of commands that no shell reads: their arguments are what they are. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { ground, review } from "../support/reviewing.ts";

async function verdictOf(...argv: readonly string[]): Promise<string> {
  const { verdict, findings } = await review({ argv });
  return [verdict, ...findings.map(({ rule }) => rule)].join(" ");
}

Deno.test("command review takes what only a shell would read for plain text (B35, B36, B37, B38)", async () => {
  const texts = [
    "$IFS",
    "${IFS}",
    "$'\\x41'",
    "{a,b}",
    "a\rb",
    "$(touch marker)",
    "`touch marker`",
    "<(touch marker)",
    ">|marker",
    ">!marker",
    ">&marker",
    "<<END",
    "a && touch marker",
    "a; touch marker",
    "a\ntouch marker",
    "a & touch marker",
    "a | touch marker",
    "*",
  ];
  for (const text of texts) assert.equal(await verdictOf("echo", text), "allow", JSON.stringify(text));
});

Deno.test("command review calls no git command safe: a repository's configuration is code (B29, B30)", async () => {
  const commands = [
    ["status"],
    ["diff"],
    ["log"],
    ["--version"],
    ["-c", "alias.x=!touch marker", "x"],
    ["--exec-path=bin", "status"],
    ["clone", "ext::sh -c touch% marker"],
    ["diff", "--output=marker"],
    ["diff", "--no-index", "/etc/hosts", "a"],
    ["fetch", "--upload-pack=touch marker", "origin"],
  ];
  for (const args of commands) {
    assert.match(await verdictOf("git", ...args), /^prompt project-code-execution/);
  }
});

Deno.test("command review asks when find or sed do more than look (B31, B32)", async () => {
  for (const action of ["-exec", "-execdir", "-ok", "-okdir"]) {
    assert.match(await verdictOf("find", ".", action, "touch", "marker", ";"), /^prompt/, action);
    assert.match(await verdictOf("find", ".", action, "cat", "{}", ";"), /^prompt/, action);
  }
  assert.match(await verdictOf("find", ".", "-delete"), /^prompt file-delete/);
  for (const action of ["-fls", "-fprint", "-fprint0", "-fprintf"]) {
    assert.match(await verdictOf("find", ".", action, "marker", "%p"), /^prompt file-write/, action);
  }
  const scripts = [
    "1e touch marker",
    "s/a/touch marker/e",
    "w marker",
    "s/a/b/w marker",
    "s/a/b/gw marker",
    "1{w marker\n}",
  ];
  for (const script of scripts) {
    assert.match(await verdictOf("sed", script, "a"), /^prompt/, script);
    assert.match(await verdictOf("sed", "-n", "-e", "p", "-e", script, "a"), /^prompt/, script);
    assert.match(await verdictOf("sed", `--expression=${script}`, "a"), /^prompt/, script);
  }
  for (const option of ["-i", "--in-place", "--in-place=.old", "-ni", "-f", "--file"]) {
    assert.match(await verdictOf("sed", option, "s/a/b/", "a"), /^prompt/, option);
  }
});

Deno.test("command review sees the program behind one that only runs another (B34)", async () => {
  const wrappers = [
    ["env", "-S", "touch marker"],
    ["env", "X=y", "sh", "-c", "touch marker"],
    ["timeout", "5", "touch", "marker"],
    ["nice", "touch", "marker"],
    ["nohup", "touch", "marker"],
    ["stdbuf", "-o0", "touch", "marker"],
    ["setsid", "touch", "marker"],
    ["busybox", "sh", "-c", "touch marker"],
    ["xargs", "touch", "marker"],
    ["flock", "lock", "touch", "marker"],
    ["command", "touch", "marker"],
    ["time", "touch", "marker"],
  ];
  for (const argv of wrappers) assert.match(await verdictOf(...argv), /^prompt.*file-write/, argv.join(" "));
  assert.equal(await verdictOf("timeout", "5", "ls"), "allow");
});

Deno.test("command review asks about every program that reaches other machines (B40)", async () => {
  for (const program of ["ping", "nslookup", "dig", "host", "curl"]) {
    assert.equal(await verdictOf(program, "secret.example.com"), "prompt network-access", program);
  }
});

Deno.test("command review refuses arguments that no program can get, or that are too long (B43)", async () => {
  assert.match(await verdictOf("echo", "a\u0000b"), /^block command-unreadable/);
  assert.match(
    await verdictOf("echo", "a".repeat(limits.commandArgumentBytesMax + 1)),
    /^block command-too-complex/,
  );
  assert.equal(await verdictOf("echo", "a".repeat(limits.commandArgumentBytesMax)), "allow");
  assert.equal(await verdictOf("echo", "a\nb", "\ud800"), "allow");
  assert.match(
    await verdictOf("echo", ...Array(limits.commandArgumentsMax).fill("a")),
    /^block command-too-complex/,
  );
  assert.match(await verdictOf(), /^prompt empty-command/);
  assert.match(await verdictOf("  "), /^prompt empty-command/);
});

Deno.test("command review has a person asked about variables that are set (DM-84)", async () => {
  const plain = await review({ argv: ["ls"], env: { MODE: "fast" } });
  assert.deepEqual(plain.findings.map(({ rule }) => rule), ["environment-overlay"]);
  const loader = await review({ argv: ["ls"], env: { LD_PRELOAD: "a.so" } });
  assert.deepEqual(loader.findings.map(({ rule }) => rule), [
    "environment-overlay",
    "project-code-execution",
  ]);
  assert.ok(!JSON.stringify(loader).includes("a.so"), "what they are set to is told to nobody");
});

Deno.test("command review follows links out of the workspace", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const workspace = await Deno.realPath(folder);
    await Deno.mkdir(`${workspace}/ws/src`, { recursive: true });
    await Deno.symlink("/etc", `${workspace}/ws/out`);
    await Deno.symlink("src", `${workspace}/ws/in`);
    const at = { ...ground, workspace: `${workspace}/ws` };
    const rules = async (path: string) =>
      (await review({ argv: ["cat", path] }, at)).findings.map(({ rule }) => rule);
    assert.deepEqual(await rules("out/hosts"), ["path-outside-workspace"]);
    assert.deepEqual(await rules("out/not-there/a"), ["path-outside-workspace"]);
    assert.deepEqual(await rules("in/a"), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("command review gives two commands two identities if anything that counts differs (DM-95)", async () => {
  const base = { shell: "make", cwd: `${ground.workspace}/a`, env: { A: "1", B: "2" }, timeoutMs: 1_000 };
  const { identity } = await review(base);
  assert.equal((await review({ ...base, env: { B: "2", A: "1" } })).identity, identity);
  const others = [
    { ...base, shell: "make " },
    { ...base, cwd: `${ground.workspace}/b` },
    { ...base, env: { A: "1", B: "3" } },
    { ...base, env: { A: "1" } },
    { ...base, timeoutMs: 1_001 },
    { cwd: base.cwd, env: base.env, timeoutMs: base.timeoutMs, argv: ["make"] },
  ];
  const identities = await Promise.all(others.map(async (one) => (await review(one)).identity));
  assert.equal(new Set([identity, ...identities]).size, others.length + 1);
});
