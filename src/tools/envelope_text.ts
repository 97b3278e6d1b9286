/** A result's envelope as one text: what a model is told of it, before it is cut. */
import type { Attachment, ToolContent, ToolResultEnvelope as Envelope } from "../../schemas/tool.ts";
import { visible } from "./visible.ts";

/** All pieces of a result as one text, in their order; attachments by name and digest. */
export function envelopeText(envelope: Envelope): string {
  return [...envelope.content.map(textOfPiece), ...envelope.attachments.map(textOfAttachment)].join("\n");
}

function textOfPiece(piece: ToolContent): string {
  switch (piece.type) {
    case "text":
      return piece.text;
    case "structured":
      return JSON.stringify(piece.value);
    case "error":
      return `${piece.failure.code}: ${piece.failure.message}`;
  }
}

function textOfAttachment({ name, mediaType, bytes, digest }: Attachment): string {
  return `[attachment ${visible(name)}: ${visible(mediaType)}, ${bytes} bytes, ${digest}]`;
}
