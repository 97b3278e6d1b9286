/** An authorization server and a server that it protects, on loopback, with one switch for each way to misbehave. */

/** What is wrong with them. Nothing by default. */
export interface LoginFaults {
  /** The issuer that the metadata names. */
  issuer?: string;
  /** `iss` of the callback; null leaves it out. */
  iss?: string | null;
  pkce?: readonly string[] | null;
  /** What the metadata says of the page for people, of tokens, of registration. */
  authorizationEndpoint?: string;
  tokenEndpoint?: string;
  /** Where the server sends who asks for its metadata. */
  metadataRedirect?: string;
  /** Where the challenge says that the server describes itself; null: it says nothing. */
  resourceMetadata?: string | null;
  /** The server's own metadata is only there: `path`, `root`; null: nowhere. */
  metadataAt?: "path" | "root" | null;
  resource?: string;
  authorizationServers?: readonly string[];
  token?: "500" | "slow" | "huge" | "mac" | "redirect";
  /** What the token endpoint refuses with. */
  refusal?: string;
  registration?: "none" | "refused";
  /** Access tokens are never taken. */
  takesNone?: boolean;
  /** The rights that a call needs. */
  needs?: readonly string[];
  /** The one method that needs them. Default: all do. */
  needsFor?: string;
  /** The rights that are given, whatever is asked for. */
  gives?: readonly string[];
  hasDocuments?: boolean;
  methods?: readonly string[];
  lifeSeconds?: number;
  withoutRefresh?: boolean;
  supportsIss?: boolean;
  /** A token that counts no more is refused once that many requests have come with it: all of them hear it at once. */
  refusesTogether?: number;
  /** Anybody may greet the server: only what comes then needs a login. */
  greetsAnybody?: boolean;
  /** Scopes that the challenge names. */
  challenged?: string;
  /** What the protected server lets through goes on to this URL, and what comes back is its answer. */
  behind?: string;
}

/** What happened. */
export interface LoginCounts {
  registrations: number;
  authorizations: number;
  codes: number;
  refreshes: number;
  credentials: number;
  calls: number;
}

/** Two servers. */
export interface LoginServer {
  readonly issuer: string;
  /** The URL of the protected server. */
  readonly url: string;
  readonly faults: LoginFaults;
  readonly counts: LoginCounts;
  /** What was last sent to the token endpoint. */
  readonly asked: URLSearchParams[];
  readonly authorized: URLSearchParams[];
  readonly registered: { readonly [key: string]: unknown }[];
  /** `Authorization` of requests at the token endpoint. */
  readonly proofs: (string | null)[];
  /** Every token that was given out. */
  readonly given: string[];
  /** Every `Authorization` that came to the protected server. */
  readonly seen: (string | null)[];
  /** Access tokens so far count no more. */
  expireAll(): void;
  /** Resolves when a request waits at a slow token endpoint. */
  readonly waiting: Promise<void>;
  close(): Promise<void>;
}

/** What a person's browser does: goes where it is sent, to the end. Gives the last page. */
export async function browse(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}

interface Grant {
  readonly scopes: readonly string[];
  readonly challenge: string;
  readonly redirect: string;
  readonly client: string;
}

async function passOn(request: Request, body: string, url: string): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const name of ["authorization", "host", "content-length"]) headers.delete(name);
  const answer = await fetch(url, { method: request.method, headers, ...(body === "" ? {} : { body }) });
  return new Response(answer.body, { status: answer.status, headers: answer.headers });
}

