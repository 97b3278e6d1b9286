/** Programs that only run another one: which, and with what (B34). */
import type { Field } from "./field.ts";

/** What a wrapper wraps. */
export interface Wrapped {
  readonly inner: readonly Field[];
  /** True if the inner program is given more than is seen here. */
  readonly isOpen?: boolean;
  /** Variables that it sets for the inner program. */
  readonly sets?: readonly string[];
  /** A text in place of arguments, which it splits itself. */
  readonly text?: string;
}

/** Options of a wrapper whose value is an argument of its own, and how many operands come before the program. */
interface Shape {
  readonly valued: readonly string[];
  readonly skips?: number;
}

const shapes: { readonly [program: string]: Shape } = {
  builtin: { valued: [] },
  busybox: { valued: [] },
  chroot: { valued: ["--userspec", "--groups"], skips: 1 },
  chrt: { valued: ["-T", "-P", "-D"], skips: 1 },
  command: { valued: [] },
  coproc: { valued: [] },
  doas: { valued: ["-u", "-C"] },
  exec: { valued: ["-a"] },
  fakeroot: { valued: ["-s", "-i", "-l"] },
  flock: { valued: ["-w", "-E", "--timeout", "--wait"], skips: 1 },
  ionice: { valued: ["-c", "-n", "-p", "-P", "-u"] },
  nice: { valued: ["-n", "--adjustment"] },
  nohup: { valued: [] },
  nsenter: { valued: ["-t", "--target", "-S", "-G"] },
  parallel: { valued: ["-j", "-N", "-n", "--jobs", "--delay"] },
  pkexec: { valued: ["--user"] },
  prlimit: { valued: ["-p", "--pid"] },
  proot: { valued: ["-r", "-b", "-w", "-q", "-k"] },
  runuser: { valued: ["-u", "-g", "-G"] },
  setarch: { valued: [], skips: 1 },
  setpriv: { valued: ["--pdeathsig", "--reuid", "--regid"] },
  setsid: { valued: [] },
  stdbuf: { valued: ["-i", "-o", "-e", "--input", "--output", "--error"] },
  sudo: { valued: ["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "-T", "-D", "-R", "--user", "--group"] },
  "systemd-run": { valued: ["-p", "-u", "--unit", "--property"] },
  taskset: { valued: ["-p"], skips: 1 },
  time: { valued: ["-f", "-o", "--format", "--output"] },
  timeout: { valued: ["-k", "-s", "--kill-after", "--signal"], skips: 1 },
  toybox: { valued: [] },
  unbuffer: { valued: [] },
  unshare: { valued: ["-S", "-G", "-R", "-w"] },
  watch: { valued: ["-n", "-q", "--interval"] },
  xargs: {
    valued: [
      "-a",
      "-d",
      "-E",
      "-I",
      "-i",
      "-L",
      "-n",
      "-P",
      "-s",
      "--arg-file",
      "--delimiter",
      "--max-args",
      "--max-procs",
    ],
  },
};

/** Wrappers that give the inner program other rights. */
export const elevators: ReadonlySet<string> = new Set([
  "chroot",
  "doas",
  "nsenter",
  "pkexec",
  "runuser",
  "sudo",
  "unshare",
]);

/** What a program wraps; undefined if it is no wrapper, or wraps nothing. */
export function unwrap(program: string, args: readonly Field[]): Wrapped | undefined {
  if (program === "env") return unwrapEnvironment(args);
  const shape = Object.hasOwn(shapes, program) ? shapes[program] : undefined;
  if (shape === undefined) return undefined;
  if ((program === "command" || program === "type") && args.some(({ text }) => /^-[vV]+$/.test(text))) {
    return undefined;
  }
  const rest = afterOptions(args, shape.valued).slice(shape.skips ?? 0);
  const { sets, inner } = afterAssignments(rest);
  if (inner.length === 0) return undefined;
  if (program === "watch") return { inner, text: inner.map(({ text }) => text).join(" ") };
  return { inner, sets, ...(program === "xargs" || program === "parallel" ? { isOpen: true } : {}) };
}

/** The arguments from the first operand on. */
function afterOptions(args: readonly Field[], valued: readonly string[]): readonly Field[] {
  for (let place = 0; place < args.length; place++) {
    const text = args[place]?.text ?? "";
    if (text === "--") return args.slice(place + 1);
    if (!text.startsWith("-")) return args.slice(place);
    if (valued.includes(text)) place += 1;
  }
  return [];
}

function afterAssignments(
  fields: readonly Field[],
): { readonly sets: readonly string[]; readonly inner: readonly Field[] } {
  const count = fields.findIndex(({ text }) => !/^[A-Za-z_]\w*=/.test(text));
  const length = count < 0 ? fields.length : count;
  return {
    sets: fields.slice(0, length).map(({ text }) => text.split("=")[0] ?? ""),
    inner: fields.slice(length),
  };
}

function unwrapEnvironment(args: readonly Field[]): Wrapped | undefined {
  const split = args.findIndex(({ text }) => /^(?:-\w*S|--split-string)/.test(text));
  if (split >= 0) {
    const { text } = args[split] ?? { text: "" };
    const own = text.replace(/^(?:-\w*S|--split-string=?)/, "");
    const rest = args.slice(split + 1).map((field) => field.text);
    return { inner: args, text: [own, ...rest].join(" ") };
  }
  const rest = afterOptions(args, ["-u", "-C", "--unset", "--chdir"]);
  const { sets, inner } = afterAssignments(rest);
  return inner.length === 0 && sets.length === 0 ? undefined : { inner, sets };
}
