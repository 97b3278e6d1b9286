/** The URL policy as a table: what a URL says, and what its name resolves to. */
import assert from "node:assert/strict";
import { HostConfig } from "../../schemas/config.ts";
import { limits } from "../../schemas/limits.ts";
import { NetworkConfig, NetworkPlace } from "../../schemas/network.ts";
import { UrlPolicy, type UrlTarget } from "../../src/net/url_policy.ts";
import { spellingsOf } from "../support/special_ranges.ts";

const strict = new UrlPolicy(NetworkConfig.parse({}));

/** `code:kind`, `code:reason` where there is no kind, or `target`. */
function verdictOf(url: string, policy = strict): string {
  const verdict = policy.judge(url);
  if (verdict.type === "target") return "target";
  const { code, kind, reason } = verdict.refusal;
  return `${code}:${kind ?? reason}`;
}

function targetOf(policy: UrlPolicy, url: string): UrlTarget {
  const verdict = policy.judge(url);
  assert.equal(verdict.type, "target", url);
  return (verdict as { readonly target: UrlTarget }).target;
}

/** What a name resolved to is judged as: `checked`, or `code:reason`. */
function answersVerdict(url: string, answers: readonly string[], policy = strict): string {
  const verdict = policy.judgeAddresses(targetOf(policy, url), answers);
  return verdict.type === "checked" ? "checked" : `${verdict.refusal.code}:${verdict.refusal.reason}`;
}

