/** Images that a prompt brings: kept as blobs, named in the journal by their digest. */
import { z } from "zod";
import { Digest } from "./ids.ts";
import { limits } from "./limits.ts";

/** The kinds of images that models are shown, told by their first bytes. */
export const ImageType = z.enum(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** A kind of image. */
export type ImageType = z.infer<typeof ImageType>;

/** An image as entries name it. */
export const ImageRef = z.strictObject({
  digest: Digest,
  mediaType: ImageType,
  bytes: z.int().min(1).max(limits.imageBytesMax),
});
/** An image as entries name it. */
export type ImageRef = z.infer<typeof ImageRef>;

/** The images of one prompt. */
export const ImageRefs = z.array(ImageRef).min(1).max(limits.imagesPerPromptMax);

/** An image of the conversation, and the turn whose prompt brought it. */
export const ShownImage = ImageRef.extend({ turn: z.int().min(0) });
/** An image of the conversation. */
export type ShownImage = z.infer<typeof ShownImage>;

/** An image as it is handed over: its bytes in base64. */
export const GivenImage = z.strictObject({
  media_type: ImageType,
  data: z.string().min(1).max(Math.ceil(limits.imageBytesMax / 3) * 4),
});
/** An image as it is handed over. */
export type GivenImage = z.infer<typeof GivenImage>;

/** The images that are handed over with one prompt. */
export const GivenImages = z.array(GivenImage).min(1).max(limits.imagesPerPromptMax);
