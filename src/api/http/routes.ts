/** Where each method is reached by HTTP: one table for the server, its description, and the client. */
import type { ApiMethod } from "../../../schemas/api.ts";

/** One way to a method. */
export interface ApiRoute {
  readonly verb: "GET" | "POST";
  /** `{address}`, `{question}` and `{program}` stand for that parameter. */
  readonly path: string;
  /** Status of a success. */
  readonly status: number;
}

const actor = "/v1/actors/{address}";

/** Every method has its route: leave one out and this does not compile. */
export const apiRoutes: { readonly [M in ApiMethod]: ApiRoute } = {
  spawn: { verb: "POST", path: "/v1/agents", status: 201 },
  list: { verb: "GET", path: "/v1/agents", status: 200 },
  get: { verb: "GET", path: actor, status: 200 },
  send: { verb: "POST", path: `${actor}/send`, status: 202 },
  ask: { verb: "POST", path: `${actor}/ask`, status: 200 },
  resume: { verb: "POST", path: `${actor}/resume`, status: 200 },
  cancel: { verb: "POST", path: `${actor}/cancel`, status: 200 },
  stop: { verb: "POST", path: `${actor}/stop`, status: 200 },
  watch: { verb: "GET", path: `${actor}/watch`, status: 200 },
  tree: { verb: "GET", path: `${actor}/tree`, status: 200 },
  budget: { verb: "GET", path: `${actor}/budget`, status: 200 },
  why: { verb: "GET", path: `${actor}/why`, status: 200 },
  export: { verb: "GET", path: `${actor}/export`, status: 200 },
  questions: { verb: "GET", path: "/v1/questions", status: 200 },
  answer: { verb: "POST", path: "/v1/questions/{question}/answer", status: 200 },
  program_register: { verb: "POST", path: "/v1/programs/capabilities", status: 200 },
  program_refresh: { verb: "GET", path: "/v1/programs/capabilities", status: 200 },
  program_calls: { verb: "GET", path: "/v1/programs/{program}/calls", status: 200 },
  program_report: { verb: "POST", path: "/v1/programs/{program}/reports", status: 200 },
  invoke: { verb: "POST", path: `${actor}/invocations`, status: 201 },
  heartbeat: { verb: "POST", path: "/v1/heartbeat", status: 200 },
};

/** The parameter that stands in a path, if one does. */
export function pathParameter(path: string): "address" | "question" | "program" | undefined {
  return (["address", "question", "program"] as const).find((name) => path.includes(`{${name}}`));
}

/** Streams of events, each with a place of its own to go on from. */
export function isWatched(method: ApiMethod): boolean {
  return method === "watch" || method === "program_calls";
}

/** Parameters of queries that are no text. */
const readers: { readonly [name: string]: (text: string) => unknown } = {
  after: Number,
  limit: Number,
  follow: (text) => text === "true" ? true : text === "false" ? false : text,
};

/** Parameters as a query: labels as `label=KEY=VALUE`, once for each. */
export function writeQuery(params: { readonly [name: string]: unknown }): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (name === "labels") {
      for (const [key, label] of Object.entries(value as { readonly [key: string]: string })) {
        query.append("label", `${key}=${label}`);
      }
    } else if (value !== undefined) query.append(name, String(value));
  }
  return query;
}

/** The parameters of a query, not checked yet. What is given twice is a list, which no parameter is. */
export function readQuery(query: URLSearchParams): { readonly [name: string]: unknown } {
  const params: { [name: string]: unknown } = {};
  for (const name of new Set(query.keys())) {
    const texts = query.getAll(name);
    const [text = ""] = texts;
    if (name === "label") {
      params["labels"] = Object.fromEntries(texts.map((one) => {
        const cut = one.indexOf("=");
        return cut < 0 ? [one, ""] : [one.slice(0, cut), one.slice(cut + 1)];
      }));
    } else params[name] = texts.length > 1 ? texts : readers[name]?.(text) ?? text;
  }
  return params;
}
