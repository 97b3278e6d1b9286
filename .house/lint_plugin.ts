/** The rules of the house, for `deno lint`: taste that is turned into checks. */
import { ambientRule } from "./ambient_rule.ts";
import { machineRule } from "./machine_rule.ts";
import { liesIn, type Node, projectPath } from "./syntax.ts";

const functionLinesMax = 70;
const parametersMax = 4;

type FunctionNode =
  | Deno.lint.ArrowFunctionExpression
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression;

const anyCastRule: Deno.lint.Rule = {
  create(context) {
    const isTest = liesIn(projectPath(context), ["tests/"]);

    function checkCast(node: Deno.lint.TSAsExpression | Deno.lint.TSTypeAssertion): void {
      if (node.typeAnnotation.type !== "TSAnyKeyword") return;
      context.report({ node, message: "a cast to any; parse the value, or take it as unknown" });
    }

    return {
      TSAsExpression: checkCast,
      TSTypeAssertion: checkCast,
      TSNonNullExpression(node) {
        if (isTest) return;
        context.report({ node, message: "a non-null !; handle the missing value, or make it impossible" });
      },
    };
  },
};

const privateRule: Deno.lint.Rule = {
  create(context) {
    function check(node: Node): void {
      // By its text: the tree does not tell the accessibility of a parameter property.
      if (!/^private\s/.test(context.sourceCode.getText(node))) return;
      context.report({ node, message: "the keyword private ends with compilation; use a #private field" });
    }
    return { PropertyDefinition: check, MethodDefinition: check, TSParameterProperty: check };
  },
};

const defaultExportRule: Deno.lint.Rule = {
  create(context) {
    // The linter itself asks for a default export.
    if (projectPath(context) === ".house/lint_plugin.ts") return {};
    const message = "a default export has no name to search for; export it by name";
    return {
      ExportDefaultDeclaration(node) {
        context.report({ node, message });
      },
      ExportSpecifier(node) {
        const { exported } = node;
        const name = exported.type === "Identifier" ? exported.name : exported.value;
        if (name === "default") context.report({ node, message });
      },
    };
  },
};

const topLevelFunctionRule: Deno.lint.Rule = {
  create(context) {
    return {
      VariableDeclarator(node) {
        const holder = node.parent.parent;
        const isTop = holder.type === "Program" ||
          (holder.type === "ExportNamedDeclaration" && holder.parent.type === "Program");
        const type = node.init?.type;
        if (!isTop || (type !== "ArrowFunctionExpression" && type !== "FunctionExpression")) return;
        context.report({
          node,
          message: "a function kept in a constant; declare it with `function` at top level",
        });
      },
    };
  },
};

const functionLinesRule: Deno.lint.Rule = {
  create(context) {
    if (liesIn(projectPath(context), ["tests/"])) return {};
    return forEachFunction((node) => {
      const lines = context.sourceCode.text.slice(...node.range).split("\n").length;
      if (lines <= functionLinesMax) return;
      const message = `a function of ${lines} lines, at most ${functionLinesMax} are allowed; split it`;
      context.report({ node, message });
    });
  },
};

const parametersRule: Deno.lint.Rule = {
  create(context) {
    return forEachFunction((node) => {
      const count = node.params.filter((it) => it.type !== "Identifier" || it.name !== "this").length;
      if (count <= parametersMax) return;
      const message = `${count} parameters, at most ${parametersMax} are allowed; take an options object`;
      context.report({ node, message });
    });
  },
};

function forEachFunction(check: (node: FunctionNode) => void): Deno.lint.LintVisitor {
  return { ArrowFunctionExpression: check, FunctionDeclaration: check, FunctionExpression: check };
}

const plugin: Deno.lint.Plugin = {
  name: "house",
  rules: {
    "no-ambient": ambientRule,
    "no-machine-timer": machineRule,
    "no-any-cast": anyCastRule,
    "no-private-keyword": privateRule,
    "no-default-export": defaultExportRule,
    "top-level-function": topLevelFunctionRule,
    "function-lines": functionLinesRule,
    "parameter-count": parametersRule,
  },
};

export default plugin;
