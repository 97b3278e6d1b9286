/** Cuts a stream of text into lines. */

/** Gives each line without its end; an unfinished last one too. */
export class TextLineStream extends TransformStream<string, string> {
  constructor() {
    let rest = "";
    super({
      transform: (chunk, controller) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) controller.enqueue(line);
      },
      flush: (controller) => {
        if (rest !== "") controller.enqueue(rest);
      },
    });
  }
}
