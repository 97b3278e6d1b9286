/** What a vendor wants back with its own answer: signed thoughts, ids of items. Kept in the answer's metadata (AR-20). */
import { z } from "zod";
import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import { JsonObject } from "../../../schemas/json.ts";
import type { ModelMessage } from "../../../schemas/model.ts";
import type { ProviderKind } from "../../../schemas/provider.ts";
import { redactedMark } from "../../../schemas/secret.ts";

/** Whose answer it was. Signatures and ids mean something to that very model only. */
export interface VendorIdentity {
  readonly kind: ProviderKind;
  readonly model: string;
}

/** One part of an answer, in its order. A text has its length, so that the answer's one text can be cut again. */
export const KeptPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("reasoning"), text: z.string(), options: JsonObject.exactOptional() }),
  z.strictObject({
    type: z.literal("text"),
    characters: z.int().min(0),
    options: JsonObject.exactOptional(),
  }),
  z.strictObject({ type: z.literal("call"), callId: z.string(), options: JsonObject.exactOptional() }),
]);
/** One part of an answer. */
export type KeptPart = z.infer<typeof KeptPart>;

const Kept = z.looseObject({
  kind: z.string(),
  model: z.string(),
  parts: z.array(KeptPart).max(10_000),
});

/** A part as it is told again. */
export type ToldPart =
  & ({ readonly type: "reasoning" | "text"; readonly text: string } | {
    readonly type: "call";
    readonly callId: string;
  })
  & { readonly options?: SharedV4ProviderOptions };

/** What goes back of an answer; nothing if it came from elsewhere, or by a release that kept nothing. */
export function keptParts(
  message: Extract<ModelMessage, { role: "assistant" }>,
  { kind, model }: VendorIdentity,
): readonly ToldPart[] {
  const kept = Kept.safeParse(message.metadata);
  if (!kept.success || kept.data.kind !== kind || kept.data.model !== model) return [];
  const { parts } = kept.data;
  const characters = parts.reduce((sum, part) => sum + (part.type === "text" ? part.characters : 0), 0);
  // A secret that was taken out has changed the text: then it is told in one piece.
  const pieces = characters === message.text.length ? undefined : [message.text];
  let from = 0;
  return parts.flatMap((part): readonly ToldPart[] => {
    const isAltered = JSON.stringify(part).includes(redactedMark);
    const options = part.options === undefined || isAltered
      ? {}
      : { options: part.options as SharedV4ProviderOptions };
    if (part.type === "call") return [{ type: "call", callId: part.callId, ...options }];
    // A thought of which something was taken out no longer fits its signature.
    if (part.type === "reasoning") {
      return isAltered ? [] : [{ type: "reasoning", text: part.text, ...options }];
    }
    const text = pieces === undefined
      ? message.text.slice(from, from + part.characters)
      : pieces.shift() ?? "";
    from += part.characters;
    return [{ type: "text", text, ...options }];
  });
}
