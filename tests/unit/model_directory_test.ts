/** The models of a host: names, what holds for them, and every reason why one cannot be asked (CM-116). */
import assert from "node:assert/strict";
import { HostConfig } from "../../schemas/config.ts";
import { ConfigError, readConfigFile } from "../../src/config_file.ts";
import { HostModels, openDirectory } from "../../src/host/host_models.ts";
import { type FoundModel, type FoundSecret, ModelDirectory } from "../../src/model/model_directory.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { createSystemSeams } from "../../src/system_seams.ts";

const key = "sk-test-0c6e41a97d25";

const config = HostConfig.parse({
  providers: {
    local: { kind: "openai_compatible", base_url: "http://127.0.0.1:11434/v1", allow_private: true },
    cloud: { kind: "anthropic", api_key: "env:CLOUD_KEY", models: ["big", "small"] },
    keyless: { kind: "openai", api_key: "env:NO_SUCH_KEY" },
    headless: {
      kind: "openai_compatible",
      base_url: "https://models.example/v1",
      headers: { authorization: "env:NO_SUCH_KEY" },
    },
    off: { kind: "google", api_key: "env:CLOUD_KEY", enabled: false },
    inside: { kind: "openai_compatible", base_url: "http://10.1.2.3/v1" },
  },
  models: {
    fast: { model: "local/llama3.2", fallbacks: ["cloud/small"], limits: { context_tokens: 8_192 } },
    best: "cloud/big",
    retired: { model: "cloud/small", enabled: false },
    elsewhere: "nowhere/x",
  },
});

function open() {
  return openDirectory(config, (name) => name === "CLOUD_KEY" ? key : undefined);
}

function reason(found: FoundModel): string {
  return found.isAvailable ? "available" : found.reason;
}

Deno.test("model directory tells why a model cannot be asked, and what to do about it (CM-116)", async () => {
  const directory = await open();
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ["locla/x", "unknown_provider", /there is no model provider "locla": did you mean local\?/],
    [
      "elsewhere",
      "unknown_provider",
      /no model provider "nowhere": known are local, .*add it to providers of troupe/,
    ],
    ["cloud/huge", "unknown_model", /"cloud" has no model "huge" in troupe\.yaml; it has big, small/],
    ["fats", "unknown_model", /models of troupe\.yaml has no "fats": did you mean fast\?/],
    ["retired", "model_disabled", /set its enabled in troupe\.yaml/],
    ["off/gemini", "provider_disabled", /the provider "off" is off/],
    ["inside/x", "policy_disabled", /base_url of the provider "inside": .*allow_private: true/],
    [
      "keyless/gpt",
      "missing_credential",
      /api_key of the provider "keyless" is env:NO_SUCH_KEY, and its variable is/,
    ],
    ["headless/x", "missing_credential", /authorization of the provider "headless" is env:NO_SUCH_KEY/],
  ];
  for (const [name, wanted, words] of cases) {
    const found = directory.find(name);
    assert.equal(reason(found), wanted, name);
    assert.match(found.isAvailable ? "" : found.message, words);
    assert.ok(found.isAvailable || !found.message.includes("\n"));
  }
  assert.equal(reason(directory.find("cloud/small")), "available");
});

Deno.test("model directory gives a model what holds for it, and lists all that can be named", async () => {
  const directory = await open();
  const fast = directory.find("fast");
  assert.ok(fast.isAvailable);
  assert.deepEqual([
    fast.provider,
    fast.model,
    fast.capabilities.maxContextTokens,
    fast.capabilities.strictToolSchema,
  ], [
    "local",
    "llama3.2",
    8_192,
    false,
  ]);
  const best = directory.find("best");
  assert.ok(best.isAvailable);
  assert.deepEqual([best.apiKey, best.baseUrl, best.capabilities.strictToolSchema], [
    key,
    "https://api.anthropic.com/v1",
    true,
  ]);
  assert.deepEqual(directory.fallbacksOf("fast"), ["cloud/small"]);
  // The id of a model may have slashes of its own.
  const nested = directory.find("local/org/model:7b");
  assert.ok(nested.isAvailable && nested.model === "org/model:7b");
  const names = directory.list().map((found) => `${found.name} ${reason(found)}`);
  assert.ok(names.includes("local/* available") && names.includes("cloud/big available"), names.join());
  assert.ok(names.includes("retired model_disabled") && !names.some((name) => name.startsWith("cloud/*")));
});

