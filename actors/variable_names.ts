/** Names of variables that a manifest may not set: they make programs run what nobody approved (B46). */
import { type Failure, failure } from "../schemas/failure.ts";
import type { McpDeclaration } from "../schemas/manifest.ts";

/** Families, in capitals. */
const prefixes = [
  "BASH_FUNC_",
  "COMPLUS_",
  "CORECLR_",
  "DENO_",
  "DOTNET_",
  "DYLD_",
  "GIT_",
  "LD_",
  "NPM_CONFIG_",
  "PERL5",
  "PYTHON",
  "RUBY",
  "TROUPE_",
] as const;

/** Single names, in capitals. */
const names: ReadonlySet<string> = new Set([
  "BASHOPTS",
  "BASH_ENV",
  "BROWSER",
  "BUN_OPTIONS",
  "CLASSPATH",
  "COMSPEC",
  "EDITOR",
  "ENV",
  "GCONV_PATH",
  "GLIBC_TUNABLES",
  "IFS",
  "JAVA_TOOL_OPTIONS",
  "JDK_JAVA_OPTIONS",
  "LESSCLOSE",
  "LESSOPEN",
  "LOCPATH",
  "MANPAGER",
  "NODE_OPTIONS",
  "NODE_PATH",
  "NODE_REPL_EXTERNAL_MODULE",
  "OPENSSL_CONF",
  "OPENSSL_MODULES",
  "PAGER",
  "PATH",
  "PATHEXT",
  "PROMPT_COMMAND",
  "PS4",
  "SHELL",
  "SHELLOPTS",
  "SSH_ASKPASS",
  "VISUAL",
  "_JAVA_OPTIONS",
]);

/** What besides decides, for a command, what runs or where its programs look for what they run: in capitals. */
const ofCommands: ReadonlySet<string> = new Set(
  ("APPDATA CARGO_HOME CC CDPATH CXX GEM_HOME GEM_PATH GOFLAGS GOPATH GOROOT GOTOOLCHAIN HOME HOMEDRIVE HOMEPATH " +
    "INPUTRC LD LESS LESSKEY LOCALAPPDATA LUA_CPATH LUA_INIT LUA_PATH MAKEFLAGS MALLOC_CONF PHPRC " +
    "PHP_INI_SCAN_DIR PIP_CONFIG_FILE PSMODULEPATH R_PROFILE RUSTC RUSTC_WRAPPER RUSTFLAGS SUDO_ASKPASS SYSTEMROOT " +
    "TEMP TMP TMPDIR USERPROFILE XDG_CONFIG_HOME XDG_DATA_HOME YARN_RC_FILENAME ZDOTDIR").split(" "),
);

/** True if a command may never be given a variable: neither by its call, nor as the place of a secret (DM-88, B46). */
export function isCommandControl(name: string): boolean {
  return isExecutionVariable(name) || ofCommands.has(name.toUpperCase());
}

/** True if a variable decides what programs run, in whatever case it is written. */
export function isExecutionVariable(name: string): boolean {
  const upper = name.toUpperCase();
  return names.has(upper) || prefixes.some((prefix) => upper.startsWith(prefix));
}

/** Why a server is not given its variables; null if it may have them. Names them, never what they are set to. */
export function variableRefusal({ server, manifest }: McpDeclaration): Failure | null {
  if (manifest.transport !== "stdio") return null;
  const refused = Object.keys(manifest.env).filter(isExecutionVariable);
  if (refused.length === 0) return null;
  return failure(
    "mcp_variable_refused",
    `The server "${server}" is not started: its manifest sets ${
      refused.slice(0, 10).join(", ")
    }, which decides what programs run; take it out of env`,
  );
}
