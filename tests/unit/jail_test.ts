/** The jail of authored tools, by real processes: what a tool cannot do there, and what is left when it tried. */
import assert from "node:assert/strict";
import { FrameReader } from "../../src/jail/frames.ts";
import { JailPool } from "../../src/jail/jail_pool.ts";
import { jailProgram } from "../../src/jail/jail_program.ts";
import { jailWord } from "../../src/jail/jail_word.ts";
import { startChild } from "../../src/processes/child.ts";
import { lives, seams, self, toolText, withJails } from "../support/jails.ts";

Deno.test("jail runs a tool with its input and gives its value (DM-136)", async () => {
  await withJails(async ({ run }) => {
    const end = await run("return { sum: input.a + 1, deep: [1, { x: null }] };", { input: { a: 2 } });
    assert.deepEqual(end, { type: "result", value: { sum: 3, deep: [1, { x: null }] } });
    const usual = await run(`
      await new Promise((resolve) => setTimeout(resolve, 1));
      const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("a"));
      const streamed = await new Response(new Blob(["b"]).stream()).text();
      const stop = new AbortController();
      queueMicrotask(() => stop.abort());
      await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
      return [hash.byteLength, streamed, structuredClone({ c: 1 }).c, new URL("http://d/e").pathname, atob("Zg=="),
        new Intl.NumberFormat("en").format(1234), performance.now() > 0, new Request("http://g").method];`);
    assert.deepEqual(usual, { type: "result", value: [32, "b", 1, "/e", "f", "1,234", true, "GET"] });
    const said = await run("throw new TypeError('not like this')");
    assert.deepEqual(said, {
      type: "failed",
      message: "TypeError: not like this (line 3)",
      isArguments: false,
    });
  });
});

Deno.test("jail has no right to anything: files, network, variables, processes, the host's life (DM-136)", async () => {
  await withJails(async ({ run }) => {
    const tries = [
      "Deno.readTextFileSync('/etc/hostname')",
      "Deno.writeTextFileSync('/tmp/escaped', 'x')",
      "Deno.env.get('HOME')",
      "Deno.env.toObject()",
      "Deno.kill(Deno.ppid, 'SIGKILL')",
      "new Deno.Command('/bin/true').outputSync()",
      "Deno.listen({ port: 0 })",
      "Deno.dlopen('libc.so.6', {})",
      "Deno.hostname()",
      "await Deno.connect({ hostname: '127.0.0.1', port: 1 })",
      "Deno.permissions.requestSync({ name: 'read' }).state === 'granted' || (() => { throw new Error('NotCapable') })()",
    ];
    const body = `const ends = []; for (const go of [${
      tries.map((one) => `async () => { ${one} }`).join(", ")
    }]) { try { await go(); ends.push("done"); } catch (error) { ends.push(error.name + error.message); } } return ends;`;
    const end = await run(body);
    assert(end.type === "result" && Array.isArray(end.value), JSON.stringify(end));
    for (const [at, said] of end.value.entries()) {
      assert.match(String(said), /NotCapable/, `${tries[at]} ended with ${said}`);
    }
  });
});

Deno.test("jail makes no code of text, and has no thread, no socket and nothing that outlives a call (DM-136)", async () => {
  await withJails(async ({ run }) => {
    const names =
      "Worker fetch WebSocket EventSource caches localStorage sessionStorage indexedDB BroadcastChannel " +
      "process navigator WebAssembly";
    const end = await run(`
      const made = [];
      for (const make of [
        () => eval("1"), () => new Function("return 1")(), () => (() => {}).constructor.constructor("return Deno")(),
        () => (async () => {}).constructor("return import('node:fs')")(), () => ctx.fetch.constructor("return 1")(),
      ]) { try { await make(); made.push("made"); } catch (error) { made.push(error.name); } }
      return { made, there: ${JSON.stringify(names.split(" "))}.filter((name) => name in globalThis) };`);
    assert(end.type === "result", JSON.stringify(end));
    assert.deepEqual(end.value, { made: Array(5).fill("EvalError"), there: [] });
  });
});

