/** A model on loopback that says so many words: at once, or one each millisecond. Prints its port. */
const encoder = new TextEncoder();

function part(delta: object, more: object = {}): Uint8Array<ArrayBuffer> {
  const choices = [{ index: 0, delta, finish_reason: null, ...more }];
  const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices };
  return encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`);
}

Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(port) }, async (request) => {
  const { model, max_tokens: words } = await request.json();
  let said = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      if (model === "paced") await new Promise((resolve) => setTimeout(resolve, 1));
      if (said++ < words) return controller.enqueue(part({ content: `word${said % 97} ` }));
      controller.enqueue(part({}, { finish_reason: "stop" }));
      controller.enqueue(encoder.encode("data: [DONE]\n\n"));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
});
