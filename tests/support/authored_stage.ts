/** An owner in this process, with an agent in a folder that has tools of its own; their jails are real processes. */
import assert from "node:assert/strict";
import { HostConfig } from "../../schemas/config.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { localOperator } from "../../schemas/principal.ts";
import { readToolFiles } from "../../src/authored/tool_file.ts";
import { describeTool } from "../../src/authored/described_tool.ts";
import { TrustedTools, trustedToolsFolder } from "../../src/authored/trusted_tools.ts";
import { loadAgent } from "../../src/host/agent_folder.ts";
import { openOwner, type OwnerHost } from "../../src/host/open_host.ts";
import type { CallReport } from "../../src/turn_report.ts";
import { seams, self, withJails } from "./jails.ts";

/** What the stage is made with. */
export interface AuthoredStageOptions {
  /** Texts of tool files by their names below `tools/`. */
  readonly tools: { readonly [file: string]: string };
  /** Lines of agent.yaml besides name and model. */
  readonly agent?: string;
  readonly capabilities?: readonly string[];
  readonly config?: unknown;
  readonly env?: { readonly [name: string]: string };
  /** Files of the workspace. */
  readonly files?: { readonly [path: string]: string };
}

/** One note of a session's journal. */
export type Note = { readonly [key: string]: unknown };

/** A session of the agent, and the host that runs it. */
export interface AuthoredStage {
  readonly folder: string;
  readonly host: OwnerHost;
  readonly trusted: TrustedTools;
  readonly session: RootAddress;
  /** Calls a tool of the session, and gives how that ended; questions are allowed. */
  call(tool: string, given?: JsonObject): Promise<CallReport>;
  /** Why tool files are none, by their names. */
  readonly refused: { readonly [name: string]: string };
  notes(type: string): Promise<readonly Note[]>;
  /** All that the session's journal holds, as text. */
  journal(): Promise<string>;
}

/** Opens a stage, trusts the tools that can be trusted, begins a session, and ends all of it. */
export async function withAuthored(
  options: AuthoredStageOptions,
  test: (stage: AuthoredStage) => Promise<void>,
): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "troupe-authored-" }));
  const { tools, files = {}, agent = "", capabilities = [], config = {}, env = {} } = options;
  const yaml = `name: maker\nmodel: scripted/script.yaml\ncapabilities: ${
    JSON.stringify(capabilities)
  }\n${agent}`;
  const all: [string, string][] = [
    ["agent/agent.yaml", yaml],
    ["agent/script.yaml", "answers: [{ text: Hello }]\n"],
    ...Object.entries(tools).map(([name, text]): [string, string] => [`agent/tools/${name}`, text]),
    ...Object.entries(files).map(([path, text]): [string, string] => [`ws/${path}`, text]),
  ];
  await Deno.mkdir(`${folder}/ws`);
  for (const [path, text] of all) {
    await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${path}`, text);
  }
  const trustFile = `${folder}/trusted.json`;
  const trusted = new TrustedTools(trustedToolsFolder(trustFile));
  const refused = await trustAll(`${folder}/agent`, trusted);
  const read = (name: string) => name === "TROUPE_TRUST" ? trustFile : env[name];
  const host = await openOwner({
    location: `${folder}/store.db`,
    config: HostConfig.parse(config),
    seams,
    env: read,
    self,
    isAttended: true,
  });
  try {
    const session = await begin(host, folder);
    await test({
      folder,
      host,
      trusted,
      session,
      refused,
      call: (tool, given = {}) => callOf(host, { session, tool, given }),
      notes: async (type) =>
        (await entriesOf(host, session)).filter((one) => one.type === type).map(({ body }) => body as Note),
      journal: async () => JSON.stringify(await entriesOf(host, session)),
    });
  } finally {
    await host.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Trusts the tools of a folder as they are; gives why others cannot be. */
export async function trustAll(
  folder: string,
  trusted: TrustedTools,
): Promise<{ readonly [name: string]: string }> {
  const refused: Record<string, string> = {};
  await withJails(async ({ pool }) => {
    for (const file of await readToolFiles(folder, seams.digest)) {
      const told = "problem" in file ? undefined : await describeTool(file, { pool, clock: seams.clock });
      if ("problem" in file) refused[file.name] = file.problem;
      else if (told !== undefined && "code" in told) refused[file.name] = told.message;
      else if (told !== undefined) {
        const { fingerprint, file: name, folder } = file;
        const one = {
          v: 1,
          fingerprint,
          file: name,
          folder,
          at: 0,
          level: "third_party",
          definition: told,
        } as const;
        assert.equal(await trusted.add(one), undefined);
      }
    }
  });
  return refused;
}

/** Begins a session of the agent in `folder`. */
export async function begin(host: OwnerHost, folder: string): Promise<RootAddress> {
  const agent = await loadAgent(`${folder}/agent`, { cwd: folder, digest: seams.digest });
  return await host.createSession({
    agent: agent.definition,
    coreRevision: agent.coreRevision,
    home: { agent: agent.home, workspace: `${folder}/ws` },
    title: "maker",
    servers: [],
  });
}

/** Calls one tool in a turn of its own; answers what is asked meanwhile. */
export async function callOf(
  host: OwnerHost,
  { session, tool, given }: {
    readonly session: RootAddress;
    readonly tool: string;
    readonly given: JsonObject;
  },
): Promise<CallReport> {
  const report = await host.prompt({
    session,
    request: { call: { tool, arguments: given } },
    key: seams.nextId("cmd"),
    fromSeq: 1,
    answers: true,
  }, (event) => {
    if (event.type !== "question") return;
    const { id, shown, subject } = event.question;
    // What may have happened is given up; everything else is allowed.
    const isDoubt = subject.kind === "uncertain";
    const words = isDoubt
      ? { decision: "abandon", note: "nobody knows" } as const
      : { decision: "allow" } as const;
    void host.answer(id, { ...words, by: localOperator, shown });
  });
  assert(report.call !== undefined, JSON.stringify(report.failure));
  return report.call;
}

async function entriesOf(host: OwnerHost, session: RootAddress) {
  const entries = [];
  for await (const page of host.readPages(session)) entries.push(...page);
  return entries;
}
