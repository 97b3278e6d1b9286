/** The code of tool files: types go, lines stay, and nothing is imported. */
import assert from "node:assert/strict";
import { toolCode } from "../../src/authored/tool_code.ts";

async function refusal(file: string, text: string): Promise<string> {
  const looked = await toolCode(file, text);
  return "message" in looked ? looked.message : "";
}

Deno.test("tool_code takes types out of TypeScript and keeps every line where it was (DM-1)", async () => {
  const text =
    "interface A { x: number }\n\nconst one = (a: A): number => a.x satisfies number;\nexport default one;\n";
  const looked = await toolCode("tools/t.ts", text);
  assert("code" in looked && !("message" in looked));
  assert.equal(looked.code.split("\n").length, text.split("\n").length);
  assert.match(looked.code, /^ +\n\nconst one = \(a {3}\) +=> a\.x +;\nexport default one;\n$/);
  assert.deepEqual(await toolCode("tools/t.js", "export default 1;\n"), { code: "export default 1;\n" });
});

Deno.test("tool_code refuses every import with the file and the line (DM-1, DM-136)", async () => {
  const imports = [
    'import fs from "node:fs";',
    'import "npm:left-pad";',
    'import type { A } from "./a.ts"; import { b } from "./b.ts";',
    'export { x } from "./x.ts";',
    'export * from "data:text/javascript,1";',
    'const later = () => import("blob:x");',
    "const name = 'node:fs'; await import(name);",
    "const here = import.meta.url;",
    "const text = `${(() => import('data:text/javascript,1'))}`;",
    "class A { static { import('x'); } }",
  ];
  for (const one of imports) {
    for (const file of ["tools/t.ts", "tools/t.js"]) {
      if (file.endsWith(".js") && one.includes("import type")) continue;
      const message = await refusal(file, `const first = 1;\n\n${one}\nexport default 1;\n`);
      assert.equal(
        message,
        `Cannot use the tool file ${file}, line 3: a tool imports nothing; zod comes as ({ z }), and all else by ctx`,
        one,
      );
    }
  }
  for (
    const fine of [
      '"import x";',
      "// import(x)\n1;",
      "({ import: 1 }).import;",
      "`import('x')`;",
      "/import('x')/;",
    ]
  ) {
    assert.equal(await refusal("tools/t.js", `${fine}\nexport default 1;`), "", fine);
  }
});

Deno.test("tool_code says in which line a file cannot be parsed (DM-1)", async () => {
  assert.match(
    await refusal("tools/t.ts", "const a = 1;\nenum B { c }\n"),
    /^Cannot use the tool file tools\/t\.ts, line 2: .*enum/,
  );
  assert.match(await refusal("tools/t.ts", "const a = 1;\nlet b = ;\n"), /tools\/t\.ts, line 2: /);
  assert.match(await refusal("tools/t.js", "const a = 1;\n\nlet b = ;\n"), /tools\/t\.js, line 3: /);
});
