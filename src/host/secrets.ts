/** Reads the secrets that the operator named. A value that cannot be had is a problem of its own, not of the start. */
import type { SecretSources } from "../../schemas/secret.ts";
import type { Env } from "./home.ts";

/** One secret of the host. Exactly one of `value` and `problem` is set. */
export interface HostSecret {
  readonly name: string;
  /** As it stands in the configuration: `env:NAME` or `file:PATH`. */
  readonly source: string;
  readonly value: string | undefined;
  /** Why there is no value: one clause, without the value and without the path. */
  readonly problem: string | undefined;
}

/** Largest file that is taken for a secret: a private key with its chain. */
const secretBytesMax = 65_536;

/** Reads all secrets, each alone. Paths are absolute. */
export async function readSecrets(sources: SecretSources, env: Env): Promise<readonly HostSecret[]> {
  const secrets: HostSecret[] = [];
  for (const [name, source] of Object.entries(sources)) {
    const read = source.startsWith("env:")
      ? fromEnv(source.slice("env:".length), env)
      : await fromFile(source.slice("file:".length));
    secrets.push({ name, source, value: undefined, problem: undefined, ...read });
  }
  return secrets;
}

type Read = Partial<Pick<HostSecret, "value" | "problem">>;

function fromEnv(variable: string, env: Env): Read {
  const value = env(variable);
  return value === undefined || value === "" ? { problem: "its variable is not set" } : { value };
}

/** The file's text without one line end at its end, which editors put there. */
async function fromFile(path: string): Promise<Read> {
  try {
    const { isFile, size, mode } = await Deno.stat(path);
    if (!isFile) return { problem: "its file is no regular file" };
    if (size > secretBytesMax) return { problem: `its file has more than ${secretBytesMax} bytes` };
    if (((mode ?? 0) & 0o077) !== 0) return { problem: "others may read its file: chmod 600" };
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await Deno.readFile(path));
    const value = text.replace(/\r?\n$/, "");
    return value === "" ? { problem: "its file is empty" } : { value };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { problem: "its file does not exist" };
    if (error instanceof TypeError) return { problem: "its file is no UTF-8 text" };
    return { problem: "its file cannot be read" };
  }
}
