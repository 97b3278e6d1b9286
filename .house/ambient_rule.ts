/** Rule 8 of the house: time, chance, identity and the outside enter through one seam. */
import { globalName, isOnlyName, keyName, liesIn, type Node, projectPath } from "./syntax.ts";

const runtimePlaces = ["schemas/", "actors/", "src/", "main.ts"];
const seamPlaces = ["src/seams.ts", "src/system_seams.ts"];
const outsidePlaces = [
  "src/effects/",
  "src/mcp/",
  "src/processes/",
  "src/door/",
  "src/net/",
  "src/api/http/",
];

/** Names that bring in time, chance, identity or a log. A name ending in a dot stands for all its members. */
const ambientNames = new Set([
  "AbortSignal.timeout",
  "console",
  "crypto.getRandomValues",
  "crypto.randomUUID",
  "Date.now",
  "Deno.cron",
  "Math.random",
  "performance.now",
  "setImmediate",
  "setInterval",
  "setTimeout",
  "Temporal.Now",
]);

/** Names that reach other machines or start processes. */
const outsideNames = new Set([
  "Deno.Command",
  "Deno.connect",
  "Deno.connectTls",
  "Deno.createHttpClient",
  "Deno.listen",
  "Deno.listenDatagram",
  "Deno.listenTls",
  "Deno.resolveDns",
  "Deno.serve",
  "Deno.startTls",
  "EventSource",
  "fetch",
  "WebSocket",
  "WebSocketStream",
]);

const ambientModules = /^(?:node:)?timers(?:\/promises)?$/;
const outsideModules = /^node:(?:child_process|cluster|dgram|dns|dns\/promises|http|http2|https|net|tls)$/;

/** No ambient time, chance, identity or log outside the seams; no network or process outside the outside. */
export const ambientRule: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context);
    if (!liesIn(path, runtimePlaces)) return {};
    const mayAmbient = liesIn(path, seamPlaces);
    const mayOutside = liesIn(path, outsidePlaces);

    function check(node: Node, name: string | undefined): void {
      if (name === undefined) return;
      if (!mayAmbient && ambientNames.has(name)) {
        context.report({ node, message: `${name} is ambient; take it from the seams (src/seams.ts)` });
      }
      if (!mayOutside && outsideNames.has(name)) {
        context.report({
          node,
          message: `${name} reaches outside; it belongs in ${outsidePlaces.join(", ")}`,
        });
      }
    }

    function checkModule(node: Node, name: string): void {
      if (ambientModules.test(name)) check(node, "setTimeout");
      if (!mayOutside && outsideModules.test(name)) {
        context.report({
          node,
          message: `${name} reaches outside; it belongs in ${outsidePlaces.join(", ")}`,
        });
      }
    }

    return {
      Identifier(node) {
        if (!isOnlyName(node)) check(node, node.name);
      },
      MemberExpression(node) {
        const name = globalName(node);
        // A bare name is met as an identifier; here it hides behind the global object.
        check(node, name);
      },
      VariableDeclarator(node) {
        if (node.id.type !== "ObjectPattern" || !node.init) return;
        const object = globalName(node.init);
        for (const property of node.id.properties) {
          if (property.type !== "Property" || object === undefined) continue;
          const name = keyName(property.key, property.computed);
          if (name !== undefined) check(property, object === "globalThis" ? name : `${object}.${name}`);
        }
      },
      NewExpression(node) {
        if (globalName(node.callee) !== "Date" || node.arguments.length > 0 || mayAmbient) return;
        context.report({
          node,
          message: "new Date() reads the clock; take the time from the seams (src/seams.ts)",
        });
      },
      CallExpression(node) {
        if (globalName(node.callee) !== "Date" || mayAmbient) return;
        context.report({
          node,
          message: "Date() reads the clock; take the time from the seams (src/seams.ts)",
        });
      },
      ImportDeclaration(node) {
        if (node.importKind !== "type") checkModule(node, node.source.value);
      },
      ImportExpression(node) {
        if (node.source.type === "Literal") checkModule(node, String(node.source.value));
      },
    };
  },
};
