/** The address of a remote store: what may be one, and how its refusals are told. */
import { StoreError } from "./store.ts";

/** The variable that holds the token of a remote store. Deno reads it itself; we only name it. */
export const tokenVariable = "DENO_KV_ACCESS_TOKEN";

/** True for a location that is an address, not a file. */
export function isAddress(location: string): boolean {
  return /^https?:/i.test(location);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** The address in its one spelling. Refuses one that would carry the token in the clear, or that holds secrets itself. */
export function checkedAddress(location: string): string {
  const url = URL.parse(location);
  if (url === null) {
    throw new StoreError("store_unusable", `Cannot use "${location}" as store: it is no address`);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    const shown = `${url.protocol}//${url.host}${url.pathname}`;
    throw new StoreError(
      "store_unusable",
      `Cannot use "${shown}" as store: its address holds more than a host and a path; the token goes into ${tokenVariable}`,
    );
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw new StoreError(
      "store_insecure",
      `Cannot use "${url.href}" as store: http shows the token to everybody on the way; use https`,
    );
  }
  return url.href;
}

/** Text in an error of Deno's client, and what it means. The first that fits counts. */
const meanings: readonly (readonly [RegExp, StoreError["code"], string])[] = [
  [
    /Missing DENO_KV_ACCESS_TOKEN/,
    "store_unauthorized",
    `${tokenVariable} is not set; set it to the token of the store`,
  ],
  [/not a valid KV Connect endpoint/, "store_unusable", "what answers there is no KV Connect server"],
  [/status[ =]40[13]\b/, "store_unauthorized", `it does not accept the token in ${tokenVariable}`],
  [
    /unsupported KV Connect metadata version/,
    "store_protocol_unsupported",
    "it speaks another version of KV Connect; versions 1 to 3 are known here",
  ],
  [
    /failed to connect to|responded with status 5|status=5|error sending request/,
    "store_unreachable",
    "nobody answers there; look at the address and at the server",
  ],
  [/not a valid KV Connect endpoint/, "store_unusable", "what answers there is no KV Connect server"],
  [/status[ =]4\d\d/, "store_unusable", "it refuses; look at the address"],
];

/** What an error of the client means; undefined if that is not known. */
export function refusalOf(error: Error): readonly [StoreError["code"], string] | undefined {
  const found = meanings.find(([pattern]) => pattern.test(error.message));
  return found === undefined ? undefined : [found[1], found[2]];
}
