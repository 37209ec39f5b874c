/**
 * How fast this machine trains and indexes: a step of the run, and an index of 64 passages, with
 * the run's own model. The plan of an adaptation is estimated from it. The run corrects the number
 * of its steps as it goes on (../run/time-budget.ts).
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { hasWeights } from "../../checkpoints/open.ts";
import { createTemporaryDirectory } from "../../io/create-directory.ts";
import { InputError } from "../../io/errors.ts";
import { finished } from "../../io/progress.ts";
import { mean } from "../../math/mean.ts";
import { createRandom } from "../../math/random.ts";
import { vectorSize } from "../../model/config.ts";
import { ReAtt } from "../../reatt.ts";
import { bitsFor } from "../../retrieval/index/write/automatic-bits.ts";
import type { Passage } from "../../text/passage.ts";
import { passageIds, retrievalQuestionIds } from "../../text/tokens/prompts.ts";
import type { Tokenizer } from "../../text/tokens/tokenizer.ts";
import { openEngine } from "../engine/open-engine.ts";
import type { Corpus } from "../examples/corpus.ts";
import { objectivesOf } from "../objectives/index.ts";
import type { TokenExample } from "../objectives/token-batch.ts";
import { saveModel, startingParameters } from "../run/parameters.ts";
import type { Run } from "../run/run.ts";
import type { Adaptation } from "./adaptation.ts";
import { monitoredPassages } from "./monitor-set.ts";
import type { AdaptationSample } from "./samples.ts";

/** Passages that are indexed, and read in a step. */
const MEASURED = 64;
/** Passages that mean lengths are estimated from. */
const SAMPLED = 400;
/** The passage limit of `reatt index`. The index of an adapted model has it too. */
export const INDEX_PASSAGE_TOKENS = 512;

/** Passages of a corpus, and their means. */
export interface CorpusSample {
  /** Those of about the mean length first. */
  readonly passages: readonly Passage[];
  /** Tokens in the index, and in training. */
  readonly indexed: number;
  readonly trained: number;
  /** UTF-16 code units. */
  readonly characters: number;
  /** Share of the tokens that the tokenizer does not know. */
  readonly unknown: number;
}

export async function sampleCorpus(
  { batch: { maxPassageTokens }, seed }: Run,
  corpus: Corpus,
  tokenizer: Tokenizer,
): Promise<CorpusSample> {
  const sampled: { passage: Passage; tokens: number; unknown: number }[] = [];
  const isSampled = (id: string): boolean =>
    createRandom(seed, "length", id).next() * corpus.size < SAMPLED;
  for await (const passage of corpus.passages(isSampled)) {
    const ids = passageIds(tokenizer, passage, INDEX_PASSAGE_TOKENS);
    const unknown = ids.filter((id) => id === tokenizer.unknownId).length;
    sampled.push({ passage, tokens: ids.length, unknown });
  }
  const indexed = mean(sampled.map(({ tokens }) => tokens));
  const usual = sampled.toSorted(
    (a, b) => Math.abs(a.tokens - indexed) - Math.abs(b.tokens - indexed),
  );
  return {
    passages: usual.map(({ passage }) => passage),
    indexed,
    trained: mean(sampled.map(({ tokens }) => Math.min(tokens, maxPassageTokens))),
    characters: mean(sampled.map(({ passage }) => passage.title.length + passage.text.length)),
    unknown: mean(sampled.map(({ unknown }) => unknown)) / indexed,
  };
}

/** Seconds. */
export interface Pace {
  /** Of a training step. */
  readonly step: number;
  /** To index a passage. */
  readonly passage: number;
}

/** @param samples questions and answers of the run */
export async function measurePace(
  run: Run,
  corpus: CorpusSample,
  samples: readonly AdaptationSample[],
  tokenizer: Tokenizer,
): Promise<Pace> {
  return {
    step: await secondsOfStep(run, corpus, samples, tokenizer),
    passage: await secondsOfPassage(run, corpus),
  };
}

