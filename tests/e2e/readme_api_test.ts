/** README's section about other programs: each of its blocks is run as it stands, against the server that it starts. */
import assert from "node:assert/strict";
import { onStage } from "./troupe.ts";

const root = new URL("../../", import.meta.url).pathname;

/** The blocks of the section, in their order. */
async function blocks(): Promise<readonly string[]> {
  const text = await Deno.readTextFile(`${root}README.md`);
  const [, rest = ""] = text.split("\n## From another program\n");
  const [body = ""] = rest.split("\n## ");
  // Those in Python and JSON have tests of their own.
  return [...body.matchAll(/```(?!python|json)\w+\n([^]*?)```/g)].map(([, block = ""]) => block);
}

Deno.test({
  name: "README's programs drive a server as they are written: curl, and TypeScript",
  ignore: Deno.build.os === "windows",
  fn: () =>
    onStage(async (stage) => {
      const [served = "", shell = "", script = "", tokens = "", ...more] = await blocks();
      assert.deepEqual(more, []);
      const words = served.trim().split(" ");
      assert.deepEqual(words.splice(0, 3), ["deno", "task", "troupe"]);
      // The port of the text may be taken on this machine.
      const running = stage.start(...words.map((word) => word === "7411" ? "0" : word));
      const said = await running.until("http://127.0.0.1:");
      const [, port = ""] = /127\.0\.0\.1:(\d+)/.exec(said) ?? [];
      const { code, stdout, stderr } = await new Deno.Command("sh", {
        args: ["-euc", shell.replaceAll("7411", port)],
        cwd: stage.folder,
      }).output();
      const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      assert.equal(code, 0, err);
      assert.match(out ?? "", /"state":"ended".*"outcome":"completed"/);
      assert.match(out ?? "", /^event: transcript\ndata: .*"type":"prompt","text":"Look around"/m);
      assert.match(out ?? "", /"state":"closed"/);
      const program = script.replaceAll("7411", port).replace(
        "@troupe/troupe/client",
        `${root}src/client.ts`,
      );
      await stage.write({ "program.ts": program });
      const config = ["--config", `${root}deno.json`];
      const ended = await stage.startDeno("run", "-A", "--quiet", ...config, stage.path("program.ts")).ended;
      assert.equal(ended.code, 0, ended.err);
      assert.match(ended.out, /^completed /);
      const troupe = `deno run -A --quiet ${config.join(" ")} ${root}main.ts`;
      const given = await new Deno.Command("sh", {
        args: ["-euc", tokens.replaceAll("7411", port).replaceAll("deno task troupe", troupe)],
        cwd: stage.folder,
      }).output();
      const seen = new TextDecoder().decode(given.stdout);
      assert.equal(given.code, 0, new TextDecoder().decode(given.stderr));
      // The program sees nothing of what the operator began.
      assert.match(seen, /^{"agents":\[\]}tok_\w+ is revoked\n/);
      assert.match(seen, /token\.issue +tok_\w+ for program:ci until .*: sessions:read\n/);
      assert.match(seen, /token\.revoke +tok_/);
      running.signal("SIGTERM");
      assert.equal((await running.ended).code, 0);
    }),
});
