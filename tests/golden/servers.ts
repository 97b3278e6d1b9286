/** Records the run that has an MCP server: a process of its own, so the command itself plays it. */
import assert from "node:assert/strict";

const main = new URL("../../main.ts", import.meta.url).pathname;

/** Plays the agent that comes with troupe, with its server, in an empty folder, and writes the fixture. */
export async function recordServers(folder: string): Promise<void> {
  const place = await Deno.makeTempDir({ prefix: "troupe-golden-" });
  const env = {
    TROUPE_STORE: `${place}/store.db`,
    XDG_CONFIG_HOME: `${place}/config`,
    XDG_DATA_HOME: `${place}/data`,
    TROUPE_CONFIG: "",
    TROUPE_TRUST: "",
  };
  const troupe = async (...args: string[]) => {
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", main, ...args],
      cwd: place,
      env,
      stdin: "null",
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
  };
  try {
    await Deno.mkdir(`${place}/ws`);
    await Deno.writeTextFile(`${place}/ws/README.md`, "Troupe\n");
    await troupe("run", "demo", "Look", "--workspace", "ws", "--answer", "allow");
    await troupe("export", "last", "--fixture", "-o", folder);
  } finally {
    await Deno.remove(place, { recursive: true });
  }
}
