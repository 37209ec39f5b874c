/** How the time of an answer is distributed over its stages. */

import { type Reading, type ReadingModel, read } from "../../src/decoder/reader.ts";
import { openReaderSession, type ReaderSession } from "../../src/decoder/reader-session.ts";
import {
  encodeSequences,
  openRetrieverSession,
  type RetrieverSession,
} from "../../src/encoder/retriever-session.ts";
import type { ReAtt } from "../../src/reatt.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import type { Weight } from "../../src/tensor/onnx-weights.ts";
import {
  passageIds,
  readingQuestionIds,
  retrievalQuestionIds,
} from "../../src/text/tokens/prompts.ts";
import { median, Stopwatch } from "./timing.ts";

export interface AnswerTimes {
  /** Milliseconds, medians over all answers. */
  readonly total: number;
  readonly stages: Readonly<Record<string, number>>;
  /** Median milliseconds of a decoder step, and the mean number of steps per answer. */
  readonly step: number;
  readonly steps: number;
  /** Mean number of tokens read per answer, including the question. */
  readonly tokens: number;
}

const STAGES = [
  "question to vectors",
  "search",
  "lower layers",
  "upper layers",
  "decoder",
] as const;

/** Answers every question `repetitions` times. Total and stages are timed alternately. */
export async function timeAnswers(
  model: ReAtt,
  index: TokenIndex,
  weights: ReadonlyMap<string, Weight>,
  questions: readonly string[],
  readTopK: number,
  repetitions: number,
): Promise<AnswerTimes> {
  await using encoder = await openRetrieverSession(model.config, { weights });
  await using reader = await openReaderSession(model.config, { weights });
  const totals: number[] = [];
  const stages = new Map<string, number[]>(STAGES.map((stage) => [stage, []]));
  const steps: number[] = [];
  let tokens = 0;
  for (let i = 0; i <= repetitions; i++)
    for (const question of questions) {
      const start = performance.now();
      await model.answer(question, index, { readTopK, hybrid: false }); // as the stages
      const total = performance.now() - start;
      const watch = new Stopwatch();
      const read = await answerInStages(
        model,
        index,
        { encoder, reader },
        watch,
        question,
        readTopK,
      );
      if (i === 0) continue; // the first run of a size allocates its memory
      totals.push(total);
      steps.push(...watch.times.get("decoder")!);
      tokens += read;
      for (const [stage, times] of stages) times.push(watch.total(stage));
    }
  return {
    total: median(totals),
    stages: Object.fromEntries([...stages].map(([stage, times]) => [stage, median(times)])),
    step: median(steps),
    steps: steps.length / totals.length,
    tokens: tokens / totals.length,
  };
}

/** Does what `ReAtt.answer` does and times it. Returns the number of tokens read. */
async function answerInStages(
  { config, tokenizer }: ReAtt,
  index: TokenIndex,
  { encoder, reader }: { encoder: RetrieverSession; reader: ReaderSession },
  watch: Stopwatch,
  text: string,
  readTopK: number,
): Promise<number> {
  const ids = retrievalQuestionIds(tokenizer, text);
  const [vectors] = await watch.time("question to vectors", () =>
    encodeSequences(encoder, config, [ids], "queries"),
  );
  const found = await watch.time("search", async () => {
    const hits = await index.search(vectors!, { topK: readTopK });
    return index.passages(hits.map(({ ordinal }) => ordinal));
  });
  const passages = found.map((passage) =>
    passageIds(tokenizer, passage, index.header.maxPassageTokens),
  );
  const question = readingQuestionIds(ids);
  const watched: ReadingModel = {
    config,
    encoder: {
      ...encoder,
      encode: (...input) => watch.time("lower layers", () => encoder.encode(...input)),
    },
    reader: {
      ...reader,
      fuse: (...input) => watch.time("upper layers", () => reader.fuse(...input)),
      step: (...input) => watch.time("decoder", () => reader.step(...input)),
    },
  };
  const readings: Reading[] = await read(watched, [{ question, passages }]);
  if (readings.length !== 1) throw new Error("one question, one answer");
  return passages.reduce((sum, passage) => sum + question.length + passage.length, 0);
}
