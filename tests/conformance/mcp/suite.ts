/** Plays scenarios of the protocol's own conformance suite against the real command, each alone, one after another. */
import assert from "node:assert/strict";

const suite = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";
const driver = new URL("client.ts", import.meta.url).pathname;
/** The suite has packages of its own: nobody but these tests needs them. */
const config = new URL("deno.json", import.meta.url).pathname;

/** How long a scenario may take on a machine that has much else to do. Milliseconds. */
const patienceMs = 120_000;

/** Scenarios about logins that every revision scores: a run is refused, a person logs in by a browser, the run works. */
export const logins = [
  "auth/metadata-default",
  "auth/metadata-var1",
  "auth/metadata-var2",
  "auth/metadata-var3",
  "auth/basic-cimd",
  "auth/scope-from-www-authenticate",
  "auth/scope-from-scopes-supported",
  "auth/scope-omitted-when-undefined",
  "auth/scope-step-up",
  "auth/scope-retry-limit",
  "auth/token-endpoint-auth-basic",
  "auth/token-endpoint-auth-post",
  "auth/token-endpoint-auth-none",
  "auth/pre-registration",
] as const;

/** What 2026-07-28 scores. */
export const revision2026 = "2026-07-28";
export const played2026 = {
  logins: [
    ...logins,
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/authorization-server-migration",
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
  ],
  others: [
    "tools_call",
    "request-metadata",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "sep-2322-client-request-state",
    // Not scored, passed all the same.
    "json-schema-2020-12-preservation",
  ],
} as const;

/** How long the suite may take to say its first word, in milliseconds, and how often it is started. */
const firstWordMs = 60_000;
const startsMax = 3;

/** What the suite said, and how it ended. */
export interface Told {
  readonly code: number;
  readonly told: string;
}

/**
 * Runs the suite with these words. On a busy machine Deno 2.9.6 now and then stops for ever while it loads one of the
 * suite's packages (async-generator-function, its `require.mjs`): a suite that has said nothing for long is started anew.
 */
export async function askSuite(...words: readonly string[]): Promise<Told> {
  for (let started = 1;; started++) {
    const told = await startSuite(words);
    if (told !== undefined) return told;
    assert.ok(
      started < startsMax,
      `the suite said nothing in ${firstWordMs} ms, ${started} times: ${words.join(" ")}`,
    );
  }
}

/** Undefined if the suite never said a word. */
async function startSuite(words: readonly string[]): Promise<Told | undefined> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--config", config, suite, ...words],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let told = "";
  let isStuck = false;
  const timer = setTimeout(() => {
    isStuck = true;
    child.kill("SIGKILL");
  }, firstWordMs);
  const hear = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      clearTimeout(timer);
      told += decoder.decode(bytes, { stream: true });
    }
  };
  const [{ code }] = await Promise.all([child.status, hear(child.stdout), hear(child.stderr)]);
  clearTimeout(timer);
  return isStuck ? undefined : { code, told };
}

/** How scenarios are played. */
interface PlayOptions {
  /** More than one for those that measure time: a busy machine is late now and then. */
  readonly tries?: number;
  /** True for those of extensions, which belong to no revision. */
  readonly isExtension?: boolean;
}

/** One test for each scenario. */
export function testScenarios(
  revision: string,
  scenarios: readonly string[],
  { tries = 1, isExtension = false }: PlayOptions = {},
): void {
  for (const scenario of scenarios) {
    Deno.test(`conformance suite for ${revision} passes troupe as a client: ${scenario}`, async () => {
      const words = [
        ...["client", "--command", `${Deno.execPath()} run -A --quiet ${driver}`],
        ...["--scenario", scenario, "--spec-version", revision, "--timeout", String(patienceMs)],
        ...(isExtension ? ["--force"] : []),
      ];
      let { code, told } = await askSuite(...words);
      for (let tried = 1; code !== 0 && tried < tries; tried++) ({ code, told } = await askSuite(...words));
      assert.equal(code, 0, told);
      assert.match(told, /OVERALL: PASSED/);
    });
  }
}

/** The scenarios that the suite has for a revision. */
export async function scenariosFor(
  revision: string,
): Promise<readonly string[]> {
  const { told } = await askSuite("list", "--client");
  const lines = told.matchAll(/^ {2}- (\S+) \[([^\]]*)\]$/gm);
  return [...lines].filter(([, , of = ""]) => of.split(",").includes(revision))
    .map(([, name = ""]) => name);
}
