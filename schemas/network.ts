/** `network` of `troupe.yaml`: which places besides public https servers may be reached. */
import { z } from "zod";

const placeForm =
  /^(?:(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,252}[a-z0-9_])?(?:\/\d{1,2})?|\[[0-9a-f:.]{2,45}(?:\/\d{1,3})?\])(?::\d{1,5})?$/i;
const addressForm = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/** The parts of a place: a name, `*.name`, an address or a range, and maybe a port. */
export interface NetworkPlaceParts {
  readonly host: string;
  readonly isAddress: boolean;
  /** Leading bits that count, for an address. */
  readonly bits?: number;
  readonly port?: number;
}

/** Takes a place of {@linkcode NetworkPlace} apart. Gives nothing if it is none. */
export function partsOfPlace(text: string): NetworkPlaceParts | undefined {
  if (!placeForm.test(text)) return undefined;
  const [, bracketed, bare = "", port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? [];
  const [host = "", bits] = (bracketed ?? bare).toLowerCase().split("/");
  const isV4 = bracketed === undefined && addressForm.test(host);
  const isV6 = bracketed !== undefined && URL.canParse(`http://[${host}]/`);
  if (isV4 && URL.parse(`http://${host}/`)?.hostname !== host) return undefined;
  const isAddress = isV4 || isV6;
  if (bracketed !== undefined && !isV6 || bits !== undefined && !isAddress) return undefined;
  if (!isAddress && !isName(host)) return undefined;
  const widest = isV4 ? 32 : 128;
  const length = bits === undefined ? widest : Number(bits);
  const place = port === undefined ? undefined : Number(port);
  if (length > widest || place !== undefined && (place < 1 || place > 65_535)) return undefined;
  return {
    host,
    isAddress,
    ...(isAddress ? { bits: length } : {}),
    ...(place === undefined ? {} : { port: place }),
  };
}

/** A name as a URL would hold it: labels of 1 to 63 characters, the last not a number. */
function isName(host: string): boolean {
  const name = host.replace(/^\*\./, "");
  return name.split(".").every((label) => label.length > 0 && label.length < 64) &&
    URL.parse(`http://${name}/`)?.hostname === name;
}

/**
 * A place that the operator vouches for: `docs.example`, `*.corp.example`, `10.0.0.0/8`, `[fd00::/8]`, each with a port
 * or without, which means every port.
 */
export const NetworkPlace = z.string().max(300).refine(
  (text) => partsOfPlace(text) !== undefined,
  "must be a name, *.name, an address or a range such as 10.0.0.0/8 or [fd00::/8], with or without :port",
);

/**
 * What may be reached over the network. Without it: public servers by https on port 443. Metadata addresses and what is
 * not routable are never reached, whatever stands here (DM-79).
 */
export const NetworkConfig = z.strictObject({
  /** Listed places may be private or on this machine, may use plain http, and any port that the entry allows (DM-80). */
  allow: z.array(NetworkPlace).max(256).default([]),
});
/** What may be reached over the network. */
export type NetworkConfig = z.infer<typeof NetworkConfig>;
