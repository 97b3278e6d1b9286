/** `api` in `troupe.yaml`: who else may use the actor API. */
import { z } from "zod";
import { SecretSource } from "./secret.ts";

/** JSON Web Tokens of one issuer (RFC 7519). */
export const JwtConfig = z.strictObject({
  /** The one algorithm that is accepted, whatever a token says of itself. */
  algorithm: z.enum(["HS256", "EdDSA"]),
  /** `env:NAME` or `file:PATH`: the shared secret of HS256, at least 32 bytes; the public key of EdDSA, as PEM. */
  key: SecretSource,
  issuer: z.string().min(1).max(500),
  audience: z.string().min(1).max(500),
  /** The claim with the rights: names of scopes, in a list or with spaces between them. */
  scopes_claim: z.string().min(1).max(100).default("scope"),
  /** What a `sub` is the id of. Programs never have the rights of persons. */
  principal: z.enum(["program", "user"]).default("program"),
});
/** JSON Web Tokens of one issuer. */
export type JwtConfig = z.infer<typeof JwtConfig>;

/** Who else may use the actor API, besides who shows a token of the store. */
export const ApiConfig = z.strictObject({ jwt: JwtConfig.optional() });
