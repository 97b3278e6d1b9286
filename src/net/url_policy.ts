/** Where a request may go: decided on the parsed URL, then on every address that its name has. Pure: asks nobody. */
import type { FailureCode } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { NetworkConfig } from "../../schemas/network.ts";
import type { HostKind, UrlReason } from "../../schemas/url_decision.ts";
import { type Address, listableKinds, readAddress } from "./address.ts";
import { AllowList } from "./allow_list.ts";
import { readHostName } from "./host_name.ts";

/** A URL that may be resolved. Its host is not judged by its addresses yet. */
export interface UrlTarget {
  readonly url: URL;
  readonly scheme: "http" | "https";
  /** The name without its last dot, or the canonical address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The address, where the URL holds one instead of a name. */
  readonly literal?: Address;
  /** True if the operator listed this name or address for this port. */
  readonly isListed: boolean;
}

/** Why a URL may not be reached, with what the audit may show of it. */
export interface UrlRefusal {
  readonly code: FailureCode;
  readonly reason: Exclude<UrlReason, "allowed">;
  readonly kind?: HostKind;
  /** One line: what is wrong and what to do. Names scheme, host and port at most. */
  readonly message: string;
  readonly scheme?: string;
  readonly host?: string;
  readonly port?: number;
}

/** The hop that a redirect came from. */
export interface Hop {
  readonly scheme: "http" | "https";
  /** True if one hop so far lay on the public network: what it says must not lead into a private one. */
  readonly isPublic: boolean;
}

/** What the policy says of a URL. */
export type UrlVerdict =
  | { readonly type: "target"; readonly target: UrlTarget }
  | { readonly type: "refused"; readonly refusal: UrlRefusal };

/** What the policy says of the addresses of a host: these may be connected to, and no others. */
export type AddressVerdict =
  | { readonly type: "checked"; readonly addresses: readonly string[]; readonly isPublic: boolean }
  | { readonly type: "refused"; readonly refusal: UrlRefusal };

type Words = Pick<UrlRefusal, "code" | "reason" | "kind">;

const schemes: { readonly [protocol: string]: "http" | "https" } = { "http:": "http", "https:": "https" };
const defaultPorts = { http: 80, https: 443 } as const;

/** Where it is named in a refusal what the operator may do. */
const listHint = "list it in network.allow of troupe.yaml if it is meant";

const kindWords: { readonly [K in HostKind]: string } = {
  public: "a public address",
  loopback: "a loopback address",
  private: "a private address",
  shared: "a private address of a carrier",
  unique_local: "a private address",
  link_local: "a link-local address",
  metadata: "a metadata service",
  unspecified: "the unspecified address",
  multicast: "a multicast address",
  reserved: "a reserved address",
  documentation: "an address for documentation",
  special_use: "an address for special use",
  local_name: "a name of a local network",
};

/** One host's policy for every URL that anything of the runtime asks for (DM-74). */
export class UrlPolicy {
  readonly #allow: AllowList;

  constructor(network: NetworkConfig) {
    this.#allow = new AllowList(network.allow);
  }

  /** Judges a URL by what it says. Parsed once: what is connected to is what was judged. */
  judge(text: string, from?: Hop): UrlVerdict {
    const broken = judgeText(text);
    if (broken) return { type: "refused", refusal: broken };
    const url = URL.parse(text);
    if (!url) {
      return refuse(
        { code: "url_invalid", reason: "invalid_url" },
        "Cannot read the URL; give an absolute one",
      );
    }
    const scheme = schemes[url.protocol];
    if (!scheme) {
      const words = { code: "url_scheme", reason: "unsupported_scheme" } as const;
      return refuse(words, `Cannot reach a URL of the scheme "${shortened(url.protocol)}"; use https`, {
        scheme: shortened(url.protocol.slice(0, -1)),
      });
    }
    if (url.username !== "" || url.password !== "") return { type: "refused", refusal: credentials };
    return this.#judgeHost(url, scheme, from);
  }

  /** Judges what a name resolved to. One address that may not be reached refuses the host (DM-75). */
  judgeAddresses(target: UrlTarget, answers: readonly string[], from?: Hop): AddressVerdict {
    const addresses: Address[] = [];
    for (const answer of answers) {
      const address = readAddress(answer);
      if (!address) {
        const words = { code: "url_unresolved", reason: "dns_invalid_address" } as const;
        return refuseTarget(target, words, "its name resolves to something that is no address");
      }
      const refusal = this.#judgeAddress(target, address, from);
      if (refusal) return { type: "refused", refusal };
      if (!addresses.some(({ text }) => text === address.text)) addresses.push(address);
    }
    if (addresses.length === 0) {
      const words = { code: "url_unresolved", reason: "dns_no_addresses" } as const;
      return refuseTarget(target, words, "its name has no address");
    }
    if (addresses.length > limits.dnsAddressesMax) {
      const words = { code: "url_unresolved", reason: "dns_invalid_address" } as const;
      return refuseTarget(target, words, `its name has more than ${limits.dnsAddressesMax} addresses`);
    }
    return {
      type: "checked",
      addresses: addresses.map(({ text }) => text),
      isPublic: addresses.every(({ kind }) => kind === "public"),
    };
  }

