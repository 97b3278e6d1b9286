/** The commands that a `find` runs for what it finds (B31). */
import { type Field, unknownField } from "./field.ts";
import { findRoots } from "./danger.ts";

/** Each command, with what would be found in place of the braces: the folders where it looks. */
export function findSteps(args: readonly Field[]): readonly (readonly Field[])[] {
  const roots = findRoots(args.map(({ text }) => text));
  const steps: (readonly Field[])[] = [];
  for (let place = 0; place < args.length; place++) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(args[place]?.text ?? "")) continue;
    const rest = args.slice(place + 1);
    const end = rest.findIndex(({ text }) => text === ";" || text === "+");
    const inner = end < 0 ? rest : rest.slice(0, end);
    const found: readonly Field[] = roots.map((text) => ({
      text: `${text}/${unknownField.text}`,
      isExact: false,
    }));
    const words = inner.flatMap((field): readonly Field[] => {
      if (field.text === "{}") return found;
      if (!field.text.includes("{}")) return [field];
      return [{ text: field.text.replaceAll("{}", unknownField.text), isExact: false }];
    });
    if (words.length > 0) steps.push(words);
    place += inner.length;
  }
  return steps;
}
