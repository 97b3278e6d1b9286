/** The images of a prompt: looked at by their first bytes, kept as blobs, named by their digest. */
import type { GivenImage, ImageRef, ImageType } from "../schemas/image.ts";
import { limits } from "../schemas/limits.ts";
import type { SessionMessage } from "../schemas/message.ts";
import { type Kernel, KernelError } from "./kernel/kernel.ts";

/** The prompt as a session is told it. Its images are on their way to the disk before it is, so that none is missing there. */
export async function promptOf(
  kernel: Kernel,
  text: string,
  images: readonly GivenImage[],
): Promise<SessionMessage> {
  if (images.length > limits.imagesPerPromptMax) {
    throw invalid(`A prompt takes at most ${limits.imagesPerPromptMax} images`);
  }
  const read = images.map((image, index) => bytesOf(image, index + 1));
  const refs: ImageRef[] = [];
  for (const { bytes, mediaType } of read) {
    const digest = await kernel.seams.digest(bytes);
    kernel.journal.writer.putBlob({ digest, bytes });
    refs.push({ digest, mediaType, bytes: bytes.length });
  }
  return { type: "session.prompt", text, ...(refs.length === 0 ? {} : { images: refs }) };
}

function invalid(message: string): KernelError {
  return new KernelError("image_invalid", message);
}

function bytesOf({ media_type: told, data }: GivenImage, number: number) {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Uint8Array.fromBase64(data);
  } catch {
    throw invalid(`The image ${number} is no base64: send its bytes as RFC 4648 says, without line breaks`);
  }
  if (bytes.length > limits.imageBytesMax) {
    throw invalid(`The image ${number} has ${bytes.length} bytes, at most ${limits.imageBytesMax} are taken`);
  }
  const mediaType = imageTypeOf(bytes);
  if (mediaType === undefined) {
    throw invalid(`The image ${number} is none: png, jpeg, gif and webp are taken`);
  }
  if (mediaType !== told) throw invalid(`The image ${number} is called ${told}, and is ${mediaType}: say so`);
  return { bytes, mediaType };
}

/** The kind of an image by its first bytes; undefined for anything else, whatever its name says. */
export function imageTypeOf(bytes: Uint8Array): ImageType | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  return /^RIFF[^]{4}WEBP/.test(head) ? "image/webp" : undefined;
}
