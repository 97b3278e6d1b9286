/** What is never run, whoever asks (DM-92). */
import type { CommandRule } from "../../schemas/command_review.ts";
import { hasOption, operandsOf } from "./options.ts";
import type { Places } from "./place.ts";
import { shown } from "./findings.ts";

/** A rule that a command meets, and why. */
export type Danger = readonly [rule: CommandRule, why: string];

const formatters =
  /^(?:mkfs(?:\..+)?|mke2fs|mkswap|wipefs|newfs(?:_.+)?|fdisk|sfdisk|cfdisk|parted|gdisk|sgdisk|cgdisk|format|diskpart)$/;
const formats: { readonly [program: string]: RegExp } = {
  cryptsetup: /^(?:luksFormat|erase|luksErase|reencrypt)$/,
  diskutil: /^(?:erase\w+|partitionDisk|reformat|secureErase|zeroDisk|randomDisk)$/,
  zpool: /^(?:create|destroy|labelclear)$/,
  zfs: /^destroy$/,
  lvremove: /./,
  vgremove: /./,
  pvremove: /./,
  mdadm: /^--(?:zero-superblock|create)$/,
};
const powers = /^(?:shutdown|reboot|halt|poweroff|kexec)$/;
const powerWords =
  /^(?:poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|suspend-then-hibernate|soft-reboot)$/;

/** What is never run of one program with these arguments; undefined if nothing is wrong. */
export function dangerOf(program: string, args: readonly string[], places: Places): Danger | undefined {
  return formatDanger(program, args) ?? powerDanger(program, args) ?? killDanger(program, args) ??
    sudoDanger(program, args) ?? deleteDanger(program, args, places) ?? deviceDanger(program, args, places);
}

/** Writing to a file that is no file. */
export function fileDanger(path: string, places: Places): Danger | undefined {
  if (places.isDevice(path)) return ["block-device-write", `writes to the device ${shown(path)}`];
  if (places.resolve(path) === "/proc/sysrq-trigger") {
    return ["shutdown", "writes to the kernel's emergency switch"];
  }
  return undefined;
}

function formatDanger(program: string, args: readonly string[]): Danger | undefined {
  const isFormat = formatters.test(program) && !isQuestion(program, args) ||
    args.some((one) => Object.hasOwn(formats, program) && formats[program]?.test(one) === true);
  return isFormat ? ["filesystem-format", `${program} makes or wipes a filesystem`] : undefined;
}

/** Some of them also only tell what is there. */
function isQuestion(program: string, args: readonly string[]): boolean {
  if (args.length > 0 && args.every((one) => /^(?:--help|-h|--version|-V)$/.test(one))) return true;
  return /^(?:fdisk|sfdisk|parted|sgdisk)$/.test(program) &&
    args.some((one) => /^(?:-l|--list|-p|--print)$/.test(one)) &&
    operandsOf(args).length <= 1;
}

function powerDanger(program: string, args: readonly string[]): Danger | undefined {
  const isPower = powers.test(program) && !args.some((one) => /^(?:--help|--version|-c|--show)$/.test(one)) ||
    /^(?:systemctl|loginctl)$/.test(program) && operandsOf(args).some((one) => powerWords.test(one)) ||
    /^(?:init|telinit)$/.test(program) && /^[06]$/.test(args[0] ?? "") ||
    program === "systemctl" && operandsOf(args)[0] === "isolate" &&
      /^(?:poweroff|reboot|halt|rescue|emergency)\.target$/.test(operandsOf(args)[1] ?? "");
  return isPower ? ["shutdown", `${program} stops the machine`] : undefined;
}

