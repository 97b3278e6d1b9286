/** Bounds of images in prompts: part of all bounds, which are compared in `limits.ts`. */
export const imageLimits = {
  imagesPerPromptMax: 8,
  imageBytesMax: 5 * 1_024 * 1_024,
} as const;
