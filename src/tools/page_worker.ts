/**
 * Turns HTML of strangers into text, in a thread of its own: whoever waits may end it, however long a page would take.
 * Told of one page, answers once.
 */
/// <reference lib="webworker" />
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import TurndownService from "turndown";
import { limits } from "../../schemas/limits.ts";

/** A page. */
export interface PageOrder {
  readonly html: string;
  /** Where it came from: links in it are relative to that. */
  readonly url: string;
}

/** What a person would read of it; `isWhole` if nothing was left out as decoration. */
export interface PageText {
  readonly title: string;
  readonly markdown: string;
  readonly isWhole: boolean;
}

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;

scope.onmessage = ({ data }: MessageEvent<PageOrder>) => {
  try {
    scope.postMessage(read(data));
  } catch {
    // What the libraries say of a broken page helps nobody.
    scope.postMessage(null);
  }
};

function read({ html, url }: PageOrder): PageText {
  const whole = /<html[\s>]/i.test(html) ? html : `<html><head></head><body>${html}</body></html>`;
  const { document } = parseHTML(whole) as unknown as { readonly document: Page };
  const title = (document.title ?? "").trim();
  if (!isModest(document)) return { title, markdown: document.body?.textContent ?? "", isWhole: true };
  const base = document.createElement("base");
  base.setAttribute("href", url);
  document.head?.prepend(base);
  const body = document.body?.innerHTML ?? "";
  const article = new Readability(document as unknown as ConstructorParameters<typeof Readability>[0])
    .parse();
  const content = article?.content ?? "";
  return {
    title: article?.title?.trim() ?? title,
    markdown: markdownOf(content === "" ? body : content),
    isWhole: content === "",
  };
}

/** Both libraries take far too long for pages that are nested as no writer nests them. */
function isModest({ documentElement }: Page): boolean {
  let level: readonly Branch[] = documentElement === null ? [] : [documentElement];
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    count += level.length;
    if (depth > limits.pageDepthMax || count > limits.pageElementsMax) return false;
    level = level.flatMap(({ children }) => [...children]);
  }
  return true;
}

interface Branch {
  readonly children: Iterable<Branch>;
}

/** What is used of a document. */
interface Page {
  readonly documentElement: Branch | null;
  readonly title: string | null;
  readonly head: { prepend(node: unknown): void } | null;
  readonly body: { readonly innerHTML: string; readonly textContent: string | null } | null;
  createElement(name: string): { setAttribute(name: string, value: string): void };
}

function markdownOf(html: string): string {
  const service = new TurndownService({
    headingStyle: "atx",
    codeBlockStyle: "fenced",
    bulletListMarker: "-",
  });
  service.remove(["script", "style", "noscript", "iframe"]);
  return service.turndown(html);
}
