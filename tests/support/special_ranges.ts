/**
 * What addresses are for, written down from the registries of special-purpose addresses (RFC 6890 and what came after it)
 * and worked out with whole numbers alone: the other side of every comparison with `src/net/address.ts`.
 */

/** `never` is all that no configuration can open. */
export type Verdict = "public" | "loopback" | "private" | "shared" | "unique_local" | "metadata" | "never";

type Range = readonly [first: string, bits: number, verdict: Verdict];

const rangesOfV4: readonly Range[] = [
  ["0.0.0.0", 8, "never"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "shared"],
  ["127.0.0.0", 8, "loopback"],
  ["169.254.0.0", 16, "never"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "never"],
  ["192.0.2.0", 24, "never"],
  ["192.31.196.0", 24, "never"],
  ["192.52.193.0", 24, "never"],
  ["192.88.99.0", 24, "never"],
  ["192.168.0.0", 16, "private"],
  ["192.175.48.0", 24, "never"],
  ["198.18.0.0", 15, "never"],
  ["198.51.100.0", 24, "never"],
  ["203.0.113.0", 24, "never"],
  ["224.0.0.0", 4, "never"],
  ["240.0.0.0", 4, "never"],
  ["255.255.255.255", 32, "never"],
  ["169.254.169.254", 32, "metadata"],
  ["169.254.170.2", 32, "metadata"],
  ["100.100.100.200", 32, "metadata"],
  ["168.63.129.16", 32, "metadata"],
  ["192.0.0.192", 32, "metadata"],
];

const rangesOfV6: readonly Range[] = [
  ["0:0:0:0:0:0:0:0", 128, "never"],
  ["0:0:0:0:0:0:0:1", 128, "loopback"],
  ["64:ff9b:0:0:0:0:0:0", 96, "never"],
  ["64:ff9b:1:0:0:0:0:0", 48, "never"],
  ["100:0:0:0:0:0:0:0", 64, "never"],
  ["100:0:0:1:0:0:0:0", 64, "never"],
  ["2000:0:0:0:0:0:0:0", 3, "public"],
  ["2001:0:0:0:0:0:0:0", 23, "never"],
  ["2001:0:0:0:0:0:0:0", 32, "never"],
  ["2001:2:0:0:0:0:0:0", 48, "never"],
  ["2001:4:112:0:0:0:0:0", 48, "never"],
  ["2001:10:0:0:0:0:0:0", 28, "never"],
  ["2001:20:0:0:0:0:0:0", 28, "never"],
  ["2001:db8:0:0:0:0:0:0", 32, "never"],
  ["2002:0:0:0:0:0:0:0", 16, "never"],
  ["2620:4f:8000:0:0:0:0:0", 48, "never"],
  ["3fff:0:0:0:0:0:0:0", 20, "never"],
  ["5f00:0:0:0:0:0:0:0", 16, "never"],
  ["fc00:0:0:0:0:0:0:0", 7, "unique_local"],
  ["fe80:0:0:0:0:0:0:0", 10, "never"],
  ["fec0:0:0:0:0:0:0:0", 10, "never"],
  ["ff00:0:0:0:0:0:0:0", 8, "never"],
  ["fd00:ec2:0:0:0:0:0:254", 128, "metadata"],
  ["fd20:ce:0:0:0:0:0:254", 128, "metadata"],
];

/** Forms of IPv6 that hold an IPv4 address: what stands before it, what after, and whether it is simply that address. */
const wrappers: readonly (readonly [before: string, after: string, isSame: boolean])[] = [
  ["0:0:0:0:0:ffff:", "", true],
  ["0:0:0:0:0:0:", "", false],
  ["0:0:0:0:ffff:0:", "", false],
  ["64:ff9b:0:0:0:0:", "", false],
  ["64:ff9b:1:0:0:0:", "", false],
  ["2002:", ":0:0:0:0:1", false],
  ["2607:f8b0:4005:809:0:5efe:", "", false],
  ["2607:f8b0:4005:809:200:5efe:", "", false],
];

