/** How long a token is to open. */
import { accessLimits } from "../../../schemas/access_limits.ts";
import { UsageError } from "../exit.ts";

const unitMs: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The option `--expires`. */
export const expiresOption = { kind: "text", value: "30d" } as const;

/** How long, in milliseconds; null: until it is revoked. */
export function readLifetime(text: string): number | null {
  if (text === "never") return null;
  const [, count = "", unit = ""] = /^([1-9][0-9]{0,5})([mhd])$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? 0);
  if (ms > 0 && ms <= accessLimits.tokenLifeMsMax) return ms;
  const days = accessLimits.tokenLifeMsMax / 86_400_000;
  throw new UsageError("option_invalid", `--expires takes 30m, 12h, 90d (at most ${days}d) or never`);
}