  #judgeHost(url: URL, scheme: "http" | "https", from: Hop | undefined): UrlVerdict {
    const port = url.port === "" ? defaultPorts[scheme] : Number(url.port);
    const bare = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
    const literal = readAddress(bare);
    const name = literal ? undefined : readHostName(bare);
    const host = literal?.text ?? name?.name ?? bare;
    const at = { scheme, host: shortened(host), port };
    if (host === "" || !literal && !name) {
      const reason = host === "" ? "missing_hostname" : "invalid_url";
      return refuse({ code: "url_invalid", reason }, "Cannot reach a URL without a valid host name", {
        scheme,
      });
    }
    const isListed = literal ? this.#allow.hasAddress(host, port) : this.#allow.hasName(host, port);
    const target: UrlTarget = { url, scheme, host, port, isListed, ...(literal ? { literal } : {}) };
    const words = wordsOfName(name?.kind, isListed);
    if (words) return refuse(words, messageFor(target, kindWords[words.kind], isListable(words)), at);
    if (literal) {
      const refusal = this.#judgeAddress(target, literal, from);
      if (refusal) return { type: "refused", refusal };
    }
    const why = whyNotReached(target, from);
    return why
      ? refuse(why.words, messageFor(target, why.text, why.isListable), at)
      : { type: "target", target };
  }

  #judgeAddress(target: UrlTarget, { text, kind }: Address, from: Hop | undefined): UrlRefusal | undefined {
    if (kind === "public") return undefined;
    const isKnown = target.isListed || this.#allow.hasAddress(text, target.port);
    const isAllowed = listableKinds.has(kind) && isKnown;
    if (isAllowed && !from?.isPublic) return undefined;
    const words: Words = { code: "url_blocked", reason: reasonOf(kind), kind };
    const what = target.literal ? kindWords[kind] : `its name leads to ${kindWords[kind]}`;
    const why = isAllowed ? `${what}, and a public server sent us there` : what;
    return refusalOf(target, words, messageFor(target, why, listableKinds.has(kind) && !isAllowed));
  }
}

const credentials: UrlRefusal = {
  code: "url_credentials",
  reason: "invalid_url",
  message: "Cannot reach a URL with a user or password in it; give credentials as a header by reference",
};

/** What can be said before parsing, about forms that parsers read differently. */
function judgeText(text: string): UrlRefusal | undefined {
  if (text.length > limits.urlCharactersMax) {
    const message = `Cannot read a URL of more than ${limits.urlCharactersMax} characters`;
    return { code: "url_invalid", reason: "invalid_url", message };
  }
  if (text.startsWith("//")) {
    const message = "Cannot reach a URL without a scheme; begin with https://";
    return { code: "url_scheme", reason: "unsupported_scheme", message };
  }
  const [, afterScheme] = /^https?:(.*)$/is.exec(text) ?? [];
  if (afterScheme !== undefined) {
    const authority = afterScheme.replace(/^[/\\]*/, "").split(/[/?#]/, 1)[0] ?? "";
    if (authority.includes("@")) return credentials;
    if (!/^\/\/[^/\\]/.test(afterScheme)) {
      const message = "Cannot reach a URL without // and a host after its scheme";
      return { code: "url_invalid", reason: "missing_hostname", message };
    }
  }
  // deno-lint-ignore no-control-regex
  if (/[\u0000-\u0020\u007f\\]/.test(text)) {
    const message = "Cannot read a URL with a space, a control character or a backslash in it; encode them";
    return { code: "url_invalid", reason: "invalid_url", message };
  }
  return undefined;
}

function wordsOfName(
  kind: HostKind | undefined,
  isListed: boolean,
): (Words & { readonly kind: HostKind }) | undefined {
  if (kind === "metadata") return { code: "url_blocked", reason: "metadata_hostname", kind };
  if (kind === "local_name" && !isListed) return { code: "url_blocked", reason: "private_hostname", kind };
  return undefined;
}

function isListable({ kind }: Words): boolean {
  return kind === "local_name";
}

interface Why {
  readonly words: Words;
  readonly text: string;
  readonly isListable: boolean;
}

/** Plain http and other ports are for listed places; nobody leads us from https to http. */
function whyNotReached({ scheme, port, isListed }: UrlTarget, from: Hop | undefined): Why | undefined {
  const words: Words = { code: "url_scheme", reason: "unsupported_scheme" };
  if (from?.scheme === "https" && scheme === "http") {
    return { words, text: "a redirect from https to http is not followed", isListable: false };
  }
  if (isListed) return undefined;
  if (scheme === "http") {
    return { words, text: "plain http is not allowed there; use https", isListable: true };
  }
  if (port === defaultPorts.https) return undefined;
  return {
    words: { code: "url_blocked", reason: "unsupported_port" },
    text: "its port is not 443",
    isListable: true,
  };
}

function reasonOf(kind: HostKind): Exclude<UrlReason, "allowed"> {
  if (kind === "metadata") return "metadata_address";
  return listableKinds.has(kind) ? "private_address" : "non_routable_address";
}

/** Scheme, host and port: all that is ever said of a URL (DM-77). */
export function originText({ scheme, host, port }: Pick<UrlTarget, "scheme" | "host" | "port">): string {
  const bracketed = host.includes(":") ? `[${host}]` : host;
  return port === defaultPorts[scheme] ? `${scheme}://${bracketed}` : `${scheme}://${bracketed}:${port}`;
}

function messageFor(target: UrlTarget, what: string, isListable: boolean): string {
  return `Cannot reach ${originText(target)}: ${what}${isListable ? `; ${listHint}` : ""}`;
}

function refuse(words: Words, message: string, at: Partial<UrlRefusal> = {}) {
  return { type: "refused", refusal: { ...words, message, ...at } } as const;
}

function refusalOf({ scheme, host, port }: UrlTarget, words: Words, message: string): UrlRefusal {
  return { ...words, message, scheme, host, port };
}

function refuseTarget(target: UrlTarget, words: Words, what: string) {
  return { type: "refused", refusal: refusalOf(target, words, messageFor(target, what, false)) } as const;
}

function shortened(text: string): string {
  return text.slice(0, 253);
}
