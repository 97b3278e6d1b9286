/** An authority made for one test, and certificates that it signs: enough of X.509 for a TLS server on loopback. */

/** A certificate and its key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Signs certificates of servers. */
export interface Authority {
  /** What clients have to be given, in PEM. */
  readonly cert: string;
  /** Names and IPv4 addresses that the certificate is for. */
  sign(names: readonly string[]): Promise<Certificate>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256" } as const;
const ecdsaWithSha256 = der(0x30, oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const validity = der(0x30, utcTime("200101000000Z"), utcTime("491231235959Z"));

/** Makes an authority with a key of its own. */
export async function createAuthority(): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const name = nameOf("Test Authority");
  const isAuthority = extension([0x55, 0x1d, 0x13], der(0x30, der(0x01, Uint8Array.of(0xff))));
  const mayDo = extension([0x55, 0x1d, 0x0f], der(0x03, Uint8Array.of(1, 0x06)));
  let serial = 1;
  const issue = async (subject: Uint8Array, key: CryptoKey, extensions: readonly Uint8Array[]) => {
    const body = der(
      0x30,
      der(0xa0, der(0x02, Uint8Array.of(2))),
      der(0x02, Uint8Array.of(serial++)),
      ...[ecdsaWithSha256, name, validity, subject],
      new Uint8Array(await crypto.subtle.exportKey("spki", key)),
      der(0xa3, der(0x30, ...extensions)),
    );
    const raw = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, keys.privateKey, body);
    const signature = new Uint8Array(raw);
    const pair = der(0x30, integer(signature.subarray(0, 32)), integer(signature.subarray(32)));
    return pem("CERTIFICATE", der(0x30, body, ecdsaWithSha256, der(0x03, Uint8Array.of(0), pair)));
  };
  return {
    cert: await issue(name, keys.publicKey, [isAuthority, mayDo]),
    sign: async (names) => {
      const own = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
      const subjects = extension([0x55, 0x1d, 0x11], der(0x30, ...names.map(alternative)));
      const cert = await issue(nameOf("Test Server"), own.publicKey, [subjects]);
      return {
        cert,
        key: pem("PRIVATE KEY", new Uint8Array(await crypto.subtle.exportKey("pkcs8", own.privateKey))),
      };
    },
  };
}

function alternative(name: string): Uint8Array {
  const isAddress = /^[\d.]+$/.test(name);
  return isAddress ? der(0x87, Uint8Array.from(name.split("."), Number)) : der(0x82, ascii(name));
}

function extension(id: readonly number[], value: Uint8Array): Uint8Array {
  return der(0x30, oid(...id), der(0x04, value));
}

function nameOf(text: string): Uint8Array {
  return der(0x30, der(0x31, der(0x30, oid(0x55, 0x04, 0x03), der(0x0c, ascii(text)))));
}

function oid(...bytes: readonly number[]): Uint8Array {
  return der(0x06, Uint8Array.from(bytes));
}

function utcTime(text: string): Uint8Array {
  return der(0x17, ascii(text));
}

/** Without leading zeros, and positive. */
function integer(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const rest = bytes.subarray(first);
  return der(0x02, (rest[0] ?? 0) > 0x7f ? Uint8Array.of(0, ...rest) : rest);
}

function ascii(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** One element: tag, length, content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const content = parts.flatMap((part) => [...part]);
  const { length } = content;
  const size = length < 0x80
    ? [length]
    : length < 0x100
    ? [0x81, length]
    : [0x82, length >> 8, length & 0xff];
  return Uint8Array.of(tag, ...size, ...content);
}

function pem(label: string, bytes: Uint8Array): string {
  const lines = btoa(String.fromCharCode(...bytes)).match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
