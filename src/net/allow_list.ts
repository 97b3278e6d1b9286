/** The places that the operator vouches for, ready to be asked. */
import { type NetworkPlaceParts, partsOfPlace } from "../../schemas/network.ts";
import { liesInRange } from "./address.ts";

/** What of `network.allow` matches a host. */
export class AllowList {
  readonly #places: readonly NetworkPlaceParts[];

  /** Places must be what `NetworkPlace` accepts. */
  constructor(places: readonly string[]) {
    this.#places = places.map((place) => {
      const parts = partsOfPlace(place);
      if (!parts) throw new RangeError(`Cannot read the place "${place}" of network.allow`);
      return parts;
    });
  }

  /** True if the name, or a `*.suffix` of it, is listed for this port. */
  hasName(name: string, port: number): boolean {
    return this.#places.some((place) =>
      !place.isAddress && isForPort(place, port) &&
      (place.host.startsWith("*.") ? name.endsWith(place.host.slice(1)) : name === place.host)
    );
  }

  /** True if the address lies in a listed range for this port. */
  hasAddress(address: string, port: number): boolean {
    return this.#places.some((place) =>
      place.isAddress && isForPort(place, port) && liesInRange(address, place.host, place.bits ?? 0)
    );
  }
}

function isForPort(place: NetworkPlaceParts, port: number): boolean {
  return place.port === undefined || place.port === port;
}
