import assert from "node:assert/strict";
import { catalogOf } from "../../actors/library.ts";
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { sealOf } from "../../src/export/export_format.ts";
import { createShelvedLoader, ExportError, readExport } from "../../src/export/export_read.ts";
import { writeExport } from "../../src/export/export_write.ts";
import { createFakeHost, fakeEntry, fakeRoot } from "../support/fake_host.ts";
import { catalogWith } from "../support/tools.ts";
import { digestNow } from "../support/world.ts";

function digest(bytes: Uint8Array): Promise<string> {
  return Promise.resolve(digestNow(bytes));
}

const catalog = new TextEncoder().encode(canonicalJson(catalogWith()));
const catalogHash = digestNow(catalog);
const root: RootRecord = {
  v: 1,
  address: fakeRoot,
  kind: "session",
  createdAt: 0,
  status: "active",
  title: "",
};

function stream(length: number): Entry[] {
  const created = { machine: "session", code: `sha256:${"c".repeat(64)}`, input: {} };
  const issued = { message: { type: "catalog.issued", catalog: { hash: catalogHash, epoch: 1 } } };
  return Array.from({ length }, (_, index): Entry => {
    if (index === 0) return { ...fakeEntry(1, created), kind: "created", type: "session" };
    if (index === 1) return { ...fakeEntry(2, issued), kind: "input", type: "catalog.issued" };
    return fakeEntry(index + 1, { text: `line\n${index}\u2028ä` });
  });
}

async function written(length = 5): Promise<string> {
  let text = "";
  const records = createFakeHost({ entries: stream(length), blob: catalog });
  await writeExport({
    records,
    root,
    digest,
    write: (lines) => {
      text += lines;
      return Promise.resolve();
    },
  });
  return text;
}

async function* pieces(text: string, size = 1_000): AsyncIterable<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function refusalOf(text: string): Promise<string> {
  try {
    await readExport(pieces(text), "x.jsonl", digest);
    return "";
  } catch (error) {
    assert.ok(error instanceof ExportError, String(error));
    return `${error.code}: ${error.message}`;
  }
}

/** Seals anew what was altered: what somebody does who knows the format. */
async function sealedAgain(lines: readonly Json[]): Promise<string> {
  const end = {
    entries: lines.filter((line) => "seq" in (line as object)).length,
    blobs: lines.filter((line) => "blob" in (line as object) && !("seq" in (line as object))).length,
  };
  const texts = lines.map((line) => JSON.stringify(line));
  const genesis = `sha256:${"0".repeat(64)}`;
  const seal = await sealOf(genesis, [...texts, JSON.stringify(end)], digest);
  return `${texts.join("\n")}\n${JSON.stringify({ seal, lines: texts.length, end })}\n`;
}

function linesOf(text: string): Json[] {
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("export gives back every entry and the catalogs that they name", async () => {
  for (const length of [2, 5, 62, 63, 64, 65, 300]) {
    const read = await readExport(pieces(await written(length), 77), "x.jsonl", digest);
    assert.deepEqual(read.entries, stream(length));
    assert.equal(read.header.address, fakeRoot);
    assert.deepEqual([...read.blobs], [[catalogHash, catalog]]);
    await createShelvedLoader(read)(catalogHash);
    assert.deepEqual(catalogOf(catalogHash), catalogWith());
  }
});

Deno.test("export with any one line altered, moved, doubled or left out is refused (B130)", async () => {
  const text = await written(70);
  const lines = text.trimEnd().split("\n");
  const join = (changed: readonly string[]) => `${changed.join("\n")}\n`;
  for (const at of [0, 1, 2, 33, 64, 65, 70, lines.length - 2, lines.length - 1]) {
    const without = lines.filter((_, index) => index !== at);
    assert.match(await refusalOf(join(without)), /^export_/, `without ${at}`);
    assert.match(await refusalOf(join(lines.toSpliced(at, 0, lines[at] ?? ""))), /^export_/, `doubled ${at}`);
    const changed = (lines[at] ?? "").replace(
      /[0-9](?=[^0-9]*$)/,
      (digit) => String((Number(digit) + 1) % 10),
    );
    assert.match(await refusalOf(join(lines.with(at, changed))), /^export_/, `changed ${at}`);
    if (at > 0) {
      const swapped = lines.with(at, lines[at - 1] ?? "").with(at - 1, lines[at] ?? "");
      assert.match(await refusalOf(join(swapped)), /^export_/, `swapped ${at}`);
    }
  }
  assert.match(await refusalOf(`${text}{"seq":71}\n`), /^export_altered/);
});

Deno.test("export names the lines that were altered", async () => {
  const text = (await written(70)).replace('"text":"line\\n2', '"text":"lime\\n2');
  assert.match(await refusalOf(text), /^export_altered: .* lines 1 to 65 were altered/);
});

Deno.test("export that was cut off is refused as such", async () => {
  const text = await written(70);
  const lines = text.split("\n");
  for (const count of [1, 5, 65, 66, lines.length - 2]) {
    assert.match(
      await refusalOf(`${lines.slice(0, count).join("\n")}\n`),
      /^export_truncated/,
      String(count),
    );
  }
  assert.match(await refusalOf(text.slice(0, text.length - 100)), /^export_/);
});

Deno.test("export that is none is told apart from a damaged one", async () => {
  assert.match(await refusalOf(""), /^export_invalid: .*empty/);
  for (const text of ["hello", "{}", '{"troupe":"log"}', "[]", '{"troupe":"export","v":"1"}']) {
    assert.match(await refusalOf(text), /^export_invalid/, text);
  }
  const newer = JSON.stringify({ troupe: "export", v: 2, address: fakeRoot });
  assert.match(await refusalOf(newer), /^export_from_newer_version: .* version 2/);
});

Deno.test("export is bounded in depth and size, line by line (B102, B103)", async () => {
  const [header = ""] = (await written()).split("\n");
  const deep = `{"seq":1,"body":${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
  const many = `{"seq":1,"body":[${"1,".repeat(300_000)}1]}`;
  for (const line of [deep, many, `"${"x".repeat(9_000_000)}`]) {
    assert.match(await refusalOf(`${header}\n${line}\n`), /^export_invalid/, line.slice(0, 30));
  }
  assert.match(await refusalOf("x".repeat(9_000_000)), /^export_invalid/);
});

Deno.test("export whose seals were made anew is still checked: order, numbers, blobs, shapes", async () => {
  const lines = linesOf(await written()).slice(0, -1);
  assert.equal(await refusalOf(await sealedAgain(lines)), "");
  const [header = null, first = null, second = null, ...rest] = lines;
  const cases: readonly (readonly [RegExp, readonly Json[]])[] = [
    [/export_invalid: .*entry 2 stands where 1/, [header, second, first, ...rest]],
    [/export_invalid: .*entry 3 stands where 2/, [header, first, ...rest]],
    [/export_invalid/, [header, { ...first as object, kind: "approved" }, second, ...rest]],
    [/export_invalid/, [header, { ...first as object, v: 2 }, second, ...rest]],
    [/export_altered: .*bytes were altered/, [...lines.slice(0, -1), { blob: catalogHash, base64: "AAAA" }]],
    [/export_invalid/, [...lines, { grant: "everything" }]],
    [/export_invalid/, [{ ...header as object, machine: "root" }, ...lines.slice(1)]],
  ];
  for (const [expected, changed] of cases) {
    assert.match(await refusalOf(await sealedAgain(changed)), expected);
  }
});
