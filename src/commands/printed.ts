/** What a command certainly prints: a text that goes on into a shell is judged as a command. */
import { unknownMark } from "./field.ts";
import { operandsOf } from "./options.ts";

/** What a program prints, if it is certain; `input`: what it reads. */
export function printedBy(
  program: string,
  args: readonly string[],
  input: string | undefined,
): string | undefined {
  switch (program) {
    case "echo": {
      const flags = args.findIndex((one) => !/^-[neE]+$/.test(one));
      const rest = flags < 0 ? [] : args.slice(flags);
      const isEscaped = args.slice(0, flags < 0 ? args.length : flags).some((one) => one.includes("e"));
      const text = rest.join(" ");
      return `${isEscaped ? unescaped(text) : text}\n`;
    }
    case "printf":
      return format(args[0] === "--" ? args.slice(1) : args);
    case "cat":
      return operandsOf(args).every((one) => one === "-") ? input : undefined;
    case "base64":
      return args.some((one) => /^(?:-\w*[dD]|--decode)$/.test(one)) ? decoded(input) : undefined;
    case "true":
    case ":":
      return "";
    default:
      return undefined;
  }
}

function format([pattern = "", ...values]: readonly string[]): string | undefined {
  if (pattern.startsWith("-")) return undefined;
  const left = [...values];
  const once = () =>
    unescaped(pattern.replaceAll("%%", "\u0001")).replace(
      /%[-+ 0#]*\d*(?:\.\d+)?([a-zA-Z])/g,
      (_, kind: string) => {
        const value = left.shift() ?? "";
        return kind === "b" ? unescaped(value) : value;
      },
    ).replaceAll("\u0001", "%");
  let text = once();
  // A pattern is used again until nothing is left for it.
  while (left.length > 0 && left.length < values.length && text.length < 10_000) {
    const before = left.length;
    text += once();
    if (left.length === before) break;
  }
  return text;
}

const escapes: { readonly [letter: string]: string } = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "",
  b: "\b",
  f: "\f",
  v: "\v",
  e: "\u001b",
};

function unescaped(text: string): string {
  return text.replace(/\\(?:x[\da-fA-F]{1,2}|u[\da-fA-F]{1,4}|0?[0-7]{1,3}|[a-z\\])/g, (all) => {
    const hex = /^\\[xu](.+)$/.exec(all)?.[1];
    if (hex !== undefined) return String.fromCharCode(parseInt(hex, 16));
    const octal = /^\\([0-7]+)$/.exec(all)?.[1];
    if (octal !== undefined) return String.fromCharCode(parseInt(octal, 8) & 255);
    return all === "\\\\" ? "\\" : escapes[all.slice(1)] ?? all;
  });
}

function decoded(input: string | undefined): string | undefined {
  if (input === undefined || input.includes(unknownMark)) return undefined;
  try {
    return new TextDecoder().decode(
      Uint8Array.from(atob(input.replace(/\s+/g, "")), (one) => one.charCodeAt(0)),
    );
  } catch {
    return undefined;
  }
}
