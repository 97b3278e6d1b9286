/** Several processes that take one store at the same moment: one gets it. */
import assert from "node:assert/strict";
import { onStage } from "./troupe.ts";

const program = new URL("./store_racer.ts", import.meta.url).pathname;
const racers = 3;
const races = 100;

class Racer {
  readonly #child: Deno.ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;

  constructor(path: string) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", program, path],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#lines = linesOf(this.#child.stdout);
  }

  async ask(line: string): Promise<string> {
    await this.#input.write(new TextEncoder().encode(`${line}\n`));
    return await this.heard();
  }

  async heard(): Promise<string> {
    return (await this.#lines.next()).value ?? "ended";
  }

  async end(): Promise<void> {
    await this.#input.close();
    await this.#lines.return?.();
    await this.#child.status;
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream() as never) as ReadableStream<string>) {
    text += part;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      yield text.slice(0, end);
      text = text.slice(end + 1);
    }
  }
}

Deno.test("store that three processes take at the same moment, a hundred times, is run by exactly one of them each time (I13, G8)", async () => {
  await onStage(async (stage) => {
    const all = Array.from({ length: racers }, () => new Racer(stage.path("store.db")));
    try {
      for (const racer of all) assert.equal(await racer.heard(), "ready");
      for (let race = 1; race <= races; race++) {
        const told = (await Promise.all(all.map((racer) => racer.ask("take")))).sort();
        const others = Array.from({ length: racers - 1 }, () => "store_in_use");
        // Epochs without a gap: whoever was refused has not touched the store.
        assert.deepEqual(told, [...others, `won ${race}`]);
        await Promise.all(all.map((racer) => racer.ask("rest")));
      }
    } finally {
      await Promise.all(all.map((racer) => racer.end()));
    }
  });
});
