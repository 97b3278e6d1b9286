/** What our side of a model's stream costs beside the bare provider package: to the first word, in all, and with 50 at once. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ModelSettings, ProviderConfig } from "../../schemas/provider.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { LiveAnswer } from "../../src/effects/live_answer.ts";
import { HostModels } from "../../src/host/host_models.ts";
import { AnswerCollector } from "../../src/model/collect.ts";
import { ModelDirectory } from "../../src/model/model_directory.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { progress } from "./progress.ts";
import { median } from "./statistics.ts";
import { duration, times } from "./table.ts";

/** One answer, in milliseconds from the request. */
interface Took {
  readonly firstMs: number;
  readonly totalMs: number;
}

/** One way of a server to speak, by both sides in turn. */
export interface ModelFigures {
  readonly name: string;
  readonly ours: Took;
  readonly bare: Took;
  /** Medians of the rounds' own ratios. */
  readonly firstRatio: number;
  readonly totalRatio: number;
}

/** Asks a server of its own both ways, round after round, the first one by turns. */
export async function runModelRounds(rounds: number): Promise<readonly ModelFigures[]> {
  const server = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-config", "--allow-net", new URL("./model_server.ts", import.meta.url).pathname],
    stdout: "piped",
  }).spawn();
  const reader = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const baseUrl = `http://127.0.0.1:${Number((await reader.read()).value)}/v1`;
  const models = modelsAt(baseUrl);
  try {
    const found: ModelFigures[] = [];
    const cases = [["one word", "fast", 1, 1], ["4,000 words at once", "fast", 4_000, 1], [
      "200 words, one a millisecond",
      "paced",
      200,
      1,
    ], ["50 streams of 200 words, one a millisecond", "paced", 200, 50]] as const;
    for (const [name, model, words, streams] of cases) {
      const provider = await models.open(model);
      const samples: { readonly ours: Took; readonly bare: Took }[] = [];
      for (let round = -2; round < rounds; round++) {
        progress(`models, ${name}, round ${Math.max(0, round) + 1} of ${rounds}`);
        const ours = () => atOnce(streams, () => askOurs(provider, model, words));
        const bare = () => atOnce(streams, () => askBare(baseUrl, model, words));
        const first = round % 2 === 0 ? await ours() : await bare();
        const second = round % 2 === 0 ? await bare() : await ours();
        const sample = round % 2 === 0 ? { ours: first, bare: second } : { ours: second, bare: first };
        if (round >= 0) samples.push(sample);
      }
      found.push(figuresOf(name, samples));
    }
    return found;
  } finally {
    progress("");
    models.close();
    await reader.cancel();
    server.kill();
    await server.status;
  }
}

function figuresOf(
  name: string,
  samples: readonly { readonly ours: Took; readonly bare: Took }[],
): ModelFigures {
  const of = (side: "ours" | "bare"): Took => ({
    firstMs: median(samples.map((one) => one[side].firstMs)),
    totalMs: median(samples.map((one) => one[side].totalMs)),
  });
  return {
    name,
    ours: of("ours"),
    bare: of("bare"),
    firstRatio: median(samples.map(({ ours, bare }) => ours.firstMs / bare.firstMs)),
    totalRatio: median(samples.map(({ ours, bare }) => ours.totalMs / bare.totalMs)),
  };
}

/** The middle one to begin, and the last one to end. */
async function atOnce(streams: number, ask: () => Promise<Took>): Promise<Took> {
  const all = await Promise.all(Array.from({ length: streams }, ask));
  return {
    firstMs: median(all.map(({ firstMs }) => firstMs)),
    totalMs: Math.max(...all.map(({ totalMs }) => totalMs)),
  };
}

function modelsAt(baseUrl: string): HostModels {
  const local = ProviderConfig.parse({ kind: "openai_compatible", base_url: baseUrl, allow_private: true });
  const models = { fast: "local/fast", paced: "local/paced" };
  const named = Object.entries(models).map(([name, model]) => [name, ModelSettings.parse({ model })]);
  const config = { providers: { local }, models: Object.fromEntries(named), network: { allow: [] } };
  const { clock } = createSystemSeams({ log: () => {} });
  const directory = new ModelDirectory({ config, secrets: new Map() });
  return new HostModels({ directory, known: new KnownSecrets(), clock, log: () => {} });
}

/** As a turn asks: collected, and shown without secrets while it comes. */
async function askOurs(provider: ModelProvider, model: string, words: number): Promise<Took> {
  const startMs = performance.now();
  let firstMs: number | undefined;
  const collector = new AnswerCollector();
  const live = new LiveAnswer(createDoorRedactor(), ({ type }) => {
    if (type === "text_delta") firstMs ??= performance.now() - startMs;
  });
  const messages = [{ role: "user" as const, text: "Go" }];
  const request = { model, messages, tools: [], toolChoice: "auto" as const, maxOutputTokens: words };
  for await (const event of provider.generate(request, new AbortController().signal)) {
    live.take(event);
    collector.take(event);
    if (collector.isDone()) break;
  }
  return { firstMs: firstMs ?? NaN, totalMs: performance.now() - startMs };
}

async function askBare(baseURL: string, model: string, words: number): Promise<Took> {
  const startMs = performance.now();
  let firstMs: number | undefined;
  const bare = createOpenAICompatible({ name: "bare", baseURL, includeUsage: true }).chatModel(model);
  const { stream } = await bare.doStream({
    prompt: [{ role: "user", content: [{ type: "text", text: "Go" }] }],
    maxOutputTokens: words,
  });
  for await (const { type } of stream) {
    if (type === "text-delta") firstMs ??= performance.now() - startMs;
  }
  return { firstMs: firstMs ?? NaN, totalMs: performance.now() - startMs };
}

/** The figures as text. */
export function modelsText(figures: readonly ModelFigures[]): string {
  return figures.map(({ name, ours, bare, firstRatio, totalRatio }) =>
    `A model's stream, ${name}: first word ${duration(ours.firstMs)} against ${
      duration(bare.firstMs)
    } by the bare ` +
    `package: ${times(firstRatio)}; in all ${duration(ours.totalMs)} against ${duration(bare.totalMs)}: ${
      times(totalRatio)
    }`
  ).join("\n");
}