const table: { readonly [verdict: string]: readonly string[] } = {
  "target": [
    "https://example.com",
    "https://example.com/",
    "https://example.com:443/a?b=c#d",
    "https://EXAMPLE.com./path",
    "HTTPS://example.com/",
    "https://a.b.c.d.example.co.uk/x",
    "https://b\u00fccher.example/",
    "https://xn--bcher-kva.example/",
    "https://example.com/@user",
    "https://example.com/?q=http://127.0.0.1/",
    "https://example.com/#@127.0.0.1",
    "https://93.184.216.34/",
    "https://1.1.1.1./",
    "https://[2606:2800:220:1:248:1893:25c8:1946]/",
    "https://[::ffff:8.8.8.8]/",
    "https://127.0.0.1.example.com/",
    "https://localhost.example.com/",
    "https://my-internal.example/",
    "https://_mcp.example.com/",
    "https://ex%61mple.com/",
    "https://\uff45xample.com/",
    "https://metadata.example.com/",
    "https://169-254-169-254.example/",
    "https://host1.example/%2e%2e/%00",
  ],
  "url_scheme:unsupported_scheme": [
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "blob:https://example.com/3f2a",
    "gopher://example.com:70/_x",
    "ftp://example.com/",
    "ws://example.com/",
    "wss://example.com/",
    "unix:/var/run/docker.sock",
    "//example.com/path",
    "//127.0.0.1/",
    "mailto:a@example.com",
    "about:blank",
    "ldap://example.com/",
    "dict://example.com:11211/",
    "jar:http://example.com!/",
    "view-source:https://example.com/",
    "ssh://example.com/",
    "http://example.com/",
    "http://93.184.216.34/",
    "http://example.com:8080/",
  ],
  "url_credentials:invalid_url": [
    "https://user@example.com/",
    "https://user:password@example.com/",
    "https://:password@example.com/",
    "https://@example.com/",
    "http://good.example@127.0.0.1/",
    "https://good.example%40@127.0.0.1/",
    "https://good.example\\@127.0.0.1/",
    "https://127.0.0.1\\@good.example/",
    "https://example.com:80@127.0.0.1/",
    "https://127.0.0.1:80@example.com/",
    "https:user@example.com",
    "https:///user@example.com/",
    "https://user@@example.com/",
    "https://a:b:c@[::1]/",
  ],
  "url_invalid:invalid_url": [
    "",
    " https://example.com/",
    "https://example.com/ ",
    "https://exa mple.com/",
    "https://exa\nmple.com/",
    "https://exa\tmple.com/",
    "https://example.com/\r\nHost: evil",
    "https://example.com\\path",
    "https://example.com/\u0000",
    "example.com",
    "/relative",
    "?query",
    "https://[::1",
    "https://[fe80::1%25eth0]/",
    "https://[fe80::1%eth0]/",
    "https://example.com:99999/",
    "https://example.com:port/",
    "https://exa<mple.com/",
    "https://exa|mple.com/",
    "https://1.2.3.4.5/",
    "https://256.1.1.1/",
    "https://0x1ffffffff/",
    "https://example.com%00.evil.example/",
    "https://%zz.example/",
    "https://-dash-.example/",
    `https://${"a".repeat(64)}.example/`,
    `https://${"a.".repeat(130)}example/`,
    `https://example.com/${"x".repeat(limits.urlCharactersMax)}`,
    "https://exa!mple.com/",
    "https://xn--a/",
  ],
  "url_invalid:missing_hostname": [
    "https://",
    "https:///",
    "https:",
    "https:example.com",
    "https:/example.com",
    "http://",
  ],
  "url_blocked:unsupported_port": [
    "https://example.com:80/",
    "https://example.com:22/",
    "https://example.com:8443/",
    "https://93.184.216.34:6379/",
    "https://example.com:0/",
  ],
  "url_blocked:local_name": [
    "http://localhost/",
    "https://localhost./",
    "https://LOCALHOST/",
    "https://x.localhost/",
    "https://a.b.localhost./",
    "https://localhost.localdomain/",
    "https://host.docker.internal/",
    "https://printer.local/",
    "https://printer.local./",
    "https://db.internal/",
    "https://router.home.arpa/",
    "https://intranet/",
    "https://wiki/",
    "https://example.com../",
    "https://localhost../",
    "https://a..example.com/",
    "https://git.corp/",
    "https://\uff4c\uff4f\uff43\uff41\uff4chost/",
  ],
  "url_blocked:metadata": [
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.170.2/v2/credentials",
    "https://[fd00:ec2::254]/latest/",
    "https://[fd20:ce::254]/",
    "http://100.100.100.200/latest/meta-data/",
    "http://168.63.129.16/machine/",
    "http://192.0.0.192/opc/v2/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "https://metadata.google.internal./",
    "https://METADATA.google.internal/",
    "https://metadata.goog/",
    "https://x.metadata.goog/",
    "https://metadata/",
    "https://instance-data/",
    "https://[::ffff:169.254.169.254]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:a9fe:a9fe::]/",
    "https://[::a9fe:a9fe]/",
  ],
  "url_blocked:unspecified": [
    "http://0.0.0.0/",
    "http://0/",
    "http://1/",
    "https://[::]/",
    "http://0.0.0.0:8080/",
    "http://0x0/",
  ],
  "url_blocked:reserved": [
    "https://255.255.255.255/",
    "https://240.0.0.1/",
    "https://[4000::1]/",
    "https://[8000::1]/",
  ],
  "url_blocked:multicast": ["https://224.0.0.251/", "https://239.255.255.250/", "https://[ff02::1]/"],
  "url_blocked:special_use": [
    "https://[::127.0.0.1]/",
    "https://[::7f00:1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b:1::a00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[2001:0:7f00:1::]/",
    "https://[2607:f8b0:4005:809:0:5efe:a00:1]/",
    "https://[::ffff:0:7f00:1]/",
    "https://198.18.0.1/",
  ],
  "url_blocked:loopback": [
    "https://[::1]/",
    "http://[::1]:3000/",
    "https://[0:0:0:0:0:0:0:1]/",
    "http://127.0.0.1:80/",
  ],
  "url_blocked:unique_local": ["https://[fc00::1]/", "https://[fdff::1]/"],
  "url_blocked:link_local": ["https://169.254.0.1/", "https://[fe80::1]/", "https://[febf::1]/"],
};

const spelled = {
  "127.0.0.1": "url_blocked:loopback",
  "10.0.0.1": "url_blocked:private",
  "169.254.169.254": "url_blocked:metadata",
  "0.0.0.0": "url_blocked:unspecified",
  "93.184.216.34": "target",
};

Deno.test("a URL is judged by what it says, over 200 of them (DM-75, DM-78, DM-79, B67, B68, B69, B70, B74)", () => {
  const rows = Object.entries(table).flatMap(([verdict, urls]) => urls.map((url) => ({ url, verdict })));
  const more = Object.entries(spelled).flatMap(([address, verdict]) =>
    spellingsOf(address).map((spelling) => ({ url: `https://${spelling}/`, verdict }))
  );
  const all = [...rows, ...more];
  assert.ok(all.length >= 200, String(all.length));
  const wrong = all
    .map(({ url, verdict }) => ({ url: url.slice(0, 80), verdict, found: verdictOf(url) }))
    .filter(({ verdict, found }) => verdict !== found);
  assert.deepEqual(wrong, []);
});

