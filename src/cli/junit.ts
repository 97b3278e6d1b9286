/** JUnit XML: what CI systems show of checks. A few elements, written plainly. */

/** One check. */
export interface TestCase {
  readonly name: string;
  /** What did not hold; undefined if all did. */
  readonly failure?: { readonly message: string; readonly text: string } | undefined;
  /** Why it could not be looked at. */
  readonly error?: { readonly message: string; readonly type: string } | undefined;
}

/** Checks that belong together. */
export interface TestSuite {
  readonly name: string;
  readonly cases: readonly TestCase[];
  readonly durationMs: number;
}

/** The report of these suites. */
export function junitXml(name: string, suites: readonly TestSuite[]): string {
  const all = suites.flatMap(({ cases }) => cases);
  const durationMs = suites.reduce((sum, suite) => sum + suite.durationMs, 0);
  const head = `<testsuites name=${quoted(name)} ${countsOf(all, durationMs)}>`;
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...suites.flatMap(suiteLines), "</testsuites>", ""]
    .join("\n");
}

function suiteLines({ name, cases, durationMs }: TestSuite): readonly string[] {
  const head = `  <testsuite name=${quoted(name)} ${countsOf(cases, durationMs)}>`;
  return [head, ...cases.flatMap((one) => caseLines(name, one)), "  </testsuite>"];
}

function countsOf(cases: readonly TestCase[], durationMs: number): string {
  const failures = cases.filter(({ failure }) => failure !== undefined).length;
  const errors = cases.filter(({ error }) => error !== undefined).length;
  const time = (durationMs / 1_000).toFixed(3);
  return `tests="${cases.length}" failures="${failures}" errors="${errors}" time="${time}"`;
}

function caseLines(suite: string, { name, failure, error }: TestCase): readonly string[] {
  const head = `    <testcase classname=${quoted(suite)} name=${quoted(name)}`;
  if (error !== undefined) {
    const line = `      <error type=${quoted(error.type)} message=${quoted(error.message)}/>`;
    return [`${head}>`, line, "    </testcase>"];
  }
  if (failure === undefined) return [`${head}/>`];
  const line = `      <failure message=${quoted(failure.message)}>${escaped(failure.text)}</failure>`;
  return [`${head}>`, line, "    </testcase>"];
}

function quoted(text: string): string {
  return `"${escaped(text).replaceAll('"', "&quot;").replaceAll("\n", "&#10;").replaceAll("\t", "&#9;")}"`;
}

/** Characters that XML 1.0 has no way to write, not even escaped, and halves of pairs. */
const unwritable =
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function escaped(text: string): string {
  return text.replace(unwritable, "\ufffd").replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;").replaceAll("\r", "&#13;");
}
