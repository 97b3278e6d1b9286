/** What a value looks like: a secret, code that speaks of one, or something that stands in its place. */

/** Covers known secrets while the rest is looked at: a character that no text has (a noncharacter of Unicode). */
export const cover = "\ufdd0";

const standIns =
  /^(?:\$\{[^}]*\}|\$\([^)]*\)|\$[A-Z_][A-Z0-9_]*|\{\{.*\}\}|<[^>]*>|%[A-Z_]+%|%[sdv]|[*.xX\u2022\u2026-]+|\[\]|\{\})$/;

const wordsOfCode: ReadonlySet<string> = new Set(
  ("null none nil true false undefined nan string str number int integer bool boolean bytes any unknown object array " +
    "text optional required void never self this yes no on off enabled disabled default empty set unset missing " +
    "invalid incorrect expired valid hidden secret token password await new function async return var let const")
    .split(
      " ",
    ),
);

/** The version of a package: `"cookie": "^0.7.1"`. */
const version = /^[\^~]?[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,6}$/;

/** True for the version of a package, which may be called `cookie` or `token`. */
export function isVersion(text: string): boolean {
  return version.test(text);
}

/** True for what stands in a secret's place: `${TOKEN}`, `<token>`, `***`, a version; and for a template of such. */
export function isPlaceholder(text: string): boolean {
  if (standIns.test(text) || isVersion(text)) return true;
  if (!text.includes("${") || text.length > 512) return false;
  const rest = text.replace(/\$\{[^}]{1,100}\}/g, "");
  return rest.length < text.length && !isLikely(rest.replace(/^(?:Bearer|Basic|Token) ?/i, ""));
}

/** True for a name of a secret that stands as a value in code: `"refresh-token"`. */
export function isNameOfSecret(text: string): boolean {
  return text.length <= 64 && /^[a-z]+(?:[-_ ][a-z]+)*$/.test(text) &&
    /token|secret|password|key|cookie/.test(text);
}

/** True if the line of a header says something: a scheme and credentials, cookies, or a key. */
export function isHeaderValue(text: string, label: string): boolean {
  const first = text.split(/[\s,;]/, 1)[0] ?? "";
  const isScheme = first.toLowerCase() === "token" && text.length > first.length;
  if ((isWordOfCode(first) && !isScheme) || /[(){}<>|]/.test(text)) return false;
  return text.includes("=") || text.includes(" ") || label === "xapikey" || /[0-9]/.test(text);
}

/** True for words that stand for no value, or for any: `required`, `undefined`, `string`. */
export function isWordOfCode(text: string): boolean {
  return wordsOfCode.has(text.toLowerCase());
}

/** True if a value that stands alone on its line is no word of code or of a description. */
export function isCertain(text: string): boolean {
  if (/^[A-Za-z_$]+$/.test(text) && /token|secret|password|key|cookie/i.test(text)) return false;
  return text.length >= 3 && !isCode(text) && !isWordOfCode(text);
}

/** True if a value looks like a secret wherever it stands: letters with digits, or with signs, and no code. */
export function isLikely(text: string): boolean {
  if (text.includes(cover)) return true;
  // A list may go on behind a comma: what stands before it decides.
  const first = text.slice(0, text.includes(",") ? text.indexOf(",") : undefined);
  const plain = first.replace(/[.:)\]}]{1,4}$/, "");
  if (plain.length < 6 || plain.length > 512 || isCode(plain) || isWordOfCode(plain)) {
    return false;
  }
  const hasDigit = /[0-9]/.test(plain);
  const hasLetter = /[A-Za-z]/.test(plain);
  if (!hasLetter) return hasDigit && /^[0-9!#$%*+@^_~-]+$/.test(plain);
  return hasDigit ||
    (plain.length >= 12 && /[a-z]/.test(plain) && /[A-Z]/.test(plain) && /[!#$%*+@^~=]/.test(plain));
}

/** True for calls, members, lists, and comparisons. */
function isCode(text: string): boolean {
  if (/[(){}[\]<>|\\?,"'`]/.test(text)) return true;
  if (/^[!=&]/.test(text) || text.includes("=>") || text.includes("==")) return true;
  // `process.env.TOKEN`, `e.token2`: names with dots between.
  return text.includes(".") && text.length <= 80 &&
    text.split(".").every((part) => /^[A-Za-z_$][A-Za-z_$]*[0-9]{0,2}$/.test(part));
}

/** True if a value found in running text is more than words, so that it may be taken out everywhere else. */
export function isDistinct(text: string): boolean {
  return text.length >= 8 && !/^[A-Za-z]+(?:[-_. ][A-Za-z]+)*$/.test(text.slice(0, 64));
}

/** True for the working directory, which has the short name of a password: `PWD=/home/ada`. */
export function isWorkingDirectory(label: string, text: string): boolean {
  return label === "pwd" && /^(?:[\/~.]|[A-Za-z]:[\\/])/.test(text);
}
