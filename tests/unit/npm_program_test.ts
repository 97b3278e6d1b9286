/** How a package of npm is started: nothing is allowed that its manifest does not name, and nothing is asked or fetched. */
import assert from "node:assert/strict";
import { type NpmPaths, NpmRun } from "../../schemas/npm_run.ts";
import { fetchNpm } from "../../src/mcp/npm_fetch.ts";
import { type DenoProgram, denoProgram, npmProgram } from "../../src/mcp/npm_program.ts";

const deno: DenoProgram = { command: "/usr/bin/deno", cache: "/cache", registry: undefined };
const none: NpmPaths = { read: [], write: [] };

function flags(permissions: object, paths = none): readonly string[] {
  const { args } = npmProgram(NpmRun.parse({ npm: "server@1.2.3", args: ["-A"], permissions }), paths, deno);
  // What follows the package is the package's own.
  assert.deepEqual(args.slice(-2), ["npm:server@1.2.3", "-A"]);
  return args.slice(0, -2);
}

Deno.test("npm program asks nobody, fetches nothing, and is kept apart from what lies in its folder", () => {
  const given = flags({});
  for (
    const flag of ["--no-prompt", "--cached-only", "--no-config", "--no-lock", "--node-modules-dir=none"]
  ) {
    assert.ok(given.includes(flag), flag);
  }
  const { env } = npmProgram(NpmRun.parse({ npm: "server@1.2.3" }), none, {
    ...deno,
    registry: "https://r.example",
  });
  assert.equal(env["DENO_DIR"], "/cache");
  assert.equal(env["DENO_NO_PACKAGE_JSON"], "1");
  assert.equal(env["NPM_CONFIG_REGISTRY"], "https://r.example");
});

Deno.test("npm program is allowed what is named, and no list of nothing is taken for everything", () => {
  const allowed = (permissions: object, paths = none) =>
    flags(permissions, paths).filter((flag) => flag.startsWith("--allow") || flag === "-A");
  assert.deepEqual(allowed({}), ["--allow-env"]);
  assert.deepEqual(allowed({ env: [] }), []);
  assert.deepEqual(
    allowed({ env: ["A", "B"], net: ["a.example:443", "[::1]:80"] }, { read: ["/w"], write: ["/w/d"] }),
    [
      "--allow-read=/w",
      "--allow-write=/w/d",
      "--allow-net=a.example:443,[::1]:80",
      "--allow-env=A,B",
    ],
  );
});

Deno.test("npm program needs a deno on the PATH where troupe is a single program, and says so", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const env = (path: string) => (name: string) => ({ PATH: path, DENO_DIR: "/cache" })[name];
    const missing = denoProgram(env(folder), true);
    assert.ok("code" in missing);
    assert.deepEqual([missing.code, missing.retryable], ["mcp_deno_missing", false]);
    assert.match(missing.message, /no deno on the PATH/);
    await Deno.writeTextFile(`${folder}/deno`, "#!/bin/sh\n", { mode: 0o755 });
    assert.deepEqual(denoProgram(env(folder), true), { ...deno, command: `${folder}/deno` });
    assert.deepEqual(denoProgram(env(folder), false), { ...deno, command: Deno.execPath() });
    const lost = denoProgram(() => undefined);
    assert.ok("code" in lost && lost.code === "mcp_npm_not_cached");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("npm package that cannot be fetched is a failure with the words of deno, and leaves no folder", async () => {
  const cache = await Deno.makeTempDir();
  try {
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      () => new Response(null, { status: 404 }),
    );
    // The real Deno asks a registry of ours, which has nothing.
    const registry = `http://127.0.0.1:${server.addr.port}/`;
    Deno.env.set("NPM_CONFIG_REGISTRY", registry);
    try {
      const env = (name: string) => name === "DENO_DIR" ? cache : Deno.env.get(name);
      const why = await fetchNpm(NpmRun.parse({ npm: "no-such-server@1.2.3" }), env);
      assert.equal(why?.code, "mcp_npm_not_cached");
      assert.match(
        why?.message ?? "",
        /Cannot fetch npm:no-such-server@1\.2\.3 with deno cache: .*no-such-server/,
      );
    } finally {
      Deno.env.delete("NPM_CONFIG_REGISTRY");
      await server.shutdown();
    }
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
});
