/** `troupe token`: the commands about the tokens by which programs use the actor API. */
import { type CommandRow, defineCommand } from "../cli.ts";
import { exitCodes } from "../exit.ts";
import { helpOf } from "../help.ts";

const summary = "give programs access to the API, and take it away";

const commands: { readonly [name: string]: CommandRow } = {
  create: { summary: "issue a token, and print it: this once", load: () => import("./create.ts") },
  list: { summary: "list tokens, whose they are, and what they may do", load: () => import("./list.ts") },
  rotate: { summary: "issue a token in the place of another one", load: () => import("./rotate.ts") },
  revoke: { summary: "end a token, and what is being answered to it", load: () => import("./revoke.ts") },
};

/** Shows what can be done with tokens. */
export const command = defineCommand({
  commands,
  args: ["[COMMAND]"],
  about: [
    "Works on the tokens that troupe serve accepts besides the one in <store>.token, while it runs or not. The store",
    "keeps their hashes only. Programs and agents never get approvals:decide or admin. What was issued, rotated and",
    "revoked, and who was refused, is in the journal audit/main: troupe log audit/main.",
  ],
  options: {},
  examples: [
    "troupe token create --principal program:ci --scopes sessions:read,sessions:write --expires 30d",
    "troupe token list",
    "troupe token revoke tok_01JZ0000000000000000000000",
  ],
  run: ({ cli: { terminal: { err } } }) => {
    err.write(helpOf("token", { summary, load: () => import("./token.ts") }, command, err.style));
    return Promise.resolve(exitCodes.usage);
  },
});
