/** The one thing of a program that runs in a thread: a page is read. It needs a server, so it has the network. */
import { runProcess } from "./process.ts";
import type { Program, Tell } from "./scenario.ts";

const agent =
  "name: reader\nmodel: scripted/script.yaml\ntools: [web_extract]\ncapabilities: [network.fetch]\n";
const page =
  "<html><head><title>Page</title></head><body><h1>Read in a thread</h1><p>by all.</p></body></html>";

/** Has the program read a page of this machine. True if its text came. */
export async function playPageThread(program: Program, tell: Tell): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-page-" });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response(page, { headers: { "content-type": "text/html" } }),
  );
  try {
    await write(`${folder}/reader`, "agent.yaml", agent);
    await write(`${folder}/reader`, "script.yaml", "answers: [{ text: none }]\n");
    await write(`${folder}/.config/troupe`, "troupe.yaml", "network: { allow: [127.0.0.1] }\n");
    const wanted = JSON.stringify({ url: `http://127.0.0.1:${server.addr.port}/` });
    const { code, out, err } = await runProcess({
      command: program.command,
      args: [...program.args, "call", "./reader", "web_extract", wanted, "--answer", "allow"],
      cwd: folder,
      env: { HOME: folder, NO_COLOR: "1", ...program.env },
      isCleared: true,
    });
    const isWell = code === 0 && out.includes("Read in a thread");
    tell("a page, read in a thread", isWell ? undefined : `exit code ${code}\n${out}${err}`.trim());
    return isWell;
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
}

async function write(folder: string, name: string, text: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/${name}`, text);
}
