/** Whether variables of ours get into a manifest's values, and whether secrets get out of texts. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { expandVariables, withoutSecrets } from "../../src/mcp/variables.ts";

const ours: { readonly [name: string]: string } = {
  TOKEN: "t0ken",
  USER: "ada",
  EMPTY: "",
  ODD: "$& ${TOKEN} $$",
};

function read(name: string): string | undefined {
  return Object.hasOwn(ours, name) ? ours[name] : undefined;
}

// Proves DM-67.
Deno.test("variables are put in wherever a value names one, and are secrets from then on", () => {
  const expanded = expandVariables({
    AUTH: "Bearer ${TOKEN}",
    TWICE: "${TOKEN}${USER}-${TOKEN}",
    PLAIN: "as it is",
  }, read);
  assert.deepEqual(expanded, {
    values: { AUTH: "Bearer t0ken", TWICE: "t0kenada-t0ken", PLAIN: "as it is" },
    secrets: ["t0ken", "ada"],
  });
});

Deno.test("variables are taken by braces only, and what they hold is not looked at again", () => {
  const templates = { A: "$TOKEN", B: "$$", C: "${}", D: "${1X}", E: "${TOKEN", F: "$${USER}", G: "${ODD}" };
  const expanded = expandVariables(templates, read);
  assert.deepEqual(expanded, {
    values: { ...templates, F: "$ada", G: "$& ${TOKEN} $$" },
    secrets: ["ada", "$& ${TOKEN} $$"],
  });
  assert.deepEqual(expandVariables({}, read), { values: {}, secrets: [] });
});

// Proves DM-67: the names are told, never a value.
Deno.test("variables that are not set or empty are all named, and nothing is put in", () => {
  const templates = { A: "${ZETA} ${TOKEN}", B: "${EMPTY}", C: "${ZETA} ${constructor}" };
  assert.deepEqual(expandVariables(templates, read), { missing: ["EMPTY", "ZETA", "constructor"] });
});

// Proves DM-53.
Deno.test("secrets are taken out of a text wherever they stand, the longest first", () => {
  assert.equal(withoutSecrets("t0ken, t0ken!", ["t0ken"]), "[redacted], [redacted]!");
  assert.equal(withoutSecrets("t0kent0ken-long", ["t0ken", "t0ken-long"]), "[redacted][redacted]");
  assert.equal(withoutSecrets("a.b aXb $& (", ["a.b", "$&", "("]), "[redacted] aXb [redacted] [redacted]");
  assert.equal(withoutSecrets("nothing here", []), "nothing here");
});

Deno.test("secrets leave no text whole, whatever stands around them", () => {
  // Letters that the replacement itself does not have: a secret such as "red" is found in it again.
  const secret = fc.stringMatching(/^[0-9A-Z]{3,8}$/);
  fc.assert(fc.property(fc.array(secret, { minLength: 1, maxLength: 4 }), fc.string(), (secrets, around) => {
    const text = secrets.map((one) => `${around}${one}`).join("");
    const left = withoutSecrets(text, secrets);
    for (const one of secrets) assert.ok(!left.includes(one), left);
  }));
});
