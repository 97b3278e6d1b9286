/** The images of a request: fetched for a model that takes them, refused or told of in words for any other. */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { ModelCapabilities, ModelMessage, ModelRequest } from "../../schemas/model.ts";
import { StoreError } from "../journal/store.ts";

/** What images are shown with. */
export interface ShownImageParts {
  /** The turn that asks. */
  readonly turn: number;
  /** The agent's name for the model. */
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  /** Reads a blob. Without it no image can be shown. */
  readonly readBlob: ((digest: string) => Promise<Uint8Array>) | undefined;
}

/** The request with its images, or why it is not put to this model: then nothing was sent. */
export async function withImages(
  request: ModelRequest,
  { turn, model, capabilities, readBlob }: ShownImageParts,
): Promise<ModelRequest | { readonly failure: Failure }> {
  const images = request.messages.flatMap((one) => one.role === "user" ? one.images ?? [] : []);
  if (images.length === 0) return request;
  if (capabilities.imageInput !== true) {
    if (images.some((image) => image.turn === turn)) return { failure: unsupported(model) };
    // What an earlier turn brought must not end every later one.
    return { ...request, messages: request.messages.map(inWords) };
  }
  const found = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const { digest } of images) {
    if (found.has(digest)) continue;
    try {
      if (readBlob === undefined) return { failure: lost(digest) };
      found.set(digest, new Uint8Array(await readBlob(digest)));
    } catch (error) {
      if (error instanceof StoreError && error.code === "journal_corrupt") return { failure: lost(digest) };
      throw error;
    }
  }
  return { ...request, images: found };
}

function unsupported(model: string): Failure {
  return failure(
    "model_input_unsupported",
    `The model "${model}" takes no images: choose one that does, or set capabilities.image_input if this one can`,
  );
}

function lost(digest: string): Failure {
  return failure("model_failed", `The image ${digest} of a prompt cannot be read: run troupe doctor`);
}

function inWords(message: ModelMessage): ModelMessage {
  if (message.role !== "user" || message.images === undefined) return message;
  const told = message.images.map(({ mediaType }) => `[${mediaType}, which this model is not shown]`);
  return { role: "user", text: [message.text, ...told].join("\n") };
}
