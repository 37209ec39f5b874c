/**
 * How long a step and the index of a passage take on this machine, for the plan of a run: counted
 * (work.ts), and the speed of one product of matrices. Nothing of the model runs. The run corrects
 * the number of its steps as it goes on (../run/time-budget.ts).
 */

import { mean } from "../../math/mean.ts";
import { createRandom } from "../../math/random.ts";
import { vectorSize } from "../../model/config.ts";
import { bitsFor } from "../../retrieval/index/write/automatic-bits.ts";
import { compile, type Provider } from "../../tensor/session.ts";
import { trace } from "../../tensor/trace.ts";
import { passageIds, retrievalQuestionIds } from "../../text/tokens/prompts.ts";
import type { Tokenizer } from "../../text/tokens/tokenizer.ts";
import type { Corpus } from "../examples/corpus.ts";
import { MIN_STEPS } from "../options/run-options.ts";
import { type Run, refitsCalibration } from "../run/run.ts";
import { SAMPLES } from "../verdict/measure-model.ts";
import { MONITOR_PASSAGES } from "../verdict/monitor-set.ts";
import type { PlanSample } from "./samples.ts";
import { type Lengths, passageWork, stepWork } from "./work.ts";

/** Passages that mean lengths are estimated from. */
const SAMPLED = 400;
/** The passage limit of `reatt index`. The index of an adapted model has it too. */
export const INDEX_PASSAGE_TOKENS = 512;

