/** Has a program serve its API by HTTP: its description is fetched, and it ends when it is told to. */
import type { Program, Tell } from "./scenario.ts";

const patienceMs = 20_000;

/** Starts it, asks once, and ends it. True if it answered and ended well. */
export async function playHttp(program: Program, tell: Tell): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-http-" });
  const child = new Deno.Command(program.command, {
    args: [...program.args, "serve", "demo", "--port", "0", "--store", `${folder}/store.db`],
    cwd: folder,
    clearEnv: true,
    env: { HOME: folder, NO_COLOR: "1", ...program.env },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  try {
    const address = await firstAddress(child.stdout);
    const token = (await Deno.readTextFile(`${folder}/store.db.token`)).trim();
    const response = await fetch(`${address}/v1/openapi.json`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const text = await response.text();
    child.kill("SIGTERM");
    const { code } = await child.status;
    const isWell = response.status === 200 && text.includes('"openapi"') && code === 0;
    tell("serve by HTTP", isWell ? undefined : `status ${response.status}, exit code ${code}\n${text}`);
    return isWell;
  } catch (error) {
    tell("serve by HTTP", error instanceof Error ? error.message : String(error));
    return false;
  } finally {
    clearTimeout(timer);
    await Deno.remove(folder, { recursive: true });
  }
}

async function firstAddress(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of stream.values({ preventCancel: true })) {
    text += decoder.decode(bytes, { stream: true });
    const [address] = /http:\/\/[\d.:]+\d/.exec(text) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error(`It prints no address: ${text}`);
}