/** A step with passages of about the mean length, as a run sorts its examples by length. */
async function secondsOfStep(
  run: Run,
  { passages }: CorpusSample,
  samples: readonly AdaptationSample[],
  tokenizer: Tokenizer,
): Promise<number> {
  const { questions, candidatesPerQuestion, maxPassageTokens, maxAnswerTokens } = run.batch;
  const { trained, tau, optimizer, config, device } = run;
  const count = Math.min(questions, Math.max(1, Math.floor(MEASURED / candidatesPerQuestion)));
  const objectives = objectivesOf(run.objective.objective, run.objective);
  /** @param first passage: texts that were met before can take less time */
  const examplesFrom = (first: number): TokenExample[] =>
    Array.from({ length: count }, (_, i) => {
      const { question, answer } = samples[i % samples.length]!;
      const own = Array.from(
        { length: candidatesPerQuestion },
        (_, k) => passages[(first + i * candidatesPerQuestion + k) % passages.length]!,
      );
      const target = [...tokenizer.encode(answer), tokenizer.eosId];
      return {
        question: retrievalQuestionIds(tokenizer, question),
        answer: answer === "" ? [] : target.slice(0, maxAnswerTokens),
        passages: own.map((passage) => passageIds(tokenizer, passage, maxPassageTokens)),
        positives: [0],
      };
    });
  const parameters = await startingParameters(run);
  const settings = { trained, tau, ...optimizer };
  await using engine = await finished(openEngine(config, parameters, settings, device));
  const step = { objectives, learningRate: 0, key: "pace" };
  await engine.step({ ...step, examples: examplesFrom(0), step: 1 }); // compiles the graphs
  const examples = examplesFrom(count * candidatesPerQuestion);
  const start = performance.now();
  await engine.step({ ...step, examples, step: 2 });
  return ((performance.now() - start) / 1000 / count) * questions;
}

async function secondsOfPassage(run: Run, { passages }: CorpusSample): Promise<number> {
  const folder = await createTemporaryDirectory("pace");
  try {
    const isTrained = await hasWeights(run.model);
    const start = isTrained ? run.model : join(folder, "model");
    if (!isTrained) await saveModel(start, run.config, await startingParameters(run), run.model);
    await using model = await ReAtt.load(start, { provider: run.device.provider });
    const seconds = async (some: readonly Passage[]): Promise<number> => {
      const start = performance.now();
      const directory = join(folder, `index-${some.length}`);
      const options = { directory, maxPassageTokens: INDEX_PASSAGE_TOKENS, bits: 32 } as const;
      await (await model.index(some, { ...options, replace: true }))[Symbol.asyncDispose]();
      return (performance.now() - start) / 1000;
    };
    await seconds(passages.slice(0, 1)); // compiles the graphs
    const measured = passages.slice(0, MEASURED);
    return (await seconds(measured)) / measured.length;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Measurements of retrieval that a run with a time limit plans: before, meanwhile and after. */
const MEASUREMENTS = 4;
/** Time of a measurement in units of that of its index: it also searches and tunes lambda. */
const SEARCHED = 1.5;
/**
 * A tenth of the steps is warm-up: a run of fewer has no effect. More than the most bring nothing.
 */
const STEPS = { least: 50, most: 4_000 };

/** Seconds of a measurement of retrieval. */
export const measurementSeconds = (
  run: Pick<Adaptation, "minutes">,
  passages: number,
  pace: Pace,
  { indexed, trained }: CorpusSample,
): number => SEARCHED * monitoredPassages(run, passages) * pace.passage * (trained / indexed);

/** Of a value of a key: 50 microseconds for a key of 256 values (docs/experiments/speed.md). */
const COMPRESSION_SECONDS = 2e-7;

/** Seconds to compress the index of a corpus, if it has the keys for that. */
export function compressionSeconds(
  { config, writesIndex }: Pick<Adaptation, "config" | "writesIndex">,
  passages: number,
  { indexed }: CorpusSample,
): number {
  const { pooling } = config.retrievalAttention;
  const keys = passages * (pooling === undefined ? indexed : 1);
  const dimension = vectorSize(config);
  const isCompressed = bitsFor("automatic", keys, { dimension, pooling }) !== undefined;
  return writesIndex && isCompressed ? keys * dimension * COMPRESSION_SECONDS : 0;
}

/**
 * How many steps fit into the minutes of a run, beside the measurements and the index.
 *
 * @param passages of the corpus
 * @throws {InputError} if too few fit
 */
export function stepsInTime(
  run: Pick<Adaptation, "minutes" | "writesIndex" | "config">,
  passages: number,
  pace: Pace,
  sample: CorpusSample,
): number {
  const minutes = run.minutes!;
  const encoding = run.writesIndex ? passages * pace.passage : 0;
  const ofIndex = encoding + compressionSeconds(run, passages, sample);
  const others = ofIndex + MEASUREMENTS * measurementSeconds(run, passages, pace, sample);
  const steps = Math.floor((60 * minutes - others) / pace.step);
  if (steps >= STEPS.least) return Math.min(STEPS.most, steps);
  const needed = Math.ceil((others + STEPS.least * pace.step) / 60);
  throw new InputError({
    where: "minutes",
    expected: `${needed} or more: ${STEPS.least} steps take ${duration(STEPS.least * pace.step)}, the index of ${passages} passages ${duration(ofIndex)}`,
    got: `${minutes}`,
    remedy: "give more minutes or fewer passages, or leave the index out",
  });
}

const duration = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
