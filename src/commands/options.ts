/** Options and operands of a command line, read as most programs read them. */

/**
 * True if one of the arguments is this option: long (also shortened, also with a value), or a letter in a cluster. Behind
 * `--` there are none, unless that may be the value of the option before it: `sort -T -- -o file` writes.
 */
export function hasOption(args: readonly string[], long: string, letter?: string): boolean {
  for (const [place, one] of args.entries()) {
    if (one === "--" && !isOption(args[place - 1])) return false;
    if (one.startsWith("--")) {
      const name = one.slice(2).split("=")[0] ?? "";
      if (long !== "" && name.length > 1 && long.startsWith(name)) return true;
    } else if (letter !== undefined && /^-[^-]/.test(one) && one.includes(letter)) return true;
  }
  return false;
}

function isOption(argument: string | undefined): boolean {
  return argument !== undefined && /^-./.test(argument);
}

/** Arguments that are no options; `valued`: letters and long names whose value is an argument of its own. */
export function operandsOf(args: readonly string[], valued: readonly string[] = []): readonly string[] {
  const operands: string[] = [];
  for (let place = 0; place < args.length; place++) {
    const one = args[place] ?? "";
    if (one === "--") return [...operands, ...args.slice(place + 1)];
    if (!one.startsWith("-") || one === "-") operands.push(one);
    else if (valued.includes(one)) place += 1;
  }
  return operands;
}

/** The pieces of an argument that may be a path. */
export function pathsIn(argument: string): readonly string[] {
  if (!argument.startsWith("-")) {
    const value = /^\w+=(.+)$/.exec(argument)?.[1];
    return value === undefined ? [argument.replace(/^(?:file:\/\/|@)/, "")] : [argument, value];
  }
  const value = /^--[^=]*=(.*)$/.exec(argument)?.[1];
  if (value !== undefined) return [value];
  const place = argument.search(/[/~]|\.\./);
  return place > 1 ? [argument.slice(place)] : [];
}
