/** What must hold for every command, whatever it says. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { CommandVerdict } from "../../schemas/command_review.ts";
import { ground, quoted, review, reviewText } from "../support/reviewing.ts";

const order: readonly CommandVerdict[] = ["allow", "prompt", "block"];

const word = fc.constantFrom(
  ..."ls cat rm -rf -r / . .. ~ src a.ts *.ts $HOME $X {} ; + -exec find sh -c bash echo env A=1 sudo -S kill -1 -9 git"
    .split(" "),
  ..."dd of=/dev/sda timeout 5 xargs sed -i -n p s/a/b/ w\u0020marker > < | & && || ( ) ' \" ` $( # \\ \n \u200b \u001b[31m"
    .split(" "),
  "touch marker",
  "touch",
  "marker",
);
const argv = fc.array(word, { minLength: 1, maxLength: 8 });

Deno.test("command review answers for every text, however broken", async () => {
  const texts = fc.oneof(
    fc.array(word, { maxLength: 20 }).map((words) => words.join(" ")),
    fc.array(word, { maxLength: 20 }).map((words) => words.join("")),
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.string({ maxLength: 200 }),
  );
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      const { verdict, findings } = await reviewText(text);
      const worst = Math.max(0, ...findings.map((one) => order.indexOf(one.verdict)));
      assert.equal(order.indexOf(verdict), worst);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("command review judges arguments as it judges the same in quotes, where no shell does more with them", async () => {
  await fc.assert(
    fc.asyncProperty(argv, async (words) => {
      const bare = await review({ argv: words });
      const inQuotes = await reviewText(quoted(words));
      // A text may have rules of its own, such as that it has more than one line; it never has fewer.
      const missing = bare.findings.filter(({ rule }) => !inQuotes.findings.some((one) => one.rule === rule));
      assert.deepEqual(missing.map(({ rule }) => rule), [], quoted(words));
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("command review never gets milder by what is put around a command (DM-91, DM-92)", async () => {
  const around: readonly ((text: string) => string)[] = [
    (text) => `sh -c ${quoted([text])}`,
    (text) => `echo $(${text}\n)`,
    (text) => `if true; then ${text}\n fi`,
    (text) => `ls && (${text}\n)`,
    (text) => `eval ${quoted([text])}`,
    (text) => `timeout 5 bash -c ${quoted([text])}`,
    (text) => `f() { ${text}\n }; f`,
    (text) => `ls; ${text}`,
  ];
  await fc.assert(
    fc.asyncProperty(argv, fc.array(fc.nat(around.length - 1), { maxLength: 4 }), async (words, layers) => {
      const inner = quoted(words);
      const before = await reviewText(inner);
      const text = layers.reduce((held, layer) => around[layer]?.(held) ?? held, inner);
      const after = await reviewText(text);
      assert.ok(order.indexOf(after.verdict) >= order.indexOf(before.verdict), text);
    }),
    { numRuns: 500 },
  );
});

Deno.test({
  name:
    "command review lets no text through by which a real shell would change a file (B29, B34, B36, B37, B38)",
  ignore: Deno.build.os === "windows",
  async fn() {
    const workspace = await Deno.realPath(await Deno.makeTempDir());
    try {
      await Deno.writeTextFile(`${workspace}/a.ts`, "a\n");
      await Deno.mkdir(`${workspace}/src`);
      const piece = fc.constantFrom(
        "touch marker",
        ..."ls cat echo a.ts src $(touch` marker) ` > >> >| marker < << <<< | || & && ; ( ) { } ' \" \\ # ! $ * ? ~"
          .split(" "),
        ..."find . -exec touch -delete -fprint sed -n p 1wmarker e$IFS ${X:- } sort -o tee sh -c env timeout 1"
          .split(" "),
        ..."A=1 $A [[ ]] -f xargs eval printf %s $'\\x74ouch' \n \r \t [ ] for x in do done if true; then fi"
          .split(" "),
        "${A/$(touch marker)/}",
        ..."let declare unset read test [ printf -v -i A='a[$(touch`marker)]' 'a[$(touch`marker)]' 'a[$(touch`marker)]=1'"
          .split(" ").map((one) => one.replace("`", " ")),
        "$((1+$(touch marker)))",
        " ",
      );
      const text = fc.tuple(fc.array(piece, { minLength: 1, maxLength: 7 }), fc.constantFrom("", " "))
        .map(([pieces, between]) => pieces.join(between));
      let allowed = 0;
      await fc.assert(
        fc.asyncProperty(text, async (shell) => {
          const { verdict } = await reviewText(shell, { ...ground, workspace, home: `${workspace}/home` });
          if (verdict !== "allow") return;
          allowed += 1;
          await new Deno.Command("bash", {
            args: ["--noprofile", "--norc", "-c", shell],
            cwd: workspace,
            clearEnv: true,
            env: { PATH: "/usr/bin:/bin", HOME: `${workspace}/home` },
            stdin: "null",
            stdout: "null",
            stderr: "null",
          }).output();
          const names = [...Deno.readDirSync(workspace)].map(({ name }) => name).sort();
          assert.deepEqual(names, ["a.ts", "src"], JSON.stringify(shell));
        }),
        { numRuns: 6_000 },
      );
      assert.ok(allowed > 50, `only ${allowed} texts were let through: nothing is proven`);
    } finally {
      await Deno.remove(workspace, { recursive: true });
    }
  },
});