function killDanger(program: string, args: readonly string[]): Danger | undefined {
  const why: Danger = ["kill-all", `${program} ends every process that it may`];
  if (program === "killall5") return why;
  if (program === "kill") {
    const isAfterSignal = args.findIndex((one) => /^-(?:-$|[A-Za-z]|\d)/.test(one));
    const targets = args[0] === "-s" || args[0] === "-n"
      ? args.slice(2)
      : isAfterSignal === 0
      ? args.slice(1)
      : args;
    return targets.includes("-1") ? why : undefined;
  }
  if (program === "pkill" || program === "killall") {
    const [pattern] = operandsOf(args, ["-u", "-U", "-g", "-G", "-P", "-s", "-t", "--signal", "-n"]);
    const isAll = pattern !== undefined && /^(?:|\.|\.\*|\^|\.\+|\.\*\$)$/.test(pattern);
    const isWhose = program === "pkill" && pattern === undefined && hasOption(args, "euid", "u") ||
      program === "killall" && pattern === undefined && hasOption(args, "user", "u");
    return isAll || isWhose ? why : undefined;
  }
  return undefined;
}

function sudoDanger(program: string, args: readonly string[]): Danger | undefined {
  if (program !== "sudo") return undefined;
  const own = args.slice(0, args.findIndex((one) => !one.startsWith("-")) + 1 || args.length);
  const isPiped = hasOption(own, "stdin", "S") || hasOption(own, "askpass", "A");
  return isPiped ? ["sudo-password", "sudo is to read a password that a program gives it"] : undefined;
}

function deleteDanger(program: string, args: readonly string[], places: Places): Danger | undefined {
  const isDeleter =
    program === "rm" && (hasOption(args, "recursive", "r") || hasOption(args, "recursive", "R")) ||
    (program === "srm" || program === "shred") && hasOption(args, "recursive", "r") ||
    program === "find" && hasFindDelete(args);
  if (!isDeleter) return undefined;
  const targets = program === "find" ? findRoots(args) : operandsOf(args);
  const critical = targets.find((one) => places.isCritical(one));
  return critical === undefined
    ? undefined
    : ["recursive-delete", `deletes all of ${told(critical, places.resolve(critical))}`];
}

function told(given: string, path: string): string {
  return given === path ? shown(given) : `${shown(given)}, which is ${shown(path)}`;
}

/** Deletes without saying which files: a pattern that only picks some is no danger to all of it. */
function hasFindDelete(args: readonly string[]): boolean {
  const picks = args.some((one) =>
    /^-i?(?:name|path|regex|wholename|newer\w*)$|^-(?:mtime|mmin|size|empty|user)$/.test(one)
  );
  if (picks) return false;
  const exec = args.findIndex((one) => /^-(?:exec|execdir|ok|okdir)$/.test(one));
  return args.includes("-delete") ||
    (exec >= 0 && /(?:^|\/)(?:rm|shred|unlink|srm)$/.test(args[exec + 1] ?? ""));
}

/** Where a `find` looks. */
export function findRoots(args: readonly string[]): readonly string[] {
  const from = args.findIndex((one) => !/^-(?:[HLP]|O\d|D)$/.test(one));
  const rest = from < 0 ? [] : args.slice(from);
  const end = rest.findIndex((one) => /^[-(!]/.test(one));
  const roots = end < 0 ? rest : rest.slice(0, end);
  return roots.length === 0 ? ["."] : roots;
}

function deviceDanger(program: string, args: readonly string[], places: Places): Danger | undefined {
  const targets = writtenBy(program, args);
  for (const one of targets) {
    const danger = fileDanger(one, places);
    if (danger !== undefined) return danger;
  }
  return undefined;
}

function writtenBy(program: string, args: readonly string[]): readonly string[] {
  switch (program) {
    case "dd":
      return args.flatMap((one) => /^of=(.+)$/.exec(one)?.[1] ?? []);
    case "cp":
    case "mv":
    case "install":
    case "rsync":
      return operandsOf(args).slice(-1);
    case "tee":
    case "shred":
    case "truncate":
    case "sponge":
    case "blkdiscard":
    case "wipe":
      return operandsOf(args);
    case "badblocks":
      return hasOption(args, "", "w") ? operandsOf(args) : [];
    default:
      return [];
  }
}
