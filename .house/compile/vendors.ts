/** Has a program ask each kind of vendor's model, on loopback: the packages of vendors are loaded when they are needed. */
import { chatWire } from "../../tests/support/vendors/chat_wire.ts";
import { geminiWire } from "../../tests/support/vendors/gemini_wire.ts";
import { messagesWire } from "../../tests/support/vendors/messages_wire.ts";
import { responsesWire } from "../../tests/support/vendors/responses_wire.ts";
import { inTurn, VendorServer } from "../../tests/support/vendors/vendor_server.ts";
import { runProcess } from "./process.ts";
import type { Program, Tell } from "./scenario.ts";

const said = "Said by the vendor.";

/** Runs a turn for each. True if every answer came. */
export async function playVendors(program: Program, tell: Tell): Promise<boolean> {
  let isWell = true;
  for (const wire of [chatWire, responsesWire, messagesWire, geminiWire]) {
    const server = new VendorServer(inTurn(wire, [{ text: said }]));
    const folder = await Deno.makeTempDir({ prefix: "troupe-vendor-" });
    try {
      const vendor = {
        kind: wire.kind,
        base_url: server.origin + wire.base,
        api_key: "env:VENDOR_KEY",
        allow_private: true,
      };
      await Deno.writeTextFile(`${folder}/troupe.yaml`, JSON.stringify({ providers: { vendor } }));
      await Deno.mkdir(`${folder}/asker`);
      await Deno.writeTextFile(`${folder}/asker/agent.yaml`, "name: asker\nmodel: vendor/test-model\n");
      const { code, out, err } = await runProcess({
        command: program.command,
        args: [...program.args, "run", "./asker", "Say something"],
        cwd: folder,
        env: {
          HOME: folder,
          NO_COLOR: "1",
          TROUPE_CONFIG: `${folder}/troupe.yaml`,
          VENDOR_KEY: "key",
          ...program.env,
        },
        isCleared: true,
      });
      const isSaid = code === 0 && out.includes(said);
      tell(`a model of the kind ${wire.kind}`, isSaid ? undefined : `exit code ${code}\n${out}${err}`.trim());
      isWell &&= isSaid;
    } finally {
      await server.close();
      await Deno.remove(folder, { recursive: true });
    }
  }
  return isWell;
}
