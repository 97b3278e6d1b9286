/** Which tools a model is told of: by words, calls and a budget, the same for the same input, and why. */
import assert from "node:assert/strict";
import { explainExposure, expose, noWishes, type Wishes } from "../../actors/exposure.ts";
import { findTools, wordsOf } from "../../actors/relevance.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import { AgentDefinition, type ExposureBudget } from "../../schemas/agent.ts";
import type { CatalogSource, ResolvedCatalog } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import { sourceOf, toolOf } from "../support/desk.ts";

function catalogFrom(sources: readonly CatalogSource[], agent = {}, policy = {}): ResolvedCatalog {
  const resolution = resolveCatalog({
    coreRevision: "core-1",
    agent: AgentDefinition.parse({ name: "clerk", model: "scripted/script.yaml", ...agent }),
    policy: HostPolicy.parse(policy),
    sources,
    epoch: 1,
  });
  assert.ok("catalog" in resolution);
  return resolution.catalog;
}

/** A server with so many tools that say nothing, and these. */
function serverWith(server: string, count: number, ...tools: Parameters<typeof toolOf>[]): CatalogSource {
  const dull = Array.from({ length: count }, (_, at) => toolOf(`gadget_${String(at).padStart(3, "0")}`));
  return sourceOf("mcp", [...dull, ...tools.map((tool) => toolOf(...tool))], { server });
}

const look = sourceOf("runtime", [toolOf("look")]);
const many = catalogFrom([
  look,
  serverWith("shop", 300, ["refund_order", { title: "Refund", description: "Pays an order back" }]),
  serverWith("docs", 300, ["search_pages", { title: "Search", description: "Finds pages by words" }]),
], { tools: ["look"] });

function reasons(wishes: Partial<Wishes>, budget: ExposureBudget = {}, catalog = many) {
  const told = explainExposure(catalog, { ...noWishes, ...wishes }, budget).filter(({ isExposed }) =>
    isExposed
  );
  return new Map(told.map(({ entry, reason }) => [entry.canonicalName, reason]));
}

Deno.test("exposure is a part of what is enabled, which is a part of what was discovered (AR-12)", () => {
  const catalog = catalogFrom([serverWith("shop", 60)], {
    overrides: { "mcp.shop.gadget_003": { enabled: false } },
  });
  const enabled = catalog.entries.filter((entry) => entry.enabled).map(({ canonicalName }) => canonicalName);
  const { names, isWhole } = expose(catalog, noWishes);
  assert.deepEqual([catalog.entries.length, enabled.length, names.length, isWhole], [60, 59, 40, false]);
  assert.ok(names.every((name) => enabled.includes(name)));
  // However much it is wanted.
  const wishes = { ...noWishes, prompt: "gadget_003", called: ["shop__gadget_003"], queries: ["gadget_003"] };
  assert.ok(!expose(catalog, wishes).names.includes("mcp.shop.gadget_003"));
});

Deno.test("exposure tells of a small catalog wholly, and never of hundreds of tools (AR-13, AR-4)", () => {
  const small = catalogFrom([serverWith("docs", 40)]);
  assert.ok(expose(small, noWishes).isWhole);
  const { specs, names } = expose(many, noWishes);
  assert.deepEqual([many.entries.length, specs.length], [603, 40]);
  assert.ok(names.includes("look"));
  const long = catalogFrom([
    sourceOf(
      "mcp",
      Array.from({ length: 20 }, (_, at) => toolOf(`t${at}`, { description: "x".repeat(4_000) })),
    ),
  ]);
  assert.equal(expose(long, noWishes).names.length, 7);
});

Deno.test("exposure follows the words of the prompt, by name before description (AR-12)", () => {
  assert.equal(
    reasons({ prompt: "Please refund the order of Anna" }).get("mcp.shop.refund_order"),
    "relevant",
  );
  assert.equal(reasons({ prompt: "Which pages tell of it?" }).get("mcp.docs.search_pages"), "relevant");
  for (const name of ["mcp.shop.refund_order", "mcp.docs.search_pages"]) {
    assert.ok(!reasons({}).has(name), name);
  }
  const two = catalogFrom([sourceOf("mcp", [
    toolOf("archive", { description: "Once it was used to send mail" }),
    toolOf("send_mail", { description: "Sends" }),
  ])]);
  assert.deepEqual(findTools(two, "send mails").map(({ definition }) => definition.name), [
    "send_mail",
    "archive",
  ]);
});