Deno.test("every spelling of an IPv4 address is that address (B64, DM-81)", () => {
  for (const [address, verdict] of Object.entries(spelled)) {
    for (const spelling of spellingsOf(address)) {
      assert.equal(verdictOf(`https://${spelling}/`), verdict, spelling);
      const open = new UrlPolicy({ allow: ["127.0.0.0/8", "10.0.0.0/8"] });
      if (verdict === "target" || verdict === "url_blocked:loopback" || verdict === "url_blocked:private") {
        assert.equal(targetOf(open, `https://${spelling}/`).host, address, spelling);
      }
    }
  }
});

Deno.test("a target names the host without its last dot and in ASCII (DM-81)", () => {
  assert.equal(targetOf(strict, "https://EXAMPLE.com./x").host, "example.com");
  assert.equal(targetOf(strict, "https://b\u00fccher.example/").host, "xn--bcher-kva.example");
  assert.equal(
    targetOf(strict, "https://[2606:2800:220:1:248:1893:25C8:1946]/").host,
    "2606:2800:220:1:248:1893:25c8:1946",
  );
});

Deno.test("one address that may not be reached refuses the name (DM-75, B73)", () => {
  const url = "https://docs.example/";
  assert.equal(answersVerdict(url, ["93.184.216.34", "2606:2800:220:1::1"]), "checked");
  assert.equal(answersVerdict(url, ["93.184.216.34", "10.0.0.1"]), "url_blocked:private_address");
  assert.equal(answersVerdict(url, ["10.0.0.1", "93.184.216.34"]), "url_blocked:private_address");
  assert.equal(answersVerdict(url, ["127.0.0.1"]), "url_blocked:private_address");
  assert.equal(answersVerdict(url, ["169.254.169.254"]), "url_blocked:metadata_address");
  assert.equal(answersVerdict(url, ["::ffff:169.254.169.254"]), "url_blocked:metadata_address");
  assert.equal(answersVerdict(url, ["fe80::1"]), "url_blocked:non_routable_address");
  assert.equal(answersVerdict(url, []), "url_unresolved:dns_no_addresses");
  assert.equal(answersVerdict(url, ["93.184.216.34", "nonsense"]), "url_unresolved:dns_invalid_address");
  const many = Array.from({ length: 2_000 }, (_, at) => `93.184.${at >> 8}.${at & 255}`);
  assert.equal(answersVerdict(url, many), "url_unresolved:dns_invalid_address");
  assert.equal(answersVerdict(url, many.slice(0, limits.dnsAddressesMax)), "checked");
});

Deno.test("private networks open only by the host's list, metadata and unroutable addresses never (DM-79, DM-80)", () => {
  const listable = ["10.1.1.1", "100.64.0.1", "127.0.0.1", "172.16.0.1", "192.168.1.1", "[::1]", "[fd00::1]"];
  const never = [
    "169.254.169.254",
    "100.100.100.200",
    "[fd00:ec2::254]",
    "169.254.1.1",
    "0.0.0.0",
    "224.0.0.1",
    "[fe80::1]",
  ];
  const open = new UrlPolicy({ allow: ["0.0.0.0/0", "[::/0]", "*.goog", "metadata.google.internal"] });
  for (const host of listable) {
    assert.match(verdictOf(`https://${host}/`), /^url_blocked:/, host);
    assert.equal(verdictOf(`https://${host}/`, open), "target", host);
    assert.equal(verdictOf(`http://${host}:3000/`, open), "target", host);
  }
  for (const scheme of ["ws", "ftp", "file", "gopher"]) {
    assert.equal(verdictOf(`${scheme}://127.0.0.1/`, open), "url_scheme:unsupported_scheme");
  }
  for (const host of never) assert.match(verdictOf(`https://${host}/`, open), /^url_blocked:/, host);
  assert.equal(verdictOf("https://metadata.google.internal/", open), "url_blocked:metadata");
  assert.equal(verdictOf("https://metadata.goog/", open), "url_blocked:metadata");
});

