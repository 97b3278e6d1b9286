/** The text of an HTML page, made in a thread that ends with its time. */
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { exhaustionAdvice, lacksFilesToStart } from "../exhaustion.ts";
import type { Clock } from "../seams.ts";
import type { PageOrder, PageText } from "./page_worker.ts";

export type { PageText } from "./page_worker.ts";

/** In a bundle, and so in a binary, every module is JavaScript, and the thread's own stands beside the others. */
const workerFile = import.meta.url.endsWith(".ts") ? "./page_worker.ts" : "./page_worker.js";

/** What a page says. One that is not read in time, or breaks the reader, is a failure. */
export function readPage(
  page: PageOrder,
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
): Promise<PageText | Failure> {
  if (lacksFilesToStart()) {
    const why = retryableFailure("resource_exhausted", `Cannot read the page: ${exhaustionAdvice}`);
    return Promise.resolve(why);
  }
  const { promise, resolve } = Promise.withResolvers<PageText | Failure>();
  const worker = new Worker(new URL(workerFile, import.meta.url), { type: "module", name: "page" });
  const enough = new AbortController();
  const over = AbortSignal.any([signal, enough.signal]);
  clock.sleepUntil(clock.now() + limits.pageReadMs, over).then(() =>
    resolve(unreadable(`it was not read within ${limits.pageReadMs / 1_000} s`))
  );
  worker.onmessage = ({ data }: MessageEvent<PageText | null>) =>
    resolve(data ?? unreadable("its HTML cannot be read"));
  worker.onerror = (event) => {
    event.preventDefault();
    resolve(unreadable("its reader broke"));
  };
  worker.postMessage(page);
  return promise.finally(() => {
    enough.abort();
    worker.terminate();
  });
}

function unreadable(why: string): Failure {
  return failure("page_unreadable", `Cannot read the page: ${why}`);
}
