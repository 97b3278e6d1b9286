/**
 * JSON Web Tokens as access: one issuer, one audience, one algorithm, one key, all said by the operator. Whatever is wrong
 * with a token, its refusal is the same.
 */
import { allowedScopes } from "../../../actors/access.ts";
import { accessLimits } from "../../../schemas/access_limits.ts";
import type { JwtConfig } from "../../../schemas/api_config.ts";
import { ApiScope } from "../../../schemas/api_scope.ts";
import { Principal } from "../../../schemas/principal.ts";
import type { Env } from "../../host/home.ts";
import { readSecrets } from "../../host/secrets.ts";
import type { Clock } from "../../seams.ts";
import { ApiFailure } from "../api_failure.ts";
import type { Authenticator, RequestHead } from "../authenticator.ts";
import type { Caller } from "../caller.ts";
import { bearerOf, tokenInvalid } from "../token_file.ts";

type Jose = typeof import("jose");
type JwtKey = CryptoKey | Uint8Array;

/** Knows callers by JSON Web Tokens. */
export class JwtAccess implements Authenticator {
  readonly #config: JwtConfig;
  readonly #jose: Jose;
  readonly #key: JwtKey;
  readonly #clock: Pick<Clock, "now">;

  /** See {@linkcode openJwtAccess}. */
  constructor(config: JwtConfig, jose: Jose, key: JwtKey, clock: Pick<Clock, "now">) {
    this.#config = config;
    this.#jose = jose;
    this.#key = key;
    this.#clock = clock;
  }

  async authenticate({ authorization }: RequestHead): Promise<Caller | ApiFailure> {
    const shown = bearerOf(authorization);
    if (shown.length > accessLimits.jwtCharactersMax || shown.split(".").length !== 3) return tokenInvalid();
    const { algorithm, issuer, audience, scopes_claim: claim, principal: kind } = this.#config;
    try {
      const { payload } = await this.#jose.jwtVerify(shown, this.#key, {
        algorithms: [algorithm],
        issuer,
        audience,
        requiredClaims: ["sub", "exp"],
        clockTolerance: accessLimits.jwtClockSkewSeconds,
        currentDate: new Date(this.#clock.now()),
      });
      const principal = Principal.parse({ kind, id: payload.sub });
      const scopes = readScopes(payload[claim]);
      const untilMs = (Number(payload.exp) + accessLimits.jwtClockSkewSeconds) * 1_000;
      return { principal, scopes: new Set(allowedScopes(principal, scopes)), untilMs };
    } catch {
      // Which of its many checks failed is nobody's to know.
      return tokenInvalid();
    }
  }
}

/** Reads the key. Refuses one that cannot be had, or is none, with `jwt_key_invalid`. */
export async function openJwtAccess(
  config: JwtConfig,
  env: Env,
  clock: Pick<Clock, "now">,
): Promise<JwtAccess> {
  // Loaded here: who has configured no such tokens pays nothing for them.
  const jose = await import("jose");
  const [read] = await readSecrets({ jwt: config.key }, env);
  if (read?.value === undefined) throw keyInvalid(read?.problem ?? "it cannot be read");
  return new JwtAccess(config, jose, await keyOf(jose, config, read.value), clock);
}

/** Throws for a right that there is not: who issues it means something else than we do. */
function readScopes(claim: unknown): readonly ApiScope[] {
  const names = typeof claim === "string" ? claim.split(" ").filter((name) => name !== "") : claim;
  return ApiScope.array().max(ApiScope.options.length).parse(names);
}

async function keyOf(jose: Jose, { algorithm }: JwtConfig, text: string): Promise<JwtKey> {
  if (algorithm === "HS256") {
    const secret = new TextEncoder().encode(text);
    if (secret.length >= accessLimits.jwtSecretBytesMin) return secret;
    throw keyInvalid(`a secret of HS256 has at least ${accessLimits.jwtSecretBytesMin} bytes`);
  }
  try {
    return await jose.importSPKI(text, algorithm);
  } catch {
    throw keyInvalid("it is no public key of Ed25519 as PEM");
  }
}

function keyInvalid(why: string): ApiFailure {
  return new ApiFailure("jwt_key_invalid", `Cannot use the key of api.jwt in troupe.yaml: ${why}`);
}
