/** Image files that a prompt brings, read before anything begins. */
import type { GivenImage } from "../../schemas/image.ts";
import { limits } from "../../schemas/limits.ts";
import { imageTypeOf } from "../prompt_images.ts";
import { UsageError } from "./exit.ts";

/** Reads the files in their order. Refuses too many, too large ones, and what is no image, whatever its name says. */
export async function readImages(paths: readonly string[], cwd: string): Promise<GivenImage[]> {
  if (paths.length > limits.imagesPerPromptMax) {
    const message =
      `${paths.length} images are given, at most ${limits.imagesPerPromptMax} are taken: leave some out`;
    throw new UsageError("image_invalid", message);
  }
  const images: GivenImage[] = [];
  for (const path of paths) {
    images.push(await readImage(path, path.startsWith("/") ? path : `${cwd}/${path}`));
  }
  return images;
}

async function readImage(shown: string, path: string): Promise<GivenImage> {
  const refuse = (why: string) => new UsageError("image_invalid", `Cannot show the image "${shown}": ${why}`);
  const { isFile, size } = await Deno.stat(path).catch(() => {
    throw refuse("there is no such file that can be read");
  });
  if (!isFile) throw refuse("it is no file");
  if (size > limits.imageBytesMax) {
    throw refuse(`it has ${size} bytes, at most ${limits.imageBytesMax} are taken: make it smaller`);
  }
  const bytes = await Deno.readFile(path).catch(() => {
    throw refuse("it cannot be read");
  });
  const type = imageTypeOf(bytes);
  if (type === undefined) throw refuse("it is no png, jpeg, gif or webp");
  return { media_type: type, data: bytes.toBase64() };
}
