/** Where the paths in a command lead: out of the workspace, to secrets, to what must never be deleted, to devices. */
import { isSecretPath } from "../../actors/policy/arguments_check.ts";
import type { CommandGround, CommandRequest } from "./request.ts";
import { unknownMark } from "./field.ts";

/** Folders of which each part keeps the machine alive, and those in which each part is somebody's home. */
const systemFolders: ReadonlySet<string> = new Set([
  ..."Applications Library System Users Volumes bin boot dev etc home lib lib32 lib64 libx32 media mnt nix opt"
    .split(" "),
  ..."private proc root run sbin srv sys usr var".split(" "),
]);
/** Parts of those that count as much. */
const innerFolders =
  /^\/(?:usr\/(?:bin|sbin|lib|lib32|lib64|libexec|local|share|include|src)|var\/(?:lib|log|db|mail|spool|www|backups|cache)|usr\/local\/(?:bin|lib|sbin|etc|share)|etc\/[^/]+|(?:home|Users)\/[^/]+|boot\/[^/]+|private\/(?:etc|var)|nix\/store)$/;
const devices =
  /^\/dev\/(?:[shv]d[a-z]|xvd|nvme|mmcblk|md\d|dm-|mapper\/|disk|rdisk|loop\d|zd\d|nbd|sr\d|mem$|kmem$|port$|mtd|ubi|vg)/;
/** Reading or writing these harms nothing. */
const harmlessDevices: ReadonlySet<string> = new Set([
  "/dev/null",
  "/dev/zero",
  "/dev/stdin",
  "/dev/stdout",
  "/dev/stderr",
  "/dev/tty",
  "/dev/random",
  "/dev/urandom",
  "/dev/full",
]);
const secretPlaces =
  /^\/(?:etc\/(?:g?shadow|sudoers|ssl\/private)|proc\/[^/]+\/(?:environ|mem|maps|root|cwd|fd)|root\/|var\/run\/secrets|run\/secrets)|\/\.(?:git\/config|docker\/config\.json|config\/gh|bash_history|zsh_history)$/;

/** Folders that one text may go to and that are kept in mind. */
const foldersMax = 8;

/** The paths of one command. */
export class Places {
  readonly #request: CommandRequest;
  readonly #ground: CommandGround;
  /** Where a relative path may begin: where the command starts, and wherever it may have gone before. */
  readonly #folders: string[];

  constructor(request: CommandRequest, ground: CommandGround) {
    this.#request = request;
    this.#ground = ground;
    this.#folders = [request.cwd];
  }

  get home(): string {
    return this.#ground.home;
  }

  get cwd(): string {
    return this.#request.cwd;
  }

  /** Notes that what comes later may run in another folder. */
  go(text: string): void {
    const path = this.resolve(text);
    if (!this.#folders.includes(path) && this.#folders.length < foldersMax) this.#folders.push(path);
  }

  /** An absolute path without dots, as the text alone says. */
  resolve(text: string, cwd: string = this.#request.cwd): string {
    const home = text === "~" || text.startsWith("~/") ? `${this.#ground.home}${text.slice(1)}` : text;
    const parts: string[] = [];
    for (const part of (home.startsWith("/") ? home : `${cwd}/${home}`).split("/")) {
      if (part === "..") parts.pop();
      else if (part !== "" && part !== ".") parts.push(part);
    }
    return `/${parts.join("/")}`;
  }

  /** True if a path leads out of the workspace, by its text or by a link on its way. */
  isOutside(text: string): boolean {
    if (text.startsWith("~") && !text.startsWith("~/") && text !== "~") return true;
    return this.#resolved(text).some((path) =>
      !harmlessDevices.has(path) && (!this.#isInside(path) || !this.#isInside(realPathOf(path)))
    );
  }

  #resolved(text: string): readonly string[] {
    return this.#folders.map((folder) => this.resolve(text, folder));
  }

  /** True if a path leads to what usually holds secrets. */
  isSecret(text: string): boolean {
    return this.#resolved(text).some((path) => isSecretPath(path) || secretPlaces.test(path));
  }

  /** True if nobody ever wants all of this deleted: a system, a home, or a folder that holds the workspace. */
  isCritical(text: string): boolean {
    const whole = text.replace(/(?<=^|\/)(?:\*+|\.|\{,\.\}\*|\.\*|\.\[!\.\]\*|\.\?\?\*)$/, "");
    const isAll = whole !== text;
    return this.#resolved(isAll && whole === "" ? "." : whole).some((path) => this.#isCritical(path));
  }

  #isCritical(path: string): boolean {
    // All that is in the workspace is the workspace's own business.
    if (path === this.#ground.workspace) return false;
    if (path === "/" || path === this.resolve(this.#ground.home)) return true;
    if (`${this.#ground.workspace}/`.startsWith(`${path}/`)) return true;
    if (path.includes(unknownMark)) return false;
    const [, first = "", ...rest] = path.split("/");
    return (rest.length === 0 && systemFolders.has(first)) || innerFolders.test(path);
  }

  isDevice(text: string): boolean {
    return this.#resolved(text).some((path) => devices.test(path));
  }

  isHarmlessDevice(text: string): boolean {
    return harmlessDevices.has(text);
  }

  #isInside(path: string): boolean {
    const { workspace } = this.#ground;
    return path === workspace || path.startsWith(`${workspace}/`);
  }
}

/** Where a path really leads, as far as it exists. */
function realPathOf(path: string): string {
  const rest: string[] = [];
  for (let known = path; known !== "" && known !== "/"; known = known.slice(0, known.lastIndexOf("/"))) {
    try {
      return [Deno.realPathSync(known), ...rest].join("/");
    } catch {
      rest.unshift(known.slice(known.lastIndexOf("/") + 1));
    }
  }
  return path;
}