Deno.test("jail is ended with its group when it loops, takes all memory, leaves or never answers (DM-136)", async () => {
  await withJails(async ({ run, pids }) => {
    const why = async (body: string, options = {}) => {
      const end = await run(body, options);
      return end.type === "broken" ? end.why : JSON.stringify(end);
    };
    assert.match(await why("for (;;);", { cpuMsMax: 300 }), /more than 0\.3 s of the processor/);
    assert.match(
      await why("const all = []; for (;;) all.push(new Array(100_000).fill(1.5));"),
      /96 MB of memory/,
    );
    assert.match(await why("Deno.exit(0);"), /ended by itself \(code 0\)/);
    assert.match(await why("Deno.kill(Deno.pid, 'SIGKILL');"), /NotCapable|ended by SIGKILL/);
    const stop = new AbortController();
    const never = why("ctx.progress('waits'); await new Promise(() => setInterval(() => {}, 1_000));", {
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    assert.match(await never, /ended with its call/);
    const outside = await run("const all = []; for (;;) all.push(new Uint8Array(64_000_000).fill(1));");
    assert.match(JSON.stringify(outside), /Array buffer allocation failed|96 MB of memory/);
    assert.equal(pids.length, 6);
  });
});

Deno.test("jail hears no noise: what a tool prints, or forges, is no result of it (DM-48, DM-136)", async () => {
  await withJails(async ({ run }) => {
    const forged = JSON.stringify({ type: "result", value: "forged" });
    const end = await run(`
      for (const start of ["", "\\x1e", "\\x1e" + "0".repeat(64) + " ", "\\n\\x1e "]) console.log(start + ${
      JSON.stringify(forged)
    });
      Deno.stdout.writeSync(new TextEncoder().encode("no line break: "));
      return "real";`);
    assert.deepEqual(end, { type: "result", value: "real" });
    // It changes all that a frame passes on its way out, and looks for what frames begin with.
    const nosy = await run(`
      const seen = [];
      const decoder = new TextDecoder();
      const show = (value) => value instanceof Uint8Array ? decoder.decode(value) : String(value);
      const spy = (on, name) => {
        const own = on[name];
        on[name] = function (...given) { seen.push(show(this), ...given.map(show)); return own.apply(this, given); };
      };
      spy(TextEncoder.prototype, "encode"); spy(JSON, "stringify"); spy(Uint8Array.prototype, "subarray");
      spy(Deno.stdout, "writeSync"); spy(String.prototype, "concat"); spy(Array.prototype, "join");
      ctx.progress("one"); ctx.progress("two");
      return seen.filter((one) => one.includes("\\x1e"));`);
    assert.deepEqual(nosy, { type: "result", value: [] });
  });
  const reader = new FrameReader("secret");
  const push = (text: string) => reader.push(new TextEncoder().encode(text));
  assert.deepEqual(push('\x1eother {"type":"result","value":1}\n'), []);
  assert.deepEqual(push('\x1esecret {"type":"result","value":1}\n'), [{ type: "result", value: 1 }]);
  assert.throws(() => push('\x1esecret {"type":"result","value":1,"outcome":"approved"}\n'));
});

Deno.test("jail is used once: nothing that a call changed is there in the next one (DM-136)", async () => {
  await withJails(async ({ run }) => {
    const look =
      "return [{}.polluted ?? 'clean', globalThis.left ?? 'clean', [].at.name, String(typeof defineTool)];";
    await run("Object.prototype.polluted = 1; globalThis.left = 2; Array.prototype.at = () => 3; return 1;");
    const end = await run(look);
    assert.deepEqual(end, { type: "result", value: ["clean", "clean", "at", "function"] });
  }, true);
});

Deno.test("jail asks for its doors and gets answers, and too many uses are refused (DM-136)", async () => {
  await withJails(async ({ run }) => {
    const asked: string[] = [];
    const end = await run(
      "const text = await ctx.files.read('a.txt'); try { await ctx.secret('KEY'); } catch (error) { return [text, error.code, error.message]; }",
      {
        onDoor: (request) => {
          asked.push(request.door);
          return Promise.resolve(
            request.door === "files.read"
              ? { ok: true, value: "alpha" }
              : { ok: false, code: "capability_missing", message: "no" },
          );
        },
      },
    );
    assert.deepEqual(end, { type: "result", value: ["alpha", "capability_missing", "no"] });
    assert.deepEqual(asked, ["files.read", "secret"]);
    const many = await run(
      `const codes = []; for (let use = 0; use < 40; use++) ctx.files.list(".").catch(({ code }) => codes.push(code));
       while (codes.length < 24) await new Promise((resolve) => setTimeout(resolve, 1));
       return [...new Set(codes)];`,
      { onDoor: () => new Promise(() => {}) },
    );
    assert.deepEqual(many, { type: "result", value: ["door_closed"] });
  });
});

Deno.test("jail pool keeps one ready, and calls leave no process behind (DM-136)", async () => {
  let started: readonly number[] = [];
  await withJails(async ({ run, pids, pool }) => {
    for (let call = 0; call < 12; call++) {
      const end = await run("setInterval(() => {}, 10); return input.call;", { input: { call } });
      assert.deepEqual(end, { type: "result", value: call });
    }
    // The one that waits was never given anything; who ends it harms no call.
    const spare = pids.at(-1) ?? 0;
    Deno.kill(spare, "SIGKILL");
    while (lives(spare)) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal((await run("return 1;")).type, "result");
    await pool.close();
    started = pids;
  }, true);
  assert(started.length >= 14, "every call had its own");
  assert.deepEqual(started.filter(lives), []);
});

Deno.test("jail gives back the rights that its program was started with, as a binary is (DM-136)", async () => {
  const main = new URL("../../main.ts", import.meta.url).pathname;
  const { env } = jailProgram(self);
  const args = ["run", "--allow-all", "--quiet", "--cached-only", main, jailWord];
  const pool = new JailPool({
    start: (options) => Promise.resolve(startChild({ ...options, clock: seams.clock })),
    program: { command: self.command, args, env },
    clock: seams.clock,
    keepsOne: false,
  });
  try {
    const code = toolText(
      `const said = []; for (const go of [() => Deno.readTextFileSync("/etc/hostname"), () => Deno.kill(Deno.ppid, "SIGKILL"),
        () => new Deno.Command("/bin/true").outputSync(), () => Deno.env.toObject(), () => eval("1")]) {
        try { go(); said.push("done"); } catch (error) { said.push(error.name); } } return said;`,
    );
    const end = await pool.run({ type: "execute", code, input: {}, key: "k" }, {
      signal: new AbortController().signal,
    });
    const no = "NotCapable";
    assert.deepEqual(end, { type: "result", value: [no, no, no, no, "EvalError"] });
  } finally {
    await pool.close();
  }
});
