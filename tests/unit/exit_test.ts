import assert from "node:assert/strict";
import { exitCodes, exitMeanings, InterruptedError, reportError, UsageError } from "../../src/cli/exit.ts";
import { ExportError } from "../../src/export/export_read.ts";
import { ConfigError } from "../../src/config_file.ts";
import { BorderError } from "../../src/border.ts";
import { DoorError } from "../../src/door/protocol.ts";
import { KernelError } from "../../src/kernel/kernel.ts";
import { StoreError, type StoreErrorCode } from "../../src/journal/store.ts";
import { YamlError } from "../../src/yaml.ts";

Deno.test("exit codes are those that are documented", () => {
  assert.deepEqual(exitCodes, {
    ok: 0,
    failed: 1,
    usage: 2,
    damaged: 3,
    inUse: 4,
    fenced: 5,
    newer: 6,
    waiting: 7,
    interrupted: 130,
  });
  assert.deepEqual(Object.keys(exitMeanings), Object.keys(exitCodes));
});

Deno.test("exit code of every store error tells what kind of trouble it is", () => {
  const expected: { readonly [K in StoreErrorCode]: number } = {
    store_in_use: 4,
    store_busy: 4,
    store_fenced: 5,
    store_corrupt: 3,
    journal_corrupt: 3,
    store_from_newer_version: 6,
    store_unauthorized: 2,
    store_unreachable: 1,
    store_insecure: 2,
    store_protocol_unsupported: 2,
    lease_lost: 5,
    store_not_found: 2,
    store_unusable: 2,
    id_too_long: 2,
    store_full: 1,
    value_too_large: 1,
  };
  for (const [code, exit] of Object.entries(expected)) {
    const error = new StoreError(code as StoreErrorCode, "Cannot");
    assert.deepEqual(reportError(error), { message: "Cannot", code, exit });
    // Behind the door the code is all that is left of the class.
    assert.equal(reportError(new DoorError(code, "Cannot")).exit, exit);
  }
});

Deno.test("exit code of every other error follows its code", () => {
  const place = { line: 1, column: 1 };
  const cases: readonly (readonly [Error, string, number])[] = [
    [new UsageError("option_unknown", "x"), "option_unknown", 2],
    [new ConfigError("x", "f", place), "config_invalid", 2],
    [new YamlError("yaml_syntax", "f", place, "x"), "yaml_syntax", 2],
    [new BorderError("json_too_deep", "x"), "json_too_deep", 3],
    [new ExportError("export_altered", "x"), "export_altered", 3],
    [new ExportError("export_from_newer_version", "x"), "export_from_newer_version", 6],
    [new KernelError("root_not_found", "x"), "root_not_found", 2],
    [new KernelError("mailbox_full", "x"), "mailbox_full", 1],
    [new DoorError("door_closed", "x"), "door_closed", 1],
    [new DoorError("owner_missing", "x"), "owner_missing", 2],
    [new InterruptedError("x"), "interrupted", 130],
    [new Deno.errors.NotFound("x"), "file_not_found", 2],
    [new TypeError("x"), "internal", 1],
    [Object.assign(new Error("x"), { code: "ENOENT" }), "internal", 1],
  ];
  for (const [error, code, exit] of cases) {
    const report = reportError(error);
    assert.deepEqual([report.code, report.exit], [code, exit], `${error.name} ${code}`);
  }
  assert.deepEqual(reportError("thrown text"), { message: "thrown text", code: "internal", exit: 1 });
});

Deno.test("exit report is one line", () => {
  assert.equal(reportError(new Error("Cannot read:\n  a:1:1: x\n  b")).message, "Cannot read: a:1:1: x b");
});
