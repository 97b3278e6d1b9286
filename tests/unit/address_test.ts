/** Addresses against a table that was worked out without the code that is tested. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { listableKinds, readAddress } from "../../src/net/address.ts";
import { expectedAddresses, type Verdict } from "../support/special_ranges.ts";

function verdictOf(address: string): Verdict | "unreadable" {
  const kind = readAddress(address)?.kind;
  if (kind === undefined) return "unreadable";
  if (kind === "public" || kind === "metadata" || listableKinds.has(kind)) return kind as Verdict;
  return "never";
}

Deno.test("addresses are what the registries say, over 300 of them (DM-79, DM-80, B65, B66, B67)", () => {
  const expected = expectedAddresses();
  assert.ok(expected.length >= 300, String(expected.length));
  const wrong = expected
    .map(({ address, verdict }) => ({ address, verdict, found: verdictOf(address) }))
    .filter(({ verdict, found }) => verdict !== found);
  assert.deepEqual(wrong, []);
});

Deno.test("an address is called by its kind (B65, B66, B67, B68)", () => {
  const kinds = {
    "127.8.9.1": "loopback",
    "::1": "loopback",
    "10.2.3.4": "private",
    "100.64.0.1": "shared",
    "fd12::1": "unique_local",
    "169.254.1.1": "link_local",
    "fe80::1": "link_local",
    "0.0.0.0": "unspecified",
    "0.0.0.1": "unspecified",
    "::": "unspecified",
    "255.255.255.255": "reserved",
    "224.0.0.1": "multicast",
    "ff02::1": "multicast",
    "198.51.100.7": "documentation",
    "2001:db8::7": "documentation",
    "198.18.0.1": "special_use",
    "::7f00:1": "special_use",
    "2002:7f00:1::": "special_use",
    "64:ff9b::a00:1": "special_use",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2": "special_use",
    "4000::1": "reserved",
    "fd00:ec2::254": "metadata",
    "::ffff:169.254.169.254": "metadata",
    "64:ff9b::a9fe:a9fe": "metadata",
    "1.1.1.1": "public",
  };
  for (const [address, kind] of Object.entries(kinds)) {
    assert.equal(readAddress(address)?.kind, kind, address);
  }
});

Deno.test("an IPv4-mapped address is its IPv4 address in every form (B65, DM-81)", () => {
  for (const form of ["::ffff:10.0.0.1", "::ffff:a00:1", "0:0:0:0:0:ffff:0a00:0001", "::FFFF:10.0.0.1"]) {
    assert.deepEqual(readAddress(form), { text: "10.0.0.1", kind: "private" }, form);
  }
});

Deno.test("what resolvers must not answer is no address: zones, numbers, octal, names (DM-75)", () => {
  const forms = [
    "fe80::1%eth0",
    "2130706433",
    "0177.0.0.1",
    "0x7f.1",
    "127.1",
    "localhost",
    "",
    "1.2.3.4.",
    "::g",
  ];
  for (const form of forms) assert.equal(readAddress(form), undefined, form);
});

Deno.test("bounds of requests fit into each other", () => {
  assert.ok(limits.httpConnectMs + limits.dnsMs < limits.httpTotalMs);
  assert.ok(limits.httpDecodeSliceBytes * 1_032 < limits.httpBodyBytesMax, "a slice cannot fill a body");
  assert.deepEqual(
    [limits.dnsMs, limits.dnsAddressesMax, limits.httpRedirectsMax, limits.httpInflationMax],
    [5_000, 16, 5, 100],
  );
});
