/** `troupe record`. */
import type { RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Script } from "../../schemas/script.ts";
import { familyOf } from "../ancestors.ts";
import type { Records } from "../host/host.ts";
import { composeScript, ScriptFold, type ScriptLosses } from "../records/script_fold.ts";
import { stringifyYaml } from "../yaml.ts";
import { type Call, type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { writeNewFile } from "./new_file.ts";
import { withProgress } from "./progress.ts";
import { findSession } from "./session_name.ts";

const options = {
  store: storeOption,
  output: { kind: "text", short: "o", value: "FILE", help: "the file to write; default: standard output" },
  force: { kind: "flag", help: "replace the file if it exists" },
  json: { ...jsonOption, help: "print JSON about what was written, with -o" },
} as const;

/** Writes a script. */
export const command = defineCommand({
  args: ["SESSION"],
  about: [
    "Writes what the models of a session said as a script: troupe run AGENT PROMPT --script FILE plays it again with the",
    "same prompts, without the models and without a key, so that a real run becomes a test. What child agents and",
    "servers asked models for is in it too. A script holds answers only: tools are called anew.",
    "It is made from the journal, whoever the provider was. SESSION is an id, a part of one, or last.",
  ],
  options,
  examples: [
    "troupe record last -o tests/reading.yaml",
    "troupe record last > reading.yaml",
  ],
  run,
});

async function run({ cli, options: given, args }: Call<typeof options>): Promise<0> {
  const { output, force, json } = given;
  if (json && output === undefined) {
    throw new UsageError(
      "option_invalid",
      "--json goes with -o FILE: without it the script itself is printed",
    );
  }
  const host = await openReading(cli, await locateStore(cli, given.store));
  try {
    const root = await findSession(host, args[0] ?? "");
    if (root.kind !== "session") {
      throw new UsageError("root_not_found", `"${root.address}" is no session: see troupe sessions`);
    }
    const { script, losses } = await withProgress(
      cli,
      `reading ${root.address}`,
      () => readScript(host, root),
    );
    const { address } = root;
    if (script.answers.length === 0) {
      throw new UsageError("script_empty", `No model has answered in ${address}: there is nothing to record`);
    }
    const text = `# What the models of ${address} said. Plays with: troupe run AGENT PROMPT --script FILE\n${
      stringifyYaml(plain(script))
    }`;
    if (output === undefined) cli.terminal.out.write(text);
    else {
      await writeNewFile(cli, { path: output, force }, (write) => write(text));
      const { answers, conversations = [] } = script;
      const counts = { answers: answers.length, conversations: conversations.length };
      if (json) cli.terminal.out.line(jsonLine({ file: output, address, ...counts, losses: { ...losses } }));
      else {
        cli.terminal.out.line(`Wrote ${wordsOf(counts)} of ${address} to ${output}`);
      }
    }
    sayLosses(cli, losses);
    return exitCodes.ok;
  } finally {
    await host.close();
  }
}

async function readScript(host: Records, root: RootRecord) {
  const own = await fold(host, root.address);
  const others: ScriptFold[] = [];
  for (const { address } of familyOf(await host.listRoots(), root.address)) {
    if (address !== root.address) others.push(await fold(host, address));
  }
  return composeScript(own, others);
}

async function fold(host: Records, address: RootAddress): Promise<ScriptFold> {
  const folded = new ScriptFold();
  for await (const page of host.readPages(address)) for (const entry of page) folded.take(entry);
  folded.end();
  return folded;
}

/** What a script says by default is not said. */
function plain({ answers, conversations }: Script): Partial<Script> {
  return { answers, ...(conversations === undefined ? {} : { conversations }) };
}

function wordsOf({ answers, conversations }: { readonly answers: number; readonly conversations: number }) {
  const own = `${answers} answer${answers === 1 ? "" : "s"}`;
  if (conversations === 0) return own;
  return `${own} and ${conversations} other conversation${conversations === 1 ? "" : "s"}`;
}

function sayLosses({ terminal: { err } }: Cli, { secrets, failures, doubles }: ScriptLosses): void {
  if (secrets > 0) {
    err.line(`Without the secrets in the arguments of ${secrets} calls: put others in their place`);
  }
  if (failures > 0) {
    err.line(`Without ${failures} failures of models that had no answer of the same model after them`);
  }
  if (doubles > 0) {
    err.line(`Without ${doubles} conversations that begin like another one: of those the first counts`);
  }
}