/** Means of passages of a corpus. */
export interface CorpusSample {
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
  const sampled: { tokens: number; unknown: number; characters: number }[] = [];
  const isSampled = (id: string): boolean =>
    createRandom(seed, "length", id).next() * corpus.size < SAMPLED;
  for await (const passage of corpus.passages(isSampled)) {
    const ids = passageIds(tokenizer, passage, INDEX_PASSAGE_TOKENS);
    const unknown = ids.filter((id) => id === tokenizer.unknownId).length;
    const characters = passage.title.length + passage.text.length;
    sampled.push({ tokens: ids.length, unknown, characters });
  }
  const indexed = mean(sampled.map(({ tokens }) => tokens));
  return {
    indexed,
    trained: mean(sampled.map(({ tokens }) => Math.min(tokens, maxPassageTokens))),
    characters: mean(sampled.map(({ characters }) => characters)),
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

/**
 * Time of a counted product in a step and in an index, in units of one in a large matrix
 * (`secondsOfProduct`). A step also has norms, softmaxes and transpositions. An index has them too,
 * but products of int8. Measured with models/reatt-mini on two cores (docs/experiments/speed.md).
 */
const STEP_PRODUCT = 1.25;
const INDEX_PRODUCT = 0.8;

/**
 * @param samples questions and answers of the run
 * @param product seconds of a product: see `secondsOfProduct`
 */
export function estimatePace(
  run: Run,
  { indexed, trained }: Pick<CorpusSample, "indexed" | "trained">,
  samples: readonly PlanSample[],
  tokenizer: Tokenizer,
  product: number,
): Pace {
  const { maxAnswerTokens } = run.batch;
  const answers = samples.map(({ answer }) => (answer === "" ? [] : tokenizer.encode(answer)));
  const lengths: Lengths = {
    passage: trained,
    question: mean(samples.map(({ question }) => retrievalQuestionIds(tokenizer, question).length)),
    answer: mean(answers.map(({ length }) => Math.min(maxAnswerTokens, length && length + 1))),
  };
  return {
    step: STEP_PRODUCT * product * stepWork(run, lengths),
    passage: INDEX_PRODUCT * product * passageWork(run.config, indexed),
  };
}

/** Sizes of the matrices whose product is timed, and how often: 0.1 s on two cores. */
const [ROWS, INNER, COLUMNS] = [1024, 512, 512];
const REPEATED = 8;

/** Seconds of a product of two numbers on this machine, among many in a product of matrices. */
export async function secondsOfProduct(provider: Provider): Promise<number> {
  const graph = trace(
    { a: ["float32", ROWS, INNER], b: ["float32", INNER, COLUMNS] },
    (ops, { a, b }) => ({
      product: ops.matmul(a, b),
    }),
  );
  await using session = await compile(graph, { provider });
  const random = createRandom("product");
  const values = (...shape: [number, number]) => ({
    data: Float32Array.from({ length: shape[0] * shape[1] }, () => random.next()),
    shape,
  });
  const matrices = { a: values(ROWS, INNER), b: values(INNER, COLUMNS) };
  await session.run(matrices); // the first run reserves memory
  const start = performance.now();
  for (let run = 0; run < REPEATED; run++) await session.run(matrices);
  return (performance.now() - start) / 1000 / (REPEATED * ROWS * INNER * COLUMNS);
}

/** Measurements of retrieval that a run with a time limit plans: before, meanwhile and after. */
const MEASUREMENTS = 4;
/** Time of a measurement in units of that of its index: it also searches and tunes lambda. */
const SEARCHED = 1.5;
/** More bring nothing. */
const MAX_STEPS = 4_000;

/** What a run is measured with. All numbers are the most that there can be. */
export interface PlannedMeasurement {
  /** Who made the questions. */
  readonly what: "dev questions" | "held-out examples";
  /** How many there are. */
  readonly questions: number;
  /** Passages among which they are searched. */
  readonly passages: number;
  /** Questions that are also answered. */
  readonly answered: number;
}

/** A measurement on a sample of the corpus, in which each question has one relevant passage. */
export const sampledMeasurement = (
  what: PlannedMeasurement["what"],
  questions: number,
  passages: number,
): PlannedMeasurement | undefined =>
  questions === 0
    ? undefined
    : {
        ...{ what, questions },
        passages: Math.min(passages, questions + MONITOR_PASSAGES),
        answered: Math.min(SAMPLES, questions),
      };

/** Seconds of a measurement; 0 without one. */
export const measurementSeconds = (
  measured: PlannedMeasurement | undefined,
  pace: Pace,
  { indexed, trained }: CorpusSample,
): number =>
  measured
    ? pace.passage *
      (SEARCHED * measured.passages * (trained / indexed) + (ASKED / 2) * measured.answered)
    : 0;

/** The corpus, and whether it is indexed at the end. */
export interface IndexedCorpus {
  readonly passages: number;
  readonly writesIndex: boolean;
}

/** Fewer show nothing. */
const MIN_MEASURED = 100;

/** How many passages a measurement of some seconds can search, with the answers of its samples. */
export const passagesInTime = (
  seconds: number,
  pace: Pace,
  { indexed, trained }: CorpusSample,
): number =>
  Math.max(MIN_MEASURED, Math.floor(seconds / (SEARCHED * pace.passage * (trained / indexed))));

/** Of a value of a key: 50 microseconds for a key of 256 values (docs/experiments/speed.md). */
const COMPRESSION_SECONDS = 2e-7;

/** Seconds to compress the index of a corpus, if it has the keys for that. */
export function compressionSeconds(
  { config }: Pick<Run, "config">,
  { passages, writesIndex }: IndexedCorpus,
  { indexed }: CorpusSample,
): number {
  const { pooling } = config.retrievalAttention;
  const keys = passages * (pooling === undefined ? indexed : 1);
  const dimension = vectorSize(config);
  const isCompressed = bitsFor("automatic", keys, { dimension, pooling }) !== undefined;
  return writesIndex && isCompressed ? keys * dimension * COMPRESSION_SECONDS : 0;
}

/** Time to ask a question twice, in units of that to index a passage. */
const ASKED = 16;
/** The most of a time limit that this may take: fewer questions are asked then. */
const CALIBRATION_SHARE = 0.1;

/**
 * Seconds to fit the calibrations of the trained model.
 *
 * @param questions held-out ones
 */
export const calibrationSeconds = (run: Run, questions: number, pace: Pace): number =>
  refitsCalibration(run)
    ? Math.min(CALIBRATION_SHARE * 60 * (run.minutes ?? Infinity), questions * ASKED * pace.passage)
    : 0;

/** What a time limit allows. */
export interface TimedSteps {
  /** How many steps fit into the minutes, beside the measurements and the index: 1 or more. */
  readonly steps: number;
  /** The minutes that enough steps to show a gain would take. */
  readonly enough: number;
}

/** @param calibration seconds to calibrate the model at the end */
export function stepsInTime(
  run: Pick<Run, "config"> & { readonly minutes: number },
  { measured, ...corpus }: IndexedCorpus & { readonly measured: PlannedMeasurement | undefined },
  pace: Pace,
  sample: CorpusSample,
  calibration: number,
): TimedSteps {
  const encoding = corpus.writesIndex ? corpus.passages * pace.passage : 0;
  const others =
    encoding +
    calibration +
    compressionSeconds(run, corpus, sample) +
    MEASUREMENTS * measurementSeconds(measured, pace, sample);
  const steps = Math.floor((60 * run.minutes - others) / pace.step);
  return {
    steps: Math.max(1, Math.min(MAX_STEPS, steps)),
    enough: Math.ceil((others + MIN_STEPS * pace.step) / 60),
  };
}
