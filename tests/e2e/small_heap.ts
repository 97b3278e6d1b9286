/**
 * A runtime with a heap of 64 MiB, as the test says that started it, that is given too much of everything: prints what
 * became of each, one JSON line. Arguments: the folder of the test, and the port of a server.
 */
import { readJson } from "../../src/border.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { openOwnerSession } from "../support/owner_session.ts";
import { parseYaml } from "../../src/yaml.ts";

const [folder = "", port = ""] = Deno.args;
const seams = createSystemSeams({ log: () => {} });
const { host, session } = await openOwnerSession({
  location: `${folder}/store.db`,
  folder,
  seams,
  config: { network: { allow: ["127.0.0.1"] } },
});

async function call(tool: string, given: { readonly [name: string]: unknown }): Promise<string> {
  const order = {
    session,
    request: { call: { tool, arguments: given as never } },
    key: seams.nextId("key"),
    fromSeq: 1,
  };
  try {
    const report = await host.prompt({ ...order, answers: true }, (event) => {
      if (event.type !== "question") return;
      const { id, shown } = event.question;
      void host.answer(id, { decision: "allow", by: { kind: "operator", id: "local" }, shown }).catch(
        () => {},
      );
    });
    return report.call?.failure?.code ?? report.call?.error?.code ?? report.call?.outcome ?? report.outcome;
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): string {
  return (error as { readonly code?: string }).code ?? String(error).slice(0, 200);
}

/** What a parser says of a text. */
function parsed(parse: () => unknown): string {
  try {
    parse();
    return "taken";
  } catch (error) {
    return codeOf(error);
  }
}

function yaml(text: string): string {
  return parsed(() => parseYaml(text, { file: "bad.yaml" }));
}

const bomb = [
  "a: &a [x, x, x, x, x, x, x, x, x]",
  ..."bcdefgh".split("").map((name, index) => {
    const before = String.fromCharCode(97 + index);
    return `${name}: &${name} [${Array(9).fill(`*${before}`).join(", ")}]`;
  }),
].join("\n");

const found = {
  deep: parsed(() => readJson("[".repeat(1_000_000))),
  large: parsed(() => readJson(`"${"x".repeat(9 * 1_048_576)}"`)),
  many: parsed(() => readJson(`[${"1,".repeat(200_000)}1]`)),
  bomb: yaml(bomb),
  longYaml: yaml(`a: ${"x".repeat(2 * 1_048_576)}`),
  deepYaml: yaml("[".repeat(10_000)),
  file: await call("read_file", { path: "large.txt" }),
  search: await call("search_files", { pattern: "(a+)+$", path: "." }),
  output: await call("terminal", { argv: ["head", "-c", "100000000", "/dev/zero"] }),
  lines: await call("terminal", { argv: ["seq", "1", "1000000"] }),
  endless: await call("web_extract", { url: `http://127.0.0.1:${port}/endless` }),
  gzip: await call("web_extract", { url: `http://127.0.0.1:${port}/gzip` }),
  prompt: await host.prompt(
    { session, request: { text: "x".repeat(300_000) }, key: "long", fromSeq: 1, answers: false },
    () => {},
  ).then(({ outcome }) => outcome, codeOf),
  after: await call("read_file", { path: "a.txt" }),
};
await host.close();
console.log(JSON.stringify(found));
