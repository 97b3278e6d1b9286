/** Secrets of the host: named in `troupe.yaml`, never written there. Everything else refers to them by name. */
import { z } from "zod";
import { limits } from "./limits.ts";

/** Name of a secret, as `${NAME}` and `secret.bind:NAME` use it. */
export const SecretName = z.string().regex(
  /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
  "must be letters, digits and underscores, beginning with a letter or underscore, at most 64",
);

/** What stands in the place of a secret for models and machines: it says nothing but that something was there (DM-51). */
export const redactedMark = "[redacted]";

/** Where the value of a secret is: `env:NAME`, a variable of our environment, or `file:PATH`. */
export const SecretSource = z.string().max(limits.pathCharactersMax).regex(
  /^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:\S[^\r\n]*)$/,
  "must look like env:NAME or file:PATH",
);

/** The secrets of a host, by name. */
export const SecretSources = z.record(SecretName, SecretSource);
/** The secrets of a host, by name. */
export type SecretSources = z.infer<typeof SecretSources>;
