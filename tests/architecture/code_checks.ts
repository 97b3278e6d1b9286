/** What code may import and use, and how long it may be. */
import { blankNonCode, functionsOf, importsOf } from "./source.ts";
import { type Findings, liesIn, lineAt, pathsIn, runtimePlaces, type Tree } from "./tree.ts";

const fileLinesMax = 300;
const functionLinesMax = 70;

/** Which way imports may point: a folder, and what its files may import. */
const arrows: readonly (readonly [place: string, allowed: readonly string[]])[] = [
  ["schemas/", ["schemas/", "zod"]],
  ["actors/", ["actors/", "schemas/", "xstate"]],
];

/** Packages that one file alone imports. */
const doors: { readonly [specifier: string]: readonly string[] } = {
  "@std/yaml": ["src/yaml.ts", "src/compat/std_yaml/"],
  "js-yaml": ["src/compat/std_yaml/"],
  "fast-check": ["tests/"],
  "ipaddr.js": ["src/net/address.ts"],
};

const seams = ["src/seams.ts", "src/system_seams.ts"];
const outside = ["src/effects/", "src/mcp/", "src/processes/", "src/door/", "src/net/", "src/api/http/"];

/** What may be used where only, as it looks in code. The lint rule `no-ambient` knows the same list by its tree. */
const reserved: readonly (readonly [pattern: RegExp, places: readonly string[]])[] = [
  [/(?<![\w$.#])(?:Date\.now|performance\.now|Math\.random|Temporal\.Now|AbortSignal\.timeout)\b/g, seams],
  [/(?<![\w$.#])crypto\.(?:randomUUID|getRandomValues)\b/g, seams],
  [/(?<![\w$.#])(?:setTimeout|setInterval|setImmediate)\s*\(/g, seams],
  [/(?<![\w$.#])new\s+Date\s*(?:\(\s*\)|(?![\w\s(]))/g, seams],
  [/(?<![\w$.#])console\s*\??\./g, seams],
  [/(?<![\w$.#])fetch\s*\(/g, outside],
  [/(?<![\w$.#])new\s+(?:WebSocket|WebSocketStream|EventSource)\b/g, outside],
  [
    /(?<![\w$.#])Deno\.(?:Command|connect|connectTls|createHttpClient|listen|listenTls|serve|startTls)\b/g,
    outside,
  ],
];

/** Imports that point against the arrows. */
export function checkArrows(tree: Tree): Findings {
  return [...tree].filter(([path]) => path.endsWith(".ts")).flatMap(([path, source]) =>
    importsOf(source).flatMap(({ specifier, offset }) => {
      const target = resolveImport(path, specifier);
      const reason = whyRefused(path, target);
      return reason ? [`${path}:${lineAt(source, offset)}: imports ${target}; ${reason}`] : [];
    })
  );
}

function whyRefused(path: string, target: string): string | undefined {
  const arrow = arrows.find(([place]) => path.startsWith(place));
  if (arrow && !liesIn(target, arrow[1])) return `${arrow[0]} may import only ${arrow[1].join(", ")}`;
  const isRuntime = liesIn(path, runtimePlaces);
  if (isRuntime && liesIn(target, ["tests/", ".house/"])) return "production code never imports its proof";
  if (target === "main.ts" && !path.startsWith("tests/")) return "nothing but tests imports main.ts";
  const door = doors[target];
  if (door && !liesIn(path, door)) return `only ${door.join(", ")} may`;
  if (/^(?:npm|jsr|https?):/.test(target)) return "a package gets its name and version in deno.json";
  return undefined;
}

/** A path below the project for a relative import; a bare name as it is. */
function resolveImport(path: string, specifier: string): string {
  if (!specifier.startsWith(".")) return specifier;
  const steps = path.split("/").slice(0, -1);
  for (const step of specifier.split("/")) {
    if (step === "..") steps.pop();
    else if (step !== ".") steps.push(step);
  }
  return steps.join("/");
}

/** Uses of time, chance, log, network and processes outside the places that may. */
export function checkReserved(tree: Tree): Findings {
  return pathsIn(tree, runtimePlaces).filter((path) => path.endsWith(".ts")).flatMap((path) => {
    const code = blankNonCode(tree.get(path) ?? "").replaceAll(/\bglobalThis\./g, " ");
    return reserved
      .filter(([, places]) => !liesIn(path, places))
      .flatMap(([pattern, places]) => [...code.matchAll(pattern)].map((match) => ({ match, places })))
      .map(({ match, places }) =>
        `${path}:${lineAt(code, match.index)}: uses ${match[0].replace(/\s*\($/, "")}; only ${
          places.join(", ")
        } may`
      );
  });
}

/** Files and functions of production code that are too long. */
export function checkSizes(tree: Tree): Findings {
  return pathsIn(tree, runtimePlaces).flatMap((path) => {
    const source = tree.get(path) ?? "";
    const lines = source.replace(/\n$/, "").split("\n").length;
    const long = path.endsWith(".ts") ? functionsOf(source).filter((it) => it.lines > functionLinesMax) : [];
    return [
      ...(lines > fileLinesMax ? [`${path}: ${lines} lines, at most ${fileLinesMax} are allowed`] : []),
      ...long.map((it) =>
        `${path}:${it.firstLine}: a function of ${it.lines} lines, at most ${functionLinesMax} are allowed`
      ),
    ];
  });
}
