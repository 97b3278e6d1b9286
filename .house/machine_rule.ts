/** Rule 3 of the house: machines decide, synchronously; XState loses delays and repeats promises on restore. */
import { dottedName, isOnlyName, keyName, liesIn, type Node, projectPath } from "./syntax.ts";

const refusedNames = new Map([
  ["Date", "the kernel puts `at` on every event"],
  ["Deno", "ask through the port"],
  ["fromCallback", "ask through the port"],
  ["fromEventObservable", "ask through the port"],
  ["fromObservable", "ask through the port"],
  ["fromPromise", "ask through the port"],
  ["Promise", "nothing in the actor system is asynchronous"],
  ["queueMicrotask", "nothing in the actor system is asynchronous"],
]);

const asynchronous = "nothing in the actor system is asynchronous; ask through the port";
const literalOnly = "name the logic by a string; inline logic does not survive a restore";

/** No delay, no promise, no clock and no inline logic in `actors/`. */
export const machineRule: Deno.lint.Rule = {
  create(context) {
    if (!liesIn(projectPath(context), ["actors/"])) return {};

    function checkAsync(node: { readonly async: boolean } & Node): void {
      if (node.async) context.report({ node, message: `an async function in actors/: ${asynchronous}` });
    }

    return {
      Identifier(node) {
        const isType = node.parent.type === "TSTypeReference" || node.parent.type === "TSTypeQuery";
        const advice = refusedNames.get(node.name);
        if (advice === undefined || (isOnlyName(node) && !isType)) return;
        context.report({ node, message: `${node.name} in actors/: ${advice}` });
      },
      AwaitExpression(node) {
        context.report({ node, message: `await in actors/: ${asynchronous}` });
      },
      ForOfStatement(node) {
        if (node.await) context.report({ node, message: `await in actors/: ${asynchronous}` });
      },
      ArrowFunctionExpression: checkAsync,
      FunctionDeclaration: checkAsync,
      FunctionExpression: checkAsync,
      Property(node) {
        const name = keyName(node.key, node.computed);
        if (name === "after" || name === "delays" || (name === "delay" && isSendOption(node))) {
          const message = `${name} in actors/: XState loses delays on restore; ask the port timer.set`;
          if (node.parent.type === "ObjectExpression") context.report({ node, message });
        }
        if (name === "src" && isInvoked(node) && !isString(node.value)) {
          context.report({ node: node.value, message: `src in actors/: ${literalOnly}` });
        }
      },
      CallExpression(node) {
        const callee = dottedName(node.callee)?.split(".").at(-1);
        const [logic] = node.arguments;
        if ((callee !== "spawn" && callee !== "spawnChild") || !logic || isString(logic)) return;
        context.report({ node: logic, message: `${callee} in actors/: ${literalOnly}` });
      },
    };
  },
};

function isString(node: Node): boolean {
  const inner = node.type === "TSAsExpression" ? node.expression : node;
  return inner.type === "Literal" && typeof inner.value === "string";
}

/** Whether a property belongs to `invoke: {…}` or `invoke: [{…}]`. */
function isInvoked(node: Deno.lint.Property): boolean {
  const { parent } = node.parent;
  const holder = parent.type === "ArrayExpression" ? parent.parent : parent;
  return holder.type === "Property" && keyName(holder.key, holder.computed) === "invoke";
}

/** Whether a property belongs to the options of `raise`, `sendTo` and the like. */
function isSendOption(node: Deno.lint.Property): boolean {
  const { parent } = node.parent;
  if (parent.type !== "CallExpression") return false;
  const callee = dottedName(parent.callee)?.split(".").at(-1) ?? "";
  return ["raise", "sendTo", "sendParent", "forwardTo", "emit"].includes(callee);
}
