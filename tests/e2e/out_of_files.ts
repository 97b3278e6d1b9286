/**
 * A runtime that takes all its file descriptors but a few, as the test says that started it, and calls tools then: prints
 * what became of each, one JSON line. Arguments: the folder of the test, and the port of a server.
 */
import { createSystemSeams } from "../../src/system_seams.ts";
import { openOwnerSession } from "../support/owner_session.ts";

const [folder = "", port = ""] = Deno.args;
const seams = createSystemSeams({ log: () => {} });
const { host, session } = await openOwnerSession({
  location: `${folder}/store.db`,
  folder,
  seams,
  config: { network: { allow: ["127.0.0.1"] } },
});

async function call(tool: string, given: Record<string, never>): Promise<string> {
  const request = { call: { tool, arguments: given } };
  const key = seams.nextId("key");
  const order = { session, request, key, fromSeq: 1, answers: true };
  const report = await host.prompt(order, (event) => {
    if (event.type !== "question") return;
    const { id, shown } = event.question;
    void host.answer(id, { decision: "allow", by: { kind: "operator", id: "local" }, shown }).catch(() => {});
  });
  return report.call?.failure?.code ?? report.call?.error?.code ?? report.call?.outcome ?? report.outcome;
}

async function look(): Promise<readonly string[]> {
  return [
    await call("terminal", { argv: ["echo", "hello"] } as never),
    await call("web_extract", { url: `http://127.0.0.1:${port}/` } as never),
  ];
}

/** Takes every descriptor that there is, but `free` of them. */
function takeAll(free: number): readonly Deno.FsFile[] {
  const taken: Deno.FsFile[] = [];
  try {
    for (;;) taken.push(Deno.openSync("/dev/null"));
  } catch {
    // None is left.
  }
  for (const one of taken.splice(0, free)) one.close();
  return taken;
}

// Once, so that what is loaded when it is needed is there.
const before = await look();
const without: string[] = [];
for (let free = 0; free < 24; free += 2) {
  const taken = takeAll(free);
  without.push(...await look());
  for (const one of taken) one.close();
}
const after = await look();
await host.close();
console.log(JSON.stringify({ before, without, after }));
