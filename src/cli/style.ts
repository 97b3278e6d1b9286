/** Colours, or none. */

/** Puts colours around text that is ours or was made safe. Without colours every one gives its text back. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

/** A style with or without colours. */
export function createStyle(colours: boolean): Style {
  const paint = (name: keyof typeof codes) => (text: string) =>
    colours && text !== "" ? `\x1b[${codes[name][0]}m${text}\x1b[${codes[name][1]}m` : text;
  return {
    bold: paint("bold"),
    dim: paint("dim"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
    cyan: paint("cyan"),
  };
}
