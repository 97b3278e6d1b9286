/** Writes the types of an API that is described by OpenAPI 3.1: `generate.ts DESCRIPTION TYPES`, two paths. */

/** What is used of the package. It is in `deno.json` beside this file only, so the product's graph has no types of it. */
interface Generator {
  readonly default: (description: string) => Promise<unknown>;
  readonly astToString: (nodes: unknown) => string;
}

const name = "openapi-typescript";
const { default: typesOf, astToString } = await import(name) as Generator;
const [description = "", types = ""] = Deno.args;
await Deno.writeTextFile(types, astToString(await typesOf(await Deno.readTextFile(description))));