Deno.test("a listed name may be local, lead to a private address, and use plain http and its port (DM-80)", () => {
  const policy = new UrlPolicy({ allow: ["localhost:8080", "wiki.corp.example", "*.lab.example:9000"] });
  assert.equal(verdictOf("http://localhost:8080/", policy), "target");
  assert.equal(verdictOf("http://localhost:8081/", policy), "url_blocked:local_name");
  assert.equal(answersVerdict("http://localhost:8080/", ["127.0.0.1", "::1"], policy), "checked");
  assert.equal(answersVerdict("http://wiki.corp.example/", ["10.0.0.7"], policy), "checked");
  assert.equal(
    answersVerdict("http://wiki.corp.example/", ["169.254.169.254"], policy),
    "url_blocked:metadata_address",
  );
  assert.equal(answersVerdict("http://a.lab.example:9000/", ["192.168.0.9"], policy), "checked");
  assert.equal(verdictOf("http://lab.example:9000/", policy), "url_scheme:unsupported_scheme");
  assert.equal(verdictOf("http://notlab.example:9000/", policy), "url_scheme:unsupported_scheme");
  assert.equal(answersVerdict("https://other.example/", ["10.0.0.7"], policy), "url_blocked:private_address");
});

Deno.test("a redirect never leads from the public network into a private one, nor from https to http (DM-75, B72)", () => {
  const policy = new UrlPolicy({ allow: ["127.0.0.1", "docs.example"] });
  const from = { scheme: "https", isPublic: true } as const;
  assert.equal(policy.judge("https://127.0.0.1:3000/").type, "target");
  const led = policy.judge("https://127.0.0.1:3000/", from);
  assert.equal(led.type === "refused" && led.refusal.reason, "private_address");
  const named = policy.judgeAddresses(targetOf(policy, "https://docs.example/"), ["127.0.0.1"], from);
  assert.equal(named.type === "refused" && named.refusal.reason, "private_address");
  const plain = policy.judge("http://docs.example/", { scheme: "https", isPublic: false });
  assert.equal(plain.type === "refused" && plain.refusal.code, "url_scheme");
});

Deno.test("a refusal shows no user, path, query or fragment (DM-77)", () => {
  const urls = [
    "https://127.0.0.1/PATH?QUERY=1#FRAGMENT",
    "http://example.com/PATH?QUERY#FRAGMENT",
    "https://USER:PASSWORD@example.com/PATH",
    "ftp://example.com/PATH?QUERY",
    "https://example.com:8443/PATH?QUERY#FRAGMENT",
    "https://exa mple.com/PATH?QUERY",
  ];
  for (const url of urls) {
    const verdict = strict.judge(url);
    assert.equal(verdict.type, "refused");
    assert.doesNotMatch(JSON.stringify(verdict), /PATH|QUERY|FRAGMENT|USER|PASSWORD/, url);
  }
});

Deno.test("troupe.yaml lists names, addresses and ranges, and nothing that only looks like them (DM-80)", () => {
  const good = [
    ...["docs.example", "*.corp.example", "localhost:8080", "10.0.0.0/8", "127.0.0.1:3000", "192.168.1.1"],
    ...["[::1]", "[::1]:3000", "[fd00::/8]", "[fd00::/8]:443", "wiki"],
  ];
  const bad = [
    ...[
      "",
      "*",
      "*.",
      "a.*.example",
      "10.0.0.0/33",
      "[fd00::/129]",
      "[fd00::",
      "fd00::/8",
      "10.0.0/8",
      "docs.example/8",
    ],
    ...[
      "docs.example:0",
      "docs.example:65536",
      "https://docs.example",
      "docs..example",
      "2130706433",
      "0x7f.1",
    ],
    ...["user@docs.example", "docs.example/path", "-docs.example", "[docs]", "256.1.1.1"],
  ];
  for (const place of good) assert.ok(NetworkPlace.safeParse(place).success, place);
  for (const place of bad) assert.ok(!NetworkPlace.safeParse(place).success, place);
  assert.deepEqual(HostConfig.parse({}).network, { allow: [] });
  assert.ok(!HostConfig.safeParse({ network: { allow: ["*"] } }).success);
});

Deno.test("judging takes linear time, whatever the text (B110)", () => {
  const long = limits.urlCharactersMax;
  const texts = ["a", "%", ".", "@", "\\", "/", "-", "[", ":", "0", " ", "\u00fc", "a.", "1.", "::", "%41"];
  for (const text of texts) {
    const rest = text.repeat(Math.floor((long - 11) / text.length));
    for (const end of ["", "!", "\u0000", "/"]) {
      for (const url of [`https://${rest}`, `https://a/${rest}`, `https:${rest}`, rest]) verdictOf(url + end);
      NetworkPlace.safeParse(rest.slice(0, 290) + end);
    }
  }
});
