/** What a server of tests offers besides tools: resources, prompts, completion. A script without dependencies. */

/** A value of JSON. */
type Item = { readonly [key: string]: unknown };

/** What a server offers besides tools; what is left out is not declared. */
export interface Offers {
  /** How many items a page has; without it, all. */
  readonly page?: number;
  readonly resources?: readonly Item[];
  /** True if its resources can be subscribed to: at every call of a tool it says many times that each of those changed. */
  readonly subscribes?: boolean;
  /** Without templates it does not know the question. */
  readonly templates?: readonly Item[];
  /** Contents by URI. */
  readonly contents?: { readonly [uri: string]: readonly Item[] };
  readonly prompts?: readonly Item[];
  /** Words that can come for an argument. */
  readonly words?: readonly string[];
}

/** An answer: a result, or an error by its code. */
export type OfferAnswer = { readonly result: Item } | {
  readonly error: { readonly code: number; readonly message: string };
};

/** What the server declares in its greeting. */
export function declared({ resources, prompts, words, subscribes = false }: Offers): Item {
  const watched = subscribes ? { subscribe: true } : {};
  return {
    ...(resources === undefined ? {} : { resources: { listChanged: true, ...watched } }),
    ...(prompts === undefined ? {} : { prompts: { listChanged: true } }),
    ...(words === undefined ? {} : { completions: {} }),
  };
}

/** The resources of this process that are subscribed to. */
export const watched = new Set<string>();

/** Answers what is no question of tools. */
export function answerOffer(offers: Offers, method: string, params: Item): OfferAnswer {
  switch (method) {
    case "resources/list":
      return pageOf("resources", offers.resources, offers, params);
    case "resources/templates/list":
      return pageOf("resourceTemplates", offers.templates, offers, params);
    case "resources/subscribe":
      if (offers.subscribes !== true) return unknown;
      watched.add(String(params["uri"]));
      return { result: {} };
    case "resources/unsubscribe":
      watched.delete(String(params["uri"]));
      return { result: {} };
    case "resources/read": {
      const contents = offers.contents?.[String(params["uri"])];
      return contents === undefined
        ? { error: { code: -32002, message: "Resource not found" } }
        : { result: { contents } };
    }
    case "prompts/list":
      return pageOf("prompts", offers.prompts, offers, params);
    case "prompts/get": {
      const text = `${params["name"]} of ${JSON.stringify(params["arguments"])}`;
      const messages = [
        { role: "user", content: { type: "text", text } },
        { role: "assistant", content: { type: "resource", resource: { uri: "x:y", text: "embedded" } } },
      ];
      return { result: { description: "A prompt", messages } };
    }
    case "completion/complete": {
      const { ref, argument } = params as { readonly ref: Item; readonly argument: Item };
      const values = (offers.words ?? []).filter((word) => word.startsWith(String(argument["value"])));
      return { result: { completion: { values: [...values, String(ref["type"])], hasMore: false } } };
    }
    default:
      return unknown;
  }
}

const unknown: OfferAnswer = { error: { code: -32601, message: "Method not found" } };

function pageOf(key: string, all: readonly Item[] | undefined, { page }: Offers, params: Item): OfferAnswer {
  if (all === undefined) return unknown;
  const from = params["cursor"] === undefined ? 0 : Number(params["cursor"]);
  const to = page === undefined ? all.length : from + page;
  const next = to < all.length ? { nextCursor: String(to) } : {};
  return { result: { [key]: all.slice(from, to), ...next } };
}
