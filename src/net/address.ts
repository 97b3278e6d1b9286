/** What an IP address is for: public, of this machine, of a private network, or nothing that anybody may be sent to. */
import ipaddr from "ipaddr.js";
import type { HostKind } from "../../schemas/url_decision.ts";

/** An address as it is connected to, and what kind it is. */
export interface Address {
  /** Canonical: dotted quad, or the short form of IPv6; an IPv4-mapped address is its IPv4 address. */
  readonly text: string;
  readonly kind: HostKind;
}

/** The kinds that the operator may list. All others but `public` are never reached (DM-79, DM-80). */
export const listableKinds: ReadonlySet<HostKind> = new Set([
  "loopback",
  "private",
  "shared",
  "unique_local",
]);

type Range = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];
type Row = readonly [kind: HostKind, ranges: readonly string[]];

/**
 * From the IANA registries of special-purpose addresses, the first match counts. Metadata services come first: they lie
 * inside other ranges, one of them among ordinary public addresses.
 */
const rowsOfV4: readonly Row[] = [
  ["metadata", [
    "169.254.169.254/32",
    "169.254.170.2/32",
    "169.254.170.23/32",
    "100.100.100.200/32",
    "168.63.129.16/32",
    "192.0.0.192/32",
  ]],
  ["special_use", ["192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24"]],
  ["special_use", ["192.0.0.0/24", "198.18.0.0/15"]],
  ["documentation", ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"]],
];

const rowsOfV6: readonly Row[] = [
  ["metadata", ["fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128"]],
  ["documentation", ["2001:db8::/32", "3fff::/20"]],
  ["special_use", ["2001::/23", "2002::/16", "2620:4f:8000::/48"]],
];

/** Ranges by the library's names, where they mean one thing. */
const kindOfRange: { readonly [range: string]: HostKind } = {
  unspecified: "unspecified",
  broadcast: "reserved",
  multicast: "multicast",
  linkLocal: "link_local",
  loopback: "loopback",
  carrierGradeNat: "shared",
  private: "private",
  uniqueLocal: "unique_local",
  reserved: "reserved",
};

const tableOfV4 = parseRows(rowsOfV4);
const tableOfV6 = parseRows(rowsOfV6);

/** Ranges of IPv6 that carry an IPv4 address in their last 32 bits, or where else it is said. */
const wrappers: readonly (readonly [range: Range, offset: number])[] = [
  [ipaddr.parseCIDR("::/96"), 12],
  [ipaddr.parseCIDR("::ffff:0:0:0/96"), 12],
  [ipaddr.parseCIDR("64:ff9b::/96"), 12],
  [ipaddr.parseCIDR("64:ff9b:1::/48"), 12],
  [ipaddr.parseCIDR("2002::/16"), 2],
];

const mapped = ipaddr.parseCIDR("::ffff:0:0/96");
const globalUnicast = ipaddr.parseCIDR("2000::/3");

/**
 * Says what `text` is for, or nothing if it is no address in its usual form: four decimal parts, or IPv6 without a zone.
 * What no row and no range of the library calls public is not public.
 */
export function readAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return describeV4(ipaddr.IPv4.parse(text));
  if (text.includes("%") || !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.IPv6.parse(text);
  if (address.match(mapped as [ipaddr.IPv6, number])) return describeV4(innerOf(address, 12));
  return { text: address.toRFC5952String(), kind: kindOfV6(address) };
}

/** True if `text` lies in the range that begins at `first` and fixes `bits` leading bits. */
export function liesInRange(text: string, first: string, bits: number): boolean {
  const address = ipaddr.parse(text);
  const range = ipaddr.parse(first);
  return address.kind() === range.kind() && matches(address, [range, bits]);
}

function describeV4(address: ipaddr.IPv4): Address {
  return { text: address.toString(), kind: kindOfV4(address) };
}

function kindOfV4(address: ipaddr.IPv4): HostKind {
  const row = tableOfV4.find(([, ranges]) => ranges.some((range) => matches(address, range)));
  if (row) return row[0];
  const range = address.range();
  return range === "unicast" ? "public" : kindOfRange[range] ?? "special_use";
}

function kindOfV6(address: ipaddr.IPv6): HostKind {
  const row = tableOfV6.find(([, ranges]) => ranges.some((range) => matches(address, range)));
  const range = address.range();
  if (row && row[0] !== "special_use") return row[0];
  if (range === "loopback" || range === "unspecified") return kindOfRange[range] ?? "special_use";
  const inner = wrappedIn(address);
  if (inner) return kindOfV4(inner) === "metadata" ? "metadata" : "special_use";
  if (row) return row[0];
  if (range !== "unicast") return kindOfRange[range] ?? "special_use";
  return matches(address, globalUnicast) ? "public" : "reserved";
}

/** The IPv4 address that a translating or tunnelling form of IPv6 leads to. */
function wrappedIn(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const wrapper = wrappers.find(([range]) => matches(address, range));
  if (wrapper) return innerOf(address, wrapper[1]);
  const [, , , , fifth = 0, sixth] = address.parts;
  // ISATAP: the interface's half begins with 0000:5efe or 0200:5efe, the IPv4 address follows.
  return (fifth & ~0x0200) === 0 && sixth === 0x5efe ? innerOf(address, 12) : undefined;
}

function innerOf(address: ipaddr.IPv6, offset: number): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(offset, offset + 4));
}

function matches(address: ipaddr.IPv4 | ipaddr.IPv6, [first, bits]: Range): boolean {
  if (address instanceof ipaddr.IPv4) return first instanceof ipaddr.IPv4 && address.match(first, bits);
  return first instanceof ipaddr.IPv6 && address.match(first, bits);
}

function parseRows(rows: readonly Row[]): readonly (readonly [HostKind, readonly Range[]])[] {
  return rows.map(([kind, ranges]) => [kind, ranges.map((range) => ipaddr.parseCIDR(range))] as const);
}