Deno.test("model that cannot be asked fails before anything is sent, with a code and without the key", async () => {
  const known = new KnownSecrets();
  const { clock } = createSystemSeams({ log: () => {} });
  const models = new HostModels({
    directory: await open(),
    known,
    clock,
    log: () => {},
  });
  const cases = [
    ["nowhere/x", "model_unknown"],
    ["keyless/gpt", "model_login_failed"],
    ["inside/x", "model_failed"],
  ] as const;
  for (const [name, code] of cases) {
    await assert.rejects(models.open(name), (error: { failure: { code: string; retryable: boolean } }) => {
      assert.deepEqual([error.failure.code, error.failure.retryable], [code, false]);
      return true;
    });
  }
  assert.equal(known.isIn(`x ${key} y`), true);
  models.close();
});

Deno.test("configuration of each kind of provider that README shows can be asked as it stands there", async () => {
  const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));
  const [, section = ""] = readme.split("\n## Models\n");
  const blocks = [...(section.split("\n## ")[0] ?? "").matchAll(/```yaml\n([^]*?)```/g)].map((
    [, text = ""],
  ) => text);
  assert.equal(blocks.length, 5);
  const kinds: string[] = [];
  for (const text of blocks) {
    assert.ok(text.trimEnd().split("\n").length <= 5);
    const shown = await readConfigFile(HostConfig, text, "README.md");
    const keys = Object.values(shown.providers).map((
      { api_key = "" },
    ) => [api_key, { value: key, problem: undefined }]);
    const directory = new ModelDirectory({
      config: shown,
      secrets: new Map(keys as [string, FoundSecret][]),
    });
    for (const found of directory.list()) {
      assert.ok(found.isAvailable, found.name);
      kinds.push(found.config.kind);
    }
  }
  assert.deepEqual([...new Set(kinds)], ["openai_compatible", "openai", "anthropic", "google"]);
});

Deno.test("configuration of providers and models says at its place what is wrong and what to type", async () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      "providers: { a: { kind: openai_compatible } }",
      /needs base_url, like http:\/\/localhost:11434\/v1/,
    ],
    ["providers: { a: { kind: anthropic } }", /needs api_key, like env:ANTHROPIC_API_KEY/],
    ["providers: { a: { kind: openai, api_key: sk-123 } }", /must look like env:NAME or file:PATH/],
    ["providers: { a: { kind: mistral, api_key: 'env:X' } }", /one of "openai_compatible", "openai"/],
    [
      "providers: { a: { kind: openai, api_key: 'env:X', base_url: 'localhost:1' } }",
      /must be a URL like https/,
    ],
    ["providers: { a: { kind: openai, api_key: 'env:X', base_url: 'https://u:p@h/v1' } }", /without a login/],
    [
      "providers: { a: { kind: openai, api_key: 'env:X', headers: { Authorization: Bearer abc } } }",
      /a secret does not stand here: name it, like env:NAME/,
    ],
    ["providers: { scripted: { kind: openai, api_key: 'env:X' } }", /not "scripted"/],
    ["providers: { a: { kind: openai, api_key: 'env:X', colour: red } }", /unknown key "colour"/],
    ["models: { fast: gpt-5 }", /must look like provider\/model/],
    ["models: { fast: { model: a/b, price: 3 } }", /unknown key "price"/],
    ["models: { a/b: c/d }", /the key "models\.a\/b" is not accepted/],
  ];
  for (const [text, words] of cases) {
    await assert.rejects(readConfigFile(HostConfig, text, "troupe.yaml"), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, words, text);
      assert.match(error.message, /troupe\.yaml:1:\d+: /);
      assert.ok(!error.message.includes("sk-123") && !error.message.includes("Bearer abc"));
      return true;
    });
  }
});
