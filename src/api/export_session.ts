/** `export`: a whole session as `troupe export` writes it. */
import type { ApiGiven, ApiResult } from "../../schemas/api.ts";
import { writeExport } from "../export/export_write.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { sessionFor } from "./visible.ts";

/** Gives out the lines as they are written: the journal is read no faster than they are taken. */
export async function* exportSession(
  context: ApiCallContext,
  { address }: ApiGiven<"export">,
): AsyncIterable<ApiResult<"export">> {
  const { parts: { host, seams }, signal } = context;
  const root = sessionFor(context, address);
  const { readable, writable } = new TransformStream<string, string>();
  const writer = writable.getWriter();
  const written = writeExport({
    records: host,
    root,
    digest: seams.digest,
    write: async (text) => {
      await writer.ready;
      await writer.write(text);
    },
  }).then(() => writer.close(), (error) => writer.abort(error));
  try {
    for await (const text of readable) {
      if (signal.aborted) return;
      yield { text };
    }
  } finally {
    await written.catch(() => {}); // What went wrong was thrown to the reader.
  }
}
