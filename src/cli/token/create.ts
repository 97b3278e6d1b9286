/** `troupe token create`. */
import { TokenScopes } from "../../../schemas/access.ts";
import { ApiScope, personScopes } from "../../../schemas/api_scope.ts";
import { Principal } from "../../../schemas/principal.ts";
import { defineCommand, jsonOption, storeOption } from "../cli.ts";
import { exitCodes, UsageError } from "../exit.ts";
import { expiresOption, readLifetime } from "./lifetime.ts";
import { showIssued, withTokens } from "./place.ts";

/** Issues a token. */
export const command = defineCommand({
  args: [],
  about: [
    "Issues a token and prints it: the store keeps only its hash. Whoever sends it acts as PRINCIPAL, sees what that one",
    "began, and may do what SCOPES say:",
    `${ApiScope.options.slice(0, 7).join(", ")},`,
    `${ApiScope.options.slice(7).join(", ")}.`,
    `${personScopes.join(" and ")} are for persons: operator:ID, who sees every agent, and user:ID.`,
  ],
  options: {
    principal: {
      kind: "text",
      value: "KIND:ID",
      help: "whose token it is: program:ID, agent:ID, user:ID or operator:ID",
    },
    scopes: { kind: "text", value: "SCOPES", help: "what it may be used for, with commas" },
    expires: { ...expiresOption, help: "how long it opens: 30m, 12h, 30d, or never; default: 90d" },
    store: storeOption,
    json: jsonOption,
  },
  examples: [
    "troupe token create --principal program:ci --scopes sessions:read,sessions:write --expires 30d",
    "troupe token create --principal user:ann --scopes sessions:read,approvals:read,approvals:decide --json",
  ],
  run: async ({ cli, options }) => {
    const principal = readPrincipal(options.principal);
    const scopes = readScopes(options.scopes);
    const lifeMs = readLifetime(options.expires ?? "90d");
    const expiresAt = lifeMs === null ? null : cli.seams.clock.now() + lifeMs;
    const issued = await withTokens(
      cli,
      options.store,
      (host) => host.issueToken({ principal, scopes, expiresAt }),
    );
    showIssued(cli, issued, options.json);
    return exitCodes.ok;
  },
});

function readPrincipal(text = ""): Principal {
  const [kind, ...id] = text.split(":");
  const parsed = Principal.safeParse({ kind, id: id.join(":") });
  if (parsed.success) return parsed.data;
  throw new UsageError(
    "option_invalid",
    "--principal takes program:ID, agent:ID, user:ID or operator:ID, with 1 to 64 letters, digits or _.@-",
  );
}

function readScopes(text = ""): TokenScopes {
  const parsed = TokenScopes.safeParse(text.split(","));
  if (parsed.success) return parsed.data;
  throw new UsageError(
    "option_invalid",
    `--scopes takes these, each once, with commas: ${ApiScope.options.join(", ")}`,
  );
}