Deno.test("exposure keeps what the turn called or looked for, and prefers what the session called (AR-12)", () => {
  const budget = { tools_max: 3 };
  assert.equal(reasons({ called: ["docs__gadget_299"] }, budget).get("mcp.docs.gadget_299"), "called");
  assert.equal(reasons({ queries: ["pages"] }, budget).get("mcp.docs.search_pages"), "looked_for");
  assert.equal(
    reasons({ calledBefore: ["docs__gadget_299"] }, budget).get("mcp.docs.gadget_299"),
    "relevant",
  );
  // Nothing of that is lost for a prompt that is about something else.
  const crowded = reasons(
    { prompt: "shop shop gadget", called: ["docs__gadget_299"], queries: ["pages"] },
    budget,
  );
  assert.deepEqual([...crowded.keys()].sort(), ["look", "mcp.docs.gadget_299", "mcp.docs.search_pages"]);
});

Deno.test("exposure always tells of the built-in tools that the agent lists, and they take their room (AR-12)", () => {
  const builtins = Array.from({ length: 5 }, (_, at) => `own_${at}`);
  const catalog = catalogFrom(
    [sourceOf("runtime", builtins.map((name) => toolOf(name))), serverWith("docs", 3)],
    { tools: builtins },
  );
  assert.deepEqual(expose(catalog, noWishes, { tools_max: 2 }).names, builtins);
  assert.deepEqual(expose(catalog, noWishes, { tools_max: 6 }).names, ["mcp.docs.gadget_000", ...builtins]);
});

Deno.test("exposure is the same for the same input, in the catalog's order (AR-13)", () => {
  const wishes = {
    ...noWishes,
    prompt: "search an order",
    called: ["docs__gadget_001"],
    queries: ["refund"],
  };
  const first = expose(many, wishes);
  const again = expose(catalogFrom([look, ...[...shuffled()]], { tools: ["look"] }), wishes);
  assert.deepEqual(again.names, first.names);
  const order = many.entries.map(({ canonicalName }) => canonicalName);
  assert.deepEqual(first.names, order.filter((name) => first.names.includes(name)));
});

function* shuffled(): Iterable<CatalogSource> {
  yield serverWith("docs", 300, ["search_pages", { title: "Search", description: "Finds pages by words" }]);
  yield serverWith("shop", 300, ["refund_order", { title: "Refund", description: "Pays an order back" }]);
}

Deno.test("exposure explains every tool: what left it out, what it scores, what it takes (AR-12)", () => {
  const catalog = catalogFrom(
    [
      look,
      sourceOf("mcp", [
        toolOf("refund"),
        toolOf("long", { description: "x".repeat(900) }),
        toolOf("off"),
        toolOf("other"),
      ]),
    ],
    { tools: ["look"], overrides: { "mcp.docs.off": { enabled: false } } },
  );
  const verdicts = explainExposure(catalog, { ...noWishes, prompt: "refund" }, {
    tools_max: 3,
    characters_max: 400,
  });
  const told = verdicts.map(({ entry, isExposed, reason }) => [entry.canonicalName, isExposed, reason]);
  assert.deepEqual(told, [
    ["look", true, "builtin"],
    ["mcp.docs.long", false, "characters_full"],
    ["mcp.docs.off", false, "disabled"],
    ["mcp.docs.other", true, "room_left"],
    ["mcp.docs.refund", true, "relevant"],
  ]);
  const tight = explainExposure(catalog, noWishes, { tools_max: 2, characters_max: 400 });
  assert.deepEqual(tight.find(({ entry }) => entry.definition.name === "refund")?.reason, "tools_full");
  const { names } = expose(catalog, { ...noWishes, prompt: "refund" }, { tools_max: 3, characters_max: 400 });
  assert.deepEqual(
    names,
    verdicts.filter(({ isExposed }) => isExposed).map(({ entry }) => entry.canonicalName),
  );
  assert.ok(
    explainExposure(catalog, noWishes).filter(({ entry }) => entry.enabled).every(({ reason }) =>
      reason === "all_fit"
    ),
  );
});

Deno.test("words are split, folded and freed of what says nothing", () => {
  assert.deepEqual(wordsOf("Please searchFiles in the queries_list of Boxes, files & Straße 42!"), [
    "search",
    "file",
    "query",
    "list",
    "box",
    "straße",
    "42",
  ]);
  assert.deepEqual(wordsOf("the and of"), []);
  assert.equal(wordsOf("word ".repeat(10_000) + "late").includes("late"), false);
});
