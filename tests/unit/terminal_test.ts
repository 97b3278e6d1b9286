import assert from "node:assert/strict";
import { createTerminal, safeText, type Terminal } from "../../src/cli/terminal.ts";
import { jsonLine } from "../../src/cli/json_line.ts";

/** A terminal or pipes made of strings. */
function createFake(
  options: { readonly terminal: boolean; readonly colours?: boolean; readonly lines?: string[] },
) {
  const shown = { out: "", err: "" };
  const waiting: ((text: string) => void)[] = [];
  const sink = (name: "out" | "err") => ({
    isTerminal: () => options.terminal,
    writeSync: (bytes: Uint8Array) => {
      // Not more than a few bytes at once: what the system may do.
      const part = bytes.subarray(0, 7);
      parts[name].push(part.slice());
      shown[name] = new TextDecoder().decode(new Uint8Array(parts[name].flatMap((one) => [...one])));
      return part.length;
    },
  });
  const parts: { out: Uint8Array[]; err: Uint8Array[] } = { out: [], err: [] };
  const terminal: Terminal = createTerminal({
    stdout: sink("out"),
    stderr: sink("err"),
    stdin: {
      isTerminal: () => options.terminal,
      read: (buffer) =>
        new Promise((resolve) =>
          waiting.push((text) => {
            const bytes = new TextEncoder().encode(text);
            buffer.set(bytes);
            resolve(text === "" ? null : bytes.length);
          })
        ),
    },
    colours: options.colours ?? true,
    columns: () => 40,
  });
  return { terminal, shown, type: (text: string) => waiting.shift()?.(text), reads: () => waiting.length };
}

Deno.test("terminal text shows what would act on a terminal (B121)", () => {
  const attacks: readonly (readonly [string, string])[] = [
    ["\x1b[2J\x1b[1;1H", "\\u{1b}[2J\\u{1b}[1;1H"],
    ["\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\\u{1b}]8;;http://x\\u{1b}\\link\\u{1b}]8;;\\u{1b}\\"],
    ["\x1b]52;c;aGk=\x07", "\\u{1b}]52;c;aGk=\\u{7}"],
    ["\x1bPq#0\x1b\\", "\\u{1b}Pq#0\\u{1b}\\"],
    ["safe\b\b\b\bevil", "safe\\u{8}\\u{8}\\u{8}\\u{8}evil"],
    ["good\rbad", "good\\u{d}bad"],
    ["\x9b31m", "\\u{9b}31m"],
    ["\u202eevil\u2066x\u200b", "\\u{202e}evil\\u{2066}x\\u{200b}"],
    ["a\tb\nc", "a\tb\nc"],
    ["a\r\nb", "a\nb"],
    ["größe 漢字 👍", "größe 漢字 👍"],
  ];
  for (const [text, expected] of attacks) assert.equal(safeText(text), expected);
});

Deno.test("terminal JSON holds nothing that acts on a terminal, and means the same (B121)", () => {
  const value = { "a\u009b": "\x1b[2J\u202e\x7f\u{e0041}ä" };
  const line = jsonLine(value);
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u202e]|\u{e0041}/u);
  assert.deepEqual(JSON.parse(line), value);
  assert.match(line, /ä/);
});

Deno.test("terminal has colours only where it is one and they are allowed", () => {
  for (
    const [terminal, colours, expected] of [
      [true, true, "\x1b[31mx\x1b[39m"],
      [true, false, "x"],
      [false, true, "x"],
    ] as const
  ) {
    const fake = createFake({ terminal, colours });
    assert.equal(fake.terminal.out.style.red("x"), expected);
  }
});

Deno.test("terminal writes everything, in whatever pieces the system takes it", () => {
  const { terminal, shown } = createFake({ terminal: false });
  terminal.out.line("a long line with größe and 漢字 in it");
  assert.equal(shown.out, "a long line with größe and 漢字 in it\n");
});

Deno.test("terminal begins a line where one is asked for", () => {
  const { terminal, shown } = createFake({ terminal: false });
  terminal.out.write("half");
  terminal.err.line("other pipe");
  terminal.out.line("whole");
  assert.deepEqual(shown, { out: "half\nwhole\n", err: "other pipe\n" });
});

Deno.test("terminal is one screen for both ways out", () => {
  const { terminal, shown } = createFake({ terminal: true });
  terminal.out.write("half");
  terminal.err.line("note");
  terminal.out.line("next");
  assert.deepEqual(shown, { out: "halfnext\n", err: "\nnote\n" });
});

Deno.test("terminal shows its status below what is said, and takes it away", () => {
  const { terminal, shown } = createFake({ terminal: true, colours: false });
  terminal.status("working on something that is longer than the screen is wide");
  terminal.err.line("news");
  terminal.status(undefined);
  const status = "working on something that is longer tha";
  assert.equal(shown.err, `${status}\r\x1b[2Knews\n${status}\r\x1b[2K`);
});

Deno.test("terminal status says nothing on pipes, and never inside a line", () => {
  const pipe = createFake({ terminal: false });
  pipe.terminal.status("working");
  assert.equal(pipe.shown.err, "");
  const screen = createFake({ terminal: true, colours: false });
  screen.terminal.out.write("half a line");
  screen.terminal.status("working");
  assert.equal(screen.shown.err, "");
});

Deno.test("terminal goes on when nobody reads its output any more", () => {
  const terminal = createTerminal({
    stdout: {
      isTerminal: () => false,
      writeSync: () => {
        throw new Deno.errors.BrokenPipe();
      },
    },
    stderr: { isTerminal: () => false, writeSync: (bytes) => bytes.length },
    stdin: { isTerminal: () => false, read: () => Promise.resolve(null) },
    colours: false,
    columns: () => undefined,
  });
  terminal.out.line("x");
  assert.equal(terminal.isClosed, true);
  terminal.out.line("y");
});

Deno.test("terminal gives the line that is typed, and nothing at the end of input", async () => {
  const { terminal, type } = createFake({ terminal: true });
  const signal = new AbortController().signal;
  const first = terminal.readLine(signal);
  type("allow\n");
  assert.equal(await first, "allow");
  const second = terminal.readLine(signal);
  type("");
  assert.equal(await second, undefined);
  assert.equal(await terminal.readLine(signal), undefined);
});

Deno.test("terminal never takes a line that was begun for one question as the answer to another", async () => {
  const { terminal, type, reads } = createFake({ terminal: true });
  const withdrawn = new AbortController();
  const first = terminal.readLine(withdrawn.signal);
  withdrawn.abort();
  assert.equal(await first, undefined);
  const second = terminal.readLine(new AbortController().signal);
  assert.equal(reads(), 1);
  type("a\n");
  assert.equal(await second, "");
  const third = terminal.readLine(new AbortController().signal);
  type("d\n");
  assert.equal(await third, "d");
});