/** Starts both. */
export function startLoginServer(faults: LoginFaults = {}): LoginServer {
  const counts = { registrations: 0, authorizations: 0, codes: 0, refreshes: 0, credentials: 0, calls: 0 };
  const codes = new Map<string, Grant>();
  const access = new Map<string, readonly string[]>();
  const refresh = new Map<string, readonly string[]>();
  const [asked, authorized, proofs, given, seen]: [
    URLSearchParams[],
    URLSearchParams[],
    (string | null)[],
    string[],
    (string | null)[],
  ] = [[], [], [], [], []];
  const registered: { readonly [key: string]: unknown }[] = [];
  const slow = Promise.withResolvers<void>();
  const freed = Promise.withResolvers<void>();
  const together = Promise.withResolvers<void>();
  let refused = 0;
  const at = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const secret = (kind: string) => {
    const text = `${kind}-${crypto.randomUUID()}`;
    given.push(text);
    return text;
  };

  function tokens(scopes: readonly string[]): Response {
    const [one, other] = [secret("access"), secret("refresh")];
    access.set(one, faults.gives ?? scopes);
    if (!faults.withoutRefresh) refresh.set(other, scopes);
    return Response.json({
      access_token: one,
      token_type: faults.token === "mac" ? "mac" : "Bearer",
      expires_in: faults.lifeSeconds ?? 3_600,
      ...(faults.withoutRefresh ? {} : { refresh_token: other }),
      scope: (faults.gives ?? scopes).join(" "),
    });
  }

  async function token(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    asked.push(form);
    proofs.push(request.headers.get("authorization"));
    if (faults.token === "500") return new Response("no", { status: 500 });
    if (faults.token === "huge") return Response.json({ access_token: "x".repeat(1_000_000) });
    if (faults.token === "redirect") return Response.redirect("http://127.0.0.1:9/token", 307);
    if (faults.token === "slow") {
      slow.resolve();
      await freed.promise;
    }
    const grant = form.get("grant_type");
    if (grant === "refresh_token") counts.refreshes++;
    if (grant === "client_credentials") counts.credentials++;
    if (faults.refusal) return Response.json({ error: faults.refusal }, { status: 400 });
    const invalid = () => Response.json({ error: "invalid_grant" }, { status: 400 });
    if (grant === "client_credentials") {
      return tokens((form.get("scope") ?? "").split(" ").filter((it) => it));
    }
    if (grant === "refresh_token") {
      const old = form.get("refresh_token") ?? "";
      const scopes = refresh.get(old);
      refresh.delete(old);
      return scopes ? tokens(scopes) : invalid();
    }
    const found = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    counts.codes++;
    const hash = await crypto.subtle.digest(
      "SHA-256",
      new TextEncoder().encode(form.get("code_verifier") ?? ""),
    );
    const challenge = new Uint8Array(hash).toBase64({ alphabet: "base64url", omitPadding: true });
    const isIt = found?.challenge === challenge && found.redirect === form.get("redirect_uri");
    return found && isIt ? tokens(found.scopes) : invalid();
  }

  function authorize(url: URL): Response {
    const query = url.searchParams;
    authorized.push(query);
    counts.authorizations++;
    const redirect = query.get("redirect_uri") ?? "";
    const code = `code-${crypto.randomUUID()}`;
    codes.set(code, {
      scopes: (query.get("scope") ?? "").split(" ").filter((it) => it),
      challenge: query.get("code_challenge") ?? "",
      redirect,
      client: query.get("client_id") ?? "",
    });
    const back = new URL(redirect);
    back.searchParams.set("code", code);
    back.searchParams.set("state", query.get("state") ?? "");
    const iss = faults.iss === undefined ? issuer : faults.iss;
    if (iss !== null) back.searchParams.set("iss", iss);
    return Response.redirect(back.href, 302);
  }

  const authorization = Deno.serve(at, async (request): Promise<Response> => {
    const url = new URL(request.url);
    if (url.pathname === "/.well-known/oauth-authorization-server") {
      if (faults.metadataRedirect) return Response.redirect(faults.metadataRedirect, 302);
      const methods = faults.pkce === undefined ? ["S256"] : faults.pkce;
      return Response.json({
        issuer: faults.issuer ?? issuer,
        authorization_endpoint: faults.authorizationEndpoint ?? `${issuer}/authorize`,
        token_endpoint: faults.tokenEndpoint ?? `${issuer}/token`,
        response_types_supported: ["code"],
        token_endpoint_auth_methods_supported: faults.methods ?? ["none", "client_secret_basic"],
        ...(methods === null ? {} : { code_challenge_methods_supported: methods }),
        ...(faults.registration === "none" ? {} : { registration_endpoint: `${issuer}/register` }),
        ...(faults.hasDocuments ? { client_id_metadata_document_supported: true } : {}),
        ...(faults.supportsIss ? { authorization_response_iss_parameter_supported: true } : {}),
      });
    }
    if (url.pathname === "/authorize") return authorize(url);
    if (url.pathname === "/token") return await token(request);
    if (url.pathname === "/register") {
      counts.registrations++;
      registered.push(await request.json());
      if (faults.registration === "refused") {
        return Response.json({ error: "invalid_client_metadata" }, { status: 400 });
      }
      return Response.json({ client_id: `client-${counts.registrations}` }, { status: 201 });
    }
    return new Response(null, { status: 404 });
  });
  const issuer: string = `http://127.0.0.1:${authorization.addr.port}`;

  const resource = Deno.serve(at, async (request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const known = "/.well-known/oauth-protected-resource";
    if (pathname === known || pathname === `${known}/mcp`) {
      const place = pathname === known ? "root" : "path";
      if ((faults.metadataAt === undefined ? "path" : faults.metadataAt) !== place) {
        return new Response(null, { status: 404 });
      }
      return Response.json({
        resource: faults.resource ?? url,
        authorization_servers: faults.authorizationServers ?? [issuer],
        scopes_supported: ["read"],
      });
    }
    const body = await request.text();
    const header = request.headers.get("authorization");
    seen.push(header);
    const scopes = access.get(header?.replace(/^Bearer /, "") ?? "");
    const pointer = faults.resourceMetadata === undefined
      ? `resource_metadata="${origin}${known}/mcp"`
      : faults.resourceMetadata === null
      ? 'realm="mcp"'
      : `resource_metadata="${faults.resourceMetadata}"`;
    const isOpen = faults.greetsAnybody && /"method":"initialize"/.test(body);
    if (isOpen) return Response.json({ jsonrpc: "2.0", id: 0, result: {} });
    if (scopes === undefined && header !== null) {
      refused += 1;
      if (refused >= (faults.refusesTogether ?? 1)) together.resolve();
      else await together.promise;
    }
    if (scopes === undefined || faults.takesNone) {
      const asked = faults.challenged === undefined ? "" : `, scope="${faults.challenged}"`;
      return new Response(null, {
        status: 401,
        headers: { "www-authenticate": `Bearer ${pointer}${asked}` },
      });
    }
    const isNeeded = faults.needsFor === undefined || body.includes(`"method":"${faults.needsFor}"`);
    const missing = (isNeeded ? faults.needs ?? [] : []).filter((one) => !scopes.includes(one));
    if (missing.length > 0) {
      const wanted = `Bearer error="insufficient_scope", scope="${missing.join(" ")}", ${pointer}`;
      return new Response(null, { status: 403, headers: { "www-authenticate": wanted } });
    }
    counts.calls++;
    if (faults.behind !== undefined) return await passOn(request, body, faults.behind);
    return Response.json({ body });
  });
  const origin: string = `http://127.0.0.1:${resource.addr.port}`;
  const url: string = `${origin}/mcp`;
  return {
    ...{ issuer, url, faults, counts, asked, authorized, registered, proofs, given, seen },
    expireAll: () => access.clear(),
    waiting: slow.promise,
    close: async () => {
      freed.resolve();
      together.resolve();
      await Promise.all([authorization.shutdown(), resource.shutdown()]);
    },
  };
}
