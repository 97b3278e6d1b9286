/** A child's side of the dialogue: answers requests from standard input until it ends. */
import { TextLineStream } from "./text_lines.ts";
import type { Services } from "./protocol.ts";

/** Answers every line of standard input with one line on standard output. Resolves when the input ends. */
export async function serve(services: Services): Promise<void> {
  const known = services as { readonly [name: string]: ((request: unknown) => Promise<unknown>) | undefined };
  await say({ ready: true });
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) {
    const request = JSON.parse(line) as { readonly do: string };
    const service = known[request.do];
    try {
      if (service === undefined) throw new Error(`Cannot do "${request.do}" here`);
      await say({ ok: await service(request) });
    } catch (error) {
      await say({ error: error instanceof Error ? error.stack ?? error.message : String(error) });
    }
  }
}

async function say(answer: unknown): Promise<void> {
  const bytes = new TextEncoder().encode(`${JSON.stringify(answer)}\n`);
  for (let written = 0; written < bytes.length;) {
    written += await Deno.stdout.write(bytes.subarray(written));
  }
}
