/** A process of its own that replaces a refused token: `token_renewer.ts FOLDER URL TOKEN`. Waits for a line, prints the new one. */
import { Credential } from "../../src/mcp/oauth/credential.ts";
import { TokenStore } from "../../src/mcp/oauth/token_store.ts";
import { GuardedClient } from "../../src/net/guarded_client.ts";
import { UrlPolicy } from "../../src/net/url_policy.ts";
import { createSystemSeams } from "../../src/system_seams.ts";

const [folder = "", endpoint = "", rejected = ""] = Deno.args;
const { clock, digest } = createSystemSeams({ log: () => {} });
const client = new GuardedClient({ policy: new UrlPolicy({ allow: ["127.0.0.1"] }), clock });
const store = new TokenStore({ folder, keepSecret: () => true, clock, digest });
const credential = new Credential({
  ...{ store, clock, endpoint, fetch: client.fetch, server: "docs" },
  ...{ clientId: undefined, issuer: undefined, secrets: () => ({}) },
});
console.log("ready");
await Deno.stdin.read(new Uint8Array(16));
await credential.replace(rejected);
console.log(await credential.token());
client.close();
