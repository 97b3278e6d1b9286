/** Completions as text: what bash, zsh and fish read at their start. */
import type { Words } from "./completion_words.ts";

/** The shells. */
export const shells = ["bash", "zsh", "fish"] as const;
/** One of them. */
export type Shell = (typeof shells)[number];

/** The script for a shell. */
export const completionText: { readonly [K in Shell]: (words: readonly Words[]) => string } = {
  bash: (words) =>
    [
      "# Completions of troupe for bash. Begin every shell with: source <(troupe completions bash)",
      "_troupe() {",
      '  local cur="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" chain="" list="" at word',
      "  for ((at = 1; at < COMP_CWORD; at++)); do",
      '    word="${COMP_WORDS[at]}"',
      ...chainCase(words, "    "),
      "  done",
      '  case "$chain $before" in',
      ...choiceRows(words, (choices) => `list="${choices}"`),
      ...valuedRow(words, "COMPREPLY=(); return 0"),
      "  esac",
      '  if [ -z "$list" ]; then',
      '    if [[ "$cur" == -* ]]; then',
      '      case "$chain" in',
      ...words.map(({ path, options }) => `        "${path}") list="${wordList(options)}" ;;`),
      "      esac",
      "    else",
      '      case "$chain" in',
      ...words.filter(({ commands }) => commands.length > 0)
        .map(({ path, commands }) => `        "${path}") list="${wordList(commands)}" ;;`),
      "      esac",
      "    fi",
      "  fi",
      // Without a word of ours, bash goes on with files.
      '  COMPREPLY=($(compgen -W "$list" -- "$cur"))',
      "}",
      "complete -o default -F _troupe troupe",
      "",
    ].join("\n"),
  zsh: (words) =>
    [
      "#compdef troupe",
      "# Completions of troupe for zsh. Begin every shell with: source <(troupe completions zsh)",
      "_troupe() {",
      '  local chain="" word before="${words[CURRENT - 1]}"',
      "  local -a list",
      "  integer at",
      "  for ((at = 2; at < CURRENT; at++)); do",
      '    word="${words[at]}"',
      ...chainCase(words, "    "),
      "  done",
      '  case "$chain $before" in',
      ...choiceRows(words, (choices) => `compadd -- ${choices}; return`),
      ...valuedRow(words, "_files; return"),
      "  esac",
      '  if [[ "${words[CURRENT]}" == -* ]]; then',
      '    case "$chain" in',
      ...words.map(({ path, options }) => `      "${path}") list=(${options.map(zshWord).join(" ")}) ;;`),
      "    esac",
      "  else",
      '    case "$chain" in',
      ...words.filter(({ commands }) => commands.length > 0)
        .map(({ path, commands }) => `      "${path}") list=(${commands.map(zshWord).join(" ")}) ;;`),
      "      *) _files; return ;;",
      "    esac",
      "  fi",
      "  _describe troupe list",
      "}",
      "compdef _troupe troupe",
      "",
    ].join("\n"),
  fish: (words) =>
    [
      "# Completions of troupe for fish. Write them to ~/.config/fish/completions/troupe.fish",
      "function __troupe_at",
      '  set -l chain ""',
      "  for word in (commandline -opc)[2..]",
      '    switch "$chain $word"',
      `      case ${chainsOf(words).map((chain) => `"${chain}"`).join(" ")}`,
      '        set chain (string trim "$chain $word")',
      "    end",
      "  end",
      '  test "$chain" = "$argv[1]"',
      "end",
      ...words.flatMap(fishRows),
      "",
    ].join("\n"),
};

/** Commands as they are met, behind the chain so far: ` mcp`, then `mcp add`. */
function chainsOf(words: readonly Words[]): readonly string[] {
  return words.filter(({ path }) => path !== "").map(({ path }) => path.includes(" ") ? path : ` ${path}`);
}

function chainCase(words: readonly Words[], indent: string): readonly string[] {
  const chains = chainsOf(words).map((chain) => `"${chain}"`).join("|");
  return [
    `${indent}case "$chain $word" in`,
    `${indent}  ${chains}) chain="\${chain:+$chain }$word" ;;`,
    `${indent}esac`,
  ];
}

function choiceRows(words: readonly Words[], act: (choices: string) => string): readonly string[] {
  return words.flatMap(({ path, choices }) =>
    [...choices].map(([option, list]) => `    "${path} ${option}") ${act(list.join(" "))} ;;`)
  );
}

function valuedRow(words: readonly Words[], act: string): readonly string[] {
  const all = words.flatMap(({ path, valued }) => valued.map((option) => `"${path} ${option}"`));
  return all.length === 0 ? [] : [`    ${all.join("|")}) ${act} ;;`];
}

function wordList(list: Words["commands"]): string {
  return list.map(({ word }) => word).join(" ");
}

function zshWord({ word, about }: Words["commands"][number]): string {
  return quoted(`${word.replaceAll(":", "\\:")}:${about}`);
}

function fishRows({ path, commands, options, choices, valued, takesArgs }: Words): readonly string[] {
  const start = `complete -c troupe -n "__troupe_at '${path}'"`;
  return [
    ...(takesArgs ? [] : [`${start} -f`]),
    ...commands.map(({ word, about }) => `${start} -a ${word} -d ${fishQuoted(about)}`),
    ...options.map(({ word, about }) => {
      const list = choices.get(word);
      const value = list !== undefined ? ` -x -a "${list.join(" ")}"` : valued.includes(word) ? " -r" : "";
      return `${start} -l ${word.slice(2)}${value} -d ${fishQuoted(about)}`;
    }),
  ];
}

/** In single quotes, as bash and zsh read them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** In single quotes, as fish reads them. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
