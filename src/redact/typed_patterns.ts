/**
 * Secrets that can be told by their looks: a literal that begins them, then a bounded run of characters. Prefixes and
 * characters are those of the standards named beside them, or of what the vendors document of their tokens.
 */
import { readOwnToken } from "./own_tokens.ts";
import {
  readBasic,
  readBearer,
  readJsonWebToken,
  readPrivateKey,
  readUrlPassword,
} from "./structured_secrets.ts";
import {
  type CharacterTest,
  isAlphanumeric,
  isDigit,
  isHex,
  isLower,
  isUpper,
  isUrlSafe,
  isWord,
  type Reader,
} from "./reader.ts";

/** A place in a text that holds a secret. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

/** One type of secret. */
export interface TypedPattern {
  /** What marks call it. */
  readonly name: string;
  /** What it begins with; upper and lower case count unless `isFolded`. */
  readonly anchors: readonly string[];
  readonly isFolded?: boolean;
  /** Where the secret stands whose anchor is at `start` and ends at `end`; undefined if it is none. */
  readonly read: (reader: Reader, start: number, end: number) => Place | undefined;
}

/** The characters behind a prefix. */
interface Body {
  readonly of: CharacterTest;
  readonly min: number;
  readonly max: number;
  /** Different characters that there must be, so that `xxxx` and other stand-ins are none. */
  readonly different?: number;
  /** True if it must have a digit, a capital and a small letter, since the prefix alone says too little. */
  readonly isMixed?: boolean;
}

function tokens(name: string, anchors: readonly string[], body: Body): TypedPattern {
  return {
    name,
    anchors,
    read: (reader, start, end) => {
      // Within a longer word it is chance: base64 has every prefix somewhere.
      if (isWord(reader.at(start - 1))) return undefined;
      const stop = reader.run(end, body.of, body.max + 1);
      const length = stop - end;
      if (length < body.min || length > body.max) return undefined;
      return isLikely(reader.text.slice(end, stop), body) ? { start, end: stop } : undefined;
    },
  };
}

function isLikely(text: string, { different = 8, isMixed = false }: Body): boolean {
  if (new Set(text).size < different) return false;
  return !isMixed || (/[0-9]/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text));
}

function isCapitalOrDigit(code: number): boolean {
  return isUpper(code) || isDigit(code);
}

function isSmallOrDigit(code: number): boolean {
  return isLower(code) || isDigit(code);
}

function isDotted(code: number): boolean {
  return isUrlSafe(code) || code === 46;
}

function isPath(code: number): boolean {
  return isUrlSafe(code) || code === 47;
}

function isBase64(code: number): boolean {
  return isAlphanumeric(code) || code === 43 || code === 47 || code === 61;
}

const gitlabPrefixes = [
  "glpat-",
  "gloas-",
  "gldt-",
  "glrt-",
  "glcbt-",
  "glptt-",
  "glft-",
  "glimt-",
  "glagent-",
];
const slackPrefixes = ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"];
const stripePrefixes = ["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"];

/** All types. No anchor may be the end of another. */
export const typedPatterns: readonly TypedPattern[] = [
  tokens("github_token", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], { of: isAlphanumeric, min: 36, max: 255 }),
  tokens("github_token", ["github_pat_"], { of: isWord, min: 36, max: 255 }),
  tokens("gitlab_token", gitlabPrefixes, { of: isDotted, min: 20, max: 300 }),
  tokens("slack_token", slackPrefixes, { of: isDotted, min: 20, max: 500 }),
  tokens("slack_webhook", ["hooks.slack.com/services/"], { of: isPath, min: 20, max: 200 }),
  tokens("discord_webhook", ["discord.com/api/webhooks/"], { of: isPath, min: 40, max: 200 }),
  tokens("anthropic_key", ["sk-ant-"], { of: isUrlSafe, min: 20, max: 200 }),
  tokens("openai_key", ["sk-proj-", "sk-svcacct-", "sk-admin-"], { of: isUrlSafe, min: 20, max: 200 }),
  tokens("openai_key", ["sk-"], { of: isUrlSafe, min: 20, max: 200, isMixed: true }),
  tokens("stripe_key", stripePrefixes, { of: isAlphanumeric, min: 16, max: 255 }),
  tokens("npm_token", ["npm_"], { of: isAlphanumeric, min: 36, max: 36 }),
  tokens("pypi_token", ["pypi-"], { of: isUrlSafe, min: 50, max: 1_000, isMixed: true }),
  tokens("rubygems_key", ["rubygems_"], { of: isHex, min: 48, max: 48 }),
  tokens("docker_token", ["dckr_pat_", "dckr_oat_"], { of: isUrlSafe, min: 20, max: 100 }),
  tokens("aws_key_id", ["AKIA", "ASIA"], { of: isCapitalOrDigit, min: 16, max: 16, different: 6 }),
  tokens("google_api_key", ["AIza"], { of: isUrlSafe, min: 35, max: 35 }),
  tokens("google_oauth_token", ["ya29."], { of: isDotted, min: 20, max: 2_048 }),
  tokens("google_client_secret", ["GOCSPX-"], { of: isUrlSafe, min: 28, max: 28 }),
  tokens("azure_key", ["AccountKey=", "SharedAccessKey="], { of: isBase64, min: 40, max: 100 }),
  tokens("sendgrid_key", ["SG."], { of: isDotted, min: 60, max: 80, isMixed: true }),
  tokens("huggingface_token", ["hf_"], { of: isAlphanumeric, min: 34, max: 40 }),
  tokens("digitalocean_token", ["dop_v1_", "doo_v1_", "dor_v1_"], { of: isHex, min: 64, max: 64 }),
  tokens("databricks_token", ["dapi"], { of: isHex, min: 32, max: 34 }),
  tokens("vault_token", ["hvs.", "hvb.", "hvr."], { of: isUrlSafe, min: 24, max: 500 }),
  tokens("shopify_token", ["shpat_", "shpca_", "shppa_", "shpss_"], { of: isHex, min: 32, max: 32 }),
  tokens("linear_key", ["lin_api_"], { of: isAlphanumeric, min: 32, max: 64 }),
  tokens("postman_key", ["PMAK-"], { of: isUrlSafe, min: 50, max: 70 }),
  tokens("grafana_token", ["glsa_"], { of: isWord, min: 41, max: 41 }),
  tokens("age_secret_key", ["AGE-SECRET-KEY-1"], { of: isCapitalOrDigit, min: 58, max: 58 }),
  tokens("age_secret_key", ["age-secret-key-1"], { of: isSmallOrDigit, min: 58, max: 58 }),
  { name: "troupe_token", anchors: ["tr_"], read: readOwnToken },
  { name: "jwt", anchors: ["eyJ"], read: readJsonWebToken },
  { name: "private_key", anchors: ["-----BEGIN "], read: readPrivateKey },
  { name: "url_password", anchors: ["://"], read: readUrlPassword },
  { name: "bearer_token", anchors: ["bearer "], isFolded: true, read: readBearer },
  { name: "basic_credentials", anchors: ["basic "], isFolded: true, read: readBasic },
];
