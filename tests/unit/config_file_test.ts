/** Config files: what is wrong is said at its place, with what to do, and never with the value. */
import assert from "node:assert/strict";
import { z } from "zod";
import { ConfigError, readConfigFile } from "../../src/config_file.ts";

const Wheel = z.strictObject({ size: z.number().int() });
const Bicycle = z.strictObject({
  name: z.string().min(2),
  color: z.enum(["red", "blue"]).default("red"),
  wheels: z.array(Wheel).max(2).default([]),
  bell: z.boolean().optional(),
  lamp: z.union([z.string(), z.strictObject({ watts: z.number() })]).optional(),
  tags: z.record(z.string().regex(/^[a-z]+$/), z.string()).optional(),
  brake: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("rim"), pads: z.number() }),
    z.strictObject({ kind: z.literal("disc") }),
  ]).optional(),
});

async function refusalOf(text: string): Promise<ConfigError> {
  try {
    await readConfigFile(Bicycle, text, "bicycle.yaml");
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    assert.equal(error.code, "config_invalid");
    return error;
  }
  assert.fail(`accepted: ${text}`);
}

Deno.test("config file gives what its schema makes of the text", async () => {
  const bicycle = await readConfigFile(Bicycle, "name: ada\nwheels:\n  - size: 28\n", "bicycle.yaml");
  assert.deepEqual(bicycle, { name: "ada", color: "red", wheels: [{ size: 28 }] });
});

Deno.test("config file reports an unknown key at that key", async () => {
  const error = await refusalOf("name: ada\nwheels:\n  - size: 28\n    spoke: 1\n");
  assert.equal(
    error.message,
    'Cannot read "bicycle.yaml": bicycle.yaml:4:5: unknown key "spoke" in "wheels[0]"; remove it or correct its spelling',
  );
  assert.deepEqual([error.file, error.line, error.column], ["bicycle.yaml", 4, 5]);
});

Deno.test("config file says what is missing or of the wrong kind, and where", async () => {
  const vectors: readonly (readonly [string, string])[] = [
    ["color: red", '1:1: the key "name" is missing; add it with a string'],
    ["name: 5", '1:7: "name" must be a string; this is a number'],
    ["name: [x]", '1:7: "name" must be a string; this is a list'],
    ["name:", '1:1: "name" must be a string; this is empty'],
    ["name: ada\nbell: yes", '2:7: "bell" must be true or false; this is a string'],
    ["name: ada\nwheels: [{size: 2.5}]", '2:17: "wheels[0].size" must be a whole number; this is a fraction'],
    ["name: ada\nwheels: [{}]", '2:10: the key "wheels[0].size" is missing; add it with a number'],
    ["name: ada\ncolor: pink", '2:8: "color" must be one of "red", "blue"; this is another value, a string'],
    ["name: ada\nlamp: []", '2:7: "lamp" must be a string or a map of keys and values; this is a list'],
    ["name: ada\nlamp:\n  watts: x", '3:10: "lamp.watts" must be a number; this is a string'],
    ["name: ada\nlamp: {watts: 1, volts: 2}", '2:18: unknown key "volts" in "lamp"'],
    ["name: ada\nbrake: {kind: drum}", '2:15: "brake.kind" is not accepted: '],
    ["name: ada\nbrake: {kind: rim}", '2:8: the key "brake.pads" is missing; add it with a number'],
    ["name: ada\ntags:\n  ok: x\n  NO: y", '4:3: the key "tags.NO" is not accepted'],
    ["name: a", '1:7: "name" is not accepted: too small'],
    ["", "1:1: the file must be a map of keys and values; this is empty"],
    ["- ada", "1:1: the file must be a map of keys and values; this is a list"],
  ];
  for (const [text, expected] of vectors) {
    const { message } = await refusalOf(text);
    const start = `Cannot read "bicycle.yaml": bicycle.yaml:${expected}`;
    assert.equal(message.slice(0, start.length), start, message);
  }
});

Deno.test("config file lists at most five complaints, in the order of the text", async () => {
  const error = await refusalOf("a1: 1\na2: 1\na3: 1\nname: 1\na4: 1\na5: 1\na6: 1\n");
  const lines = error.message.split("\n");
  assert.equal(lines[0], 'Cannot read "bicycle.yaml":');
  assert.equal(lines.length, 7);
  assert.deepEqual(lines.slice(1, 6).map((line) => line.trim().split(":")[1]), ["1", "2", "3", "4", "5"]);
  assert.equal(lines[6], "  and 2 more");
});

Deno.test("config file never shows a value", async () => {
  const secret = "sk-very-secret";
  const texts = [
    `name: ada\ncolor: ${secret}`,
    `name: ada\nbell: ${secret}`,
    `name: ada\nbrake: {kind: ${secret}}`,
  ];
  for (const text of texts) assert.ok(!(await refusalOf(text)).message.includes(secret), text);
});

Deno.test("config file passes on the refusals of the YAML reader", async () => {
  await assert.rejects(readConfigFile(Bicycle, "name: &a x", "bicycle.yaml"), {
    name: "YamlError",
    code: "yaml_alias_refused",
  });
});