const ordinary = [
  "1.1.1.1",
  "8.8.8.8",
  "93.184.216.34",
  "2606:2800:220:1:248:1893:25c8:1946",
  "2a00:1450:4001:81b:0:0:0:200e",
];

/** An address and what it is. */
export interface Expected {
  readonly address: string;
  readonly verdict: Verdict;
}

/** More than 300 addresses: both ends and the inside of every range, its neighbours, and IPv4 in the forms of IPv6. */
export function expectedAddresses(): readonly Expected[] {
  const found = new Map<string, Verdict>();
  const add = (address: string) => void found.set(address, verdictOf(address));
  for (const [first, bits] of [...rangesOfV4, ...rangesOfV6]) {
    const { value, width } = numberOf(first);
    const last = value + (1n << BigInt(width - bits)) - 1n;
    const size = last - value;
    for (const at of [value - 2n, value - 1n, value, value + size / 3n, value + size / 2n, last, last + 1n]) {
      if (at >= 0n && at < 1n << BigInt(width)) add(textOf(at, width));
    }
  }
  ordinary.forEach(add);
  for (const [before, after, isSame] of wrappers) {
    for (const inner of ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "0.0.0.0", "8.8.8.8"]) {
      const [first = "", second = ""] = textOf(numberOf(inner).value, 128).split(":").slice(-2);
      const address = `${before}${first}:${second}${after}`;
      const verdict = verdictOf(inner);
      const isNothing = address === "0:0:0:0:0:0:0:0";
      found.set(address, isSame ? verdict : verdict === "metadata" && !isNothing ? "metadata" : "never");
    }
  }
  return [...found].map(([address, verdict]) => ({ address, verdict }));
}

/** The narrowest range counts. What is in none: public for IPv4, not assigned for IPv6. */
function verdictOf(address: string): Verdict {
  const { value, width } = numberOf(address);
  const ranges = width === 32 ? rangesOfV4 : rangesOfV6;
  const found = ranges
    .filter(([first, bits]) =>
      numberOf(first).value >> BigInt(width - bits) === value >> BigInt(width - bits)
    )
    .sort(([, one], [, other]) => other - one);
  return found[0]?.[2] ?? (width === 32 ? "public" : "never");
}

function numberOf(address: string): { readonly value: bigint; readonly width: 32 | 128 } {
  const isV4 = address.includes(".");
  const parts = isV4 ? address.split(".").map(BigInt) : address.split(":").map((part) => BigInt(`0x${part}`));
  const size = isV4 ? 8n : 16n;
  return { value: parts.reduce((sum, part) => (sum << size) + part, 0n), width: isV4 ? 32 : 128 };
}

function textOf(value: bigint, width: number): string {
  const isV4 = width === 32;
  const [size, count] = isV4 ? [8n, 4] : [16n, 8];
  const parts = Array.from(
    { length: count },
    (_, at) => value >> (size * BigInt(count - 1 - at)) & ((1n << size) - 1n),
  );
  return isV4 ? parts.join(".") : parts.map((part) => part.toString(16)).join(":");
}

/** Spellings of one IPv4 address that a URL may hold. All mean the same. */
export function spellingsOf(address: string): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const octal = (value: number) => `0${value.toString(8)}`;
  const hex = (value: number) => `0x${value.toString(16)}`;
  const wide = [...address].map((it) => it === "." ? "\u3002" : String.fromCodePoint(0xff10 + Number(it)));
  const groups = [a * 256 + b, c * 256 + d].map((group) => group.toString(16)).join(":");
  return [
    address,
    `${address}.`,
    String(whole),
    hex(whole),
    octal(whole),
    [a, b, c, d].map(octal).join("."),
    [a, b, c, d].map(hex).join("."),
    [hex(a), octal(b), c, d].join("."),
    [a, b, c * 256 + d].join("."),
    [a, (b * 256 + c) * 256 + d].join("."),
    [...address].map((it) => `%${it.charCodeAt(0).toString(16)}`).join(""),
    wide.join(""),
    address.replaceAll(".", "%2e"),
    `[::ffff:${address}]`,
    `[::ffff:${groups}]`,
    `[0:0:0:0:0:ffff:${groups}]`,
  ];
}
