/** Secrets of the host: read from where the operator said, each alone, and never shown. */
import assert from "node:assert/strict";
import { SecretSources } from "../../schemas/secret.ts";
import { type HostSecret, readSecrets } from "../../src/host/secrets.ts";
import { withFolder } from "../support/tools.ts";

function env(name: string): string | undefined {
  return new Map([["SET", "from the environment"], ["EMPTY", ""]]).get(name);
}

async function read(
  sources: { readonly [name: string]: string },
  folder = "",
): Promise<readonly HostSecret[]> {
  const absolute = Object.entries(sources).map(([name, source]) => [
    name,
    source.replace(/^file:(?!\/)/, `file:${folder}/`),
  ]);
  return await readSecrets(SecretSources.parse(Object.fromEntries(absolute)), env);
}

Deno.test("secrets come from variables and from files, without the line end that an editor adds", async () => {
  const files = { plain: "from a file", line: "with a line end\n", windows: "key\r\n", two: "a\n\n" };
  await withFolder(files, async (folder) => {
    for (const name of Object.keys(files)) await Deno.chmod(`${folder}/${name}`, 0o600);
    const secrets = await read({
      A: "env:SET",
      B: "file:plain",
      C: "file:line",
      D: "file:windows",
      E: "file:two",
      F: `file:${folder}/plain`,
    }, folder);
    assert.deepEqual(secrets.map(({ name, value }) => `${name}=${value}`), [
      "A=from the environment",
      "B=from a file",
      "C=with a line end",
      "D=key",
      "E=a\n",
      "F=from a file",
    ]);
    assert.deepEqual(secrets[1], {
      name: "B",
      source: `file:${folder}/plain`,
      value: "from a file",
      problem: undefined,
    });
  });
});

Deno.test("secret that cannot be had says why, shows nothing, and does not stop the others", async () => {
  const files = { open: "SECRET", empty: "", line: "\n", large: "x".repeat(65_537), "folder/": "" };
  await withFolder({ ...files, bytes: new Uint8Array([0xff, 0xfe]) }, async (folder) => {
    for (const name of ["empty", "line", "large", "bytes"]) await Deno.chmod(`${folder}/${name}`, 0o600);
    await Deno.chmod(`${folder}/open`, 0o640);
    const secrets = await read({
      A: "env:UNSET",
      B: "env:EMPTY",
      C: "file:open",
      D: "file:empty",
      E: "file:line",
      F: "file:large",
      G: "file:folder",
      H: "file:bytes",
      I: "file:gone",
      J: "env:SET",
    }, folder);
    const problems = [
      "its variable is not set",
      "its variable is not set",
      "others may read its file: chmod 600",
      "its file is empty",
      "its file is empty",
      "its file has more than 65536 bytes",
      "its file is no regular file",
      "its file is no UTF-8 text",
      "its file does not exist",
      undefined,
    ];
    assert.deepEqual(secrets.map(({ problem }) => problem), problems);
    assert.deepEqual(
      secrets.map(({ value }) => value !== undefined),
      problems.map((one) => one === undefined),
    );
    for (const { problem = "" } of secrets) assert(!problem.includes(folder) && !problem.includes("SECRET"));
  });
});

Deno.test("secrets have names that can be bound, and sources that can be read", () => {
  for (
    const bad of [{ "A-B": "env:X" }, { A: "X" }, { A: "env:" }, { A: "file:" }, { A: "env:A B" }, {
      "": "env:X",
    }]
  ) {
    assert.equal(SecretSources.safeParse(bad).success, false, JSON.stringify(bad));
  }
});
