/** Answers that have a form, and prompts that bring images, by the real command. */
import assert from "node:assert/strict";
import { assertRefused, linesOf, onStage } from "./troupe.ts";

Deno.test("run --json ends with the value of an answer that has its form, once images were shown; what is no image is refused", async () => {
  await onStage(async (stage) => {
    const schema = "{type: object, properties: {count: {type: integer}}, required: [count]}";
    await stage.write({
      "agent/agent.yaml": `name: tester\nmodel: scripted/script.yaml\noutput_schema: ${schema}\n`,
      "agent/script.yaml": "capabilities: { imageInput: true }\nanswers:\n" +
        "  - text: two\n  - { text: '{\"count\": 2}', expect: not one JSON value }\n  - text: none\n  - text: none\n",
      "ws/pixel.jpg": "GIF89a, whatever its name says",
      "ws/page.png": "<svg/>",
    });
    const run = (...more: readonly string[]) =>
      stage.run("run", "agent", "Count", "--workspace", "ws", "--json", ...more);
    assertRefused(
      await run("--image", "ws/page.png"),
      2,
      "image_invalid",
      /"ws\/page\.png": it is no png, jpeg/,
    );
    const { code, out, err } = await run("--image", "ws/pixel.jpg", "--image=ws/pixel.jpg");
    assert.equal(code, 0, err);
    const lines = linesOf(out);
    assert.deepEqual(lines.at(-1), { output: { count: 2 } });
    const prompt = lines.find(({ type }) => type === "session.prompt");
    const { message } = prompt?.["body"] as { message: { images: { mediaType: string }[] } };
    assert.deepEqual(message.images.map(({ mediaType }) => mediaType), ["image/gif", "image/gif"]);
    const misfit = await stage.run("run", "agent", "Count", "--session", "last");
    assert.equal(misfit.code, 1);
    assert.match(
      misfit.err,
      /^asked once more: the answer does not fit output_schema: the answer is not one JSON value/m,
    );
    assert.match(misfit.err, /output_invalid/);
  });
});
