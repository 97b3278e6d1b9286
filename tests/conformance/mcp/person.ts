/** The person of a scenario: types the command that a run names, and opens the page that it shows, in a browser. */

/** A process that was played to its end. */
export interface Played {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** What a person does a run with. */
export interface Desk {
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
}

const main = new URL("../../../main.ts", import.meta.url).pathname;

/** Redirects that a browser follows. */
const redirectsMax = 10;
/** Logins that a person makes for one server before it is enough. */
const loginsMax = 2;

/** Runs an agent, logs in when the run says that a server wants that, and runs it again. Gives the last exit code. */
export async function runAsPerson(desk: Desk): Promise<number> {
  for (let logins = 0;; logins++) {
    const { code, out, err } = await troupe(desk, [
      "run",
      "agent",
      "go",
      "--workspace",
      "ws",
      "--answer",
      "allow",
    ]);
    const [, server] = /: run troupe mcp auth ([a-z0-9-]+)/.exec(out + err) ?? [];
    if (server === undefined || logins === loginsMax) return code;
    const login = ["mcp", "auth", server, "--agent", "agent", "--workspace", "ws", "--json"];
    const { code: refused } = await troupe(desk, login, browse);
    if (refused !== 0) return refused;
  }
}

/** Runs the real command; `onPage` gets the page that it shows a person. What it says goes on to whoever watches. */
export async function troupe(
  { cwd, env }: Desk,
  args: readonly string[],
  onPage: (url: string) => Promise<void> = () => Promise.resolve(),
): Promise<Played> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", main, ...args],
    cwd,
    env: { ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let page: Promise<void> | undefined;
  const read = async (
    stream: ReadableStream<Uint8Array>,
    sink: { writeSync(bytes: Uint8Array): number },
  ) => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      sink.writeSync(bytes);
      text += decoder.decode(bytes, { stream: true });
      const [, url] = /"open":"([^"]+)"/.exec(text) ?? [];
      if (url !== undefined) page ??= onPage(url);
    }
    return text;
  };
  const reading = [
    read(child.stdout, Deno.stdout),
    read(child.stderr, Deno.stderr),
  ] as const;
  const [{ code }, out, err] = await Promise.all([child.status, ...reading]);
  await page;
  return { code, out, err };
}

/** Goes where a page sends it, to the end; who is refused there is told so by the command. */
async function browse(url: string): Promise<void> {
  let next: string | null = url;
  for (let hops = 0; next !== null && hops < redirectsMax; hops++) {
    const response: Response = await fetch(next, { redirect: "manual" });
    await response.body?.cancel();
    const location: string | null = response.headers.get("location");
    next = location === null ? null : new URL(location, next).href;
  }
}
