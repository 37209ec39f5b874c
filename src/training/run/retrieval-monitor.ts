/**
 * The retrieval monitor measures retrieval during a run: the best model is kept, and fall.ts
 * decides what follows when retrieval falls. In the paper, a RAG model trained end to end fell to
 * an nDCG@10 of 0 on BioASQ (ReAtt, section 6).
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Measures } from "../../evaluation/measures.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { mean } from "../../math/mean.ts";
import type { HybridWeights } from "../../model/config.ts";
import { ReAtt } from "../../reatt.ts";
import { type Bm25, buildBm25 } from "../../retrieval/bm25/bm25.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { MonitorQuestion, MonitorSet } from "../examples/training-data.ts";
import type { Baseline, SampleReply } from "../report/report.ts";
import type { Run } from "./run.ts";
import { saveModel } from "./save-model.ts";
import type { ScheduleChange } from "./schedule.ts";
import type { MeasurementSeconds } from "./time-budget.ts";
import { idsOf, reciprocalRank, tuneHybrid } from "./tune-hybrid.ts";

/** Passages retrieved for each question. */
const DEPTH = 100;
const CUTOFFS: readonly number[] = [1, 5, 20];
/** Questions that the report shows with what was retrieved and answered. */
const SAMPLES = 6;
const SAMPLE_PASSAGES = 3;

/** For each question, 1 / rank of the first relevant passage; 0 if none was retrieved. */
interface ReciprocalRanks {
  readonly reciprocalRanks: readonly number[];
}

/** The results of the measured model, alone and in hybrid search. */
export interface Measurement extends ReciprocalRanks {
  /** With the weights that fit this model. */
  readonly hybrid: ReciprocalRanks & { readonly weights: HybridWeights };
}

/** What a measurement took, and the answers to the samples. */
export interface MeasuredRetrieval extends Measurement {
  readonly seconds: MeasurementSeconds;
  readonly replies: readonly SampleReply[];
}

export interface MonitorRecord extends ReciprocalRanks {
  readonly step: number;
  /** Whether the model of this step was taken without a gain: see `bestOf`. Default: false. */
  readonly taken?: boolean | undefined;
  readonly hybrid: Measurement["hybrid"];
}

export interface MonitorOutcome {
  /** The measure before the run. */
  readonly before: Measures;
  /** Of the saved model, which is that of `step`. */
  readonly after: Measures;
  /** BM25 on the same questions and passages. */
  readonly bm25: Measures;
  /** Hybrid search. The weights of each model were tuned on the same questions. */
  readonly hybrid: {
    readonly before: Measures;
    readonly after: Measures;
    readonly weights: HybridWeights;
  };
  /** The step whose weights are kept. */
  readonly step: number;
  /** Whether the saved model is one that was taken without a gain: see `bestOf`. Default: false. */
  readonly taken?: boolean | undefined;
  /** Number of monitored questions. */
  readonly questions: number;
  /** Steps after which retrieval had fallen and the learning rate was halved. */
  readonly reductions: readonly number[];
}

/** The monitor set, with BM25 over its passages. */
export interface RetrievalMonitor extends MonitorSet {
  readonly lexical: Bm25;
  /** The measures of BM25. */
  readonly baseline: Baseline;
}

/**
 * Scores the passages of the monitor set by BM25, with the statistics of the whole corpus: the
 * scores, and so the weights of hybrid search, depend on the size of the corpus.
 */
export async function openMonitor(
  set: MonitorSet,
  corpus: Pick<Corpus, "bm25">,
  signal?: AbortSignal,
): Promise<RetrievalMonitor> {
  const { questions, passages } = set;
  const lexical = await buildBm25(passages, { signal }, await corpus.bm25());
  const reciprocalRanks = questions.map(({ question, relevant }) =>
    reciprocalRank(idsOf(lexical.rank(question, DEPTH), lexical), (id) => relevant.includes(id)),
  );
  const baseline = { name: "BM25", measures: measuresOf({ reciprocalRanks }) };
  return { ...set, lexical, baseline };
}

/** Some monitored questions, from all parts of the set. */
export function sampleQuestions({ questions }: Pick<MonitorSet, "questions">): MonitorQuestion[] {
  const count = Math.min(SAMPLES, questions.length);
  return Array.from(
    { length: count },
    (_, i) => questions[Math.floor((i * questions.length) / count)]!,
  );
}

/** What the model alone retrieves for the samples, and its answers. */
async function sampleReplies(
  model: ReAtt,
  index: TokenIndex,
  samples: readonly MonitorQuestion[],
): Promise<SampleReply[]> {
  const texts = samples.map(({ question }) => question);
  const topK = Math.min(SAMPLE_PASSAGES, index.passageCount);
  const replies: SampleReply[] = [];
  const options = { topK, hybrid: false, minimumConfidence: 0 };
  for await (const { answer, passages } of model.answer(texts, index, options))
    replies.push({
      answer,
      passages: passages.map(({ id, title, text, score }) => ({ id, title, text, score })),
    });
  return replies;
}

/** Measures `parameters` as a model with an index of the monitor's passages. */
export async function* measureRetrieval(
  run: Run,
  parameters: ReadonlyMap<string, ParameterState>,
  { questions, passages, lexical }: RetrievalMonitor,
): AsyncGenerator<ProgressEvent, MeasuredRetrieval> {
  yield { type: "stage", name: "measuring retrieval" };
  const start = performance.now();
  const folder = join(run.out, "checkpoint", "monitor");
  await saveModel(folder, run.config, parameters, run.model);
  await using model = await ReAtt.load(folder, { provider: run.device.provider });
  const { maxPassageTokens } = run.batch;
  const directory = join(folder, "index");
  const indexing = performance.now();
  await using index = await model.index(passages, {
    ...{ directory, maxPassageTokens },
    ...{ bits: 32, replace: true }, // a measurement needs the exact ranking
  });
  const indexSeconds = (performance.now() - indexing) / 1000;
  const texts = questions.map(({ question }) => question);
  const retrieved = await model.retrieve(texts, index, { topK: Math.min(DEPTH, passages.length) });
  const relevant = questions.map((question) => new Set(question.relevant));
  const ranksOf = (rankings: readonly (readonly string[])[]): number[] =>
    rankings.map((ranking, i) =>
      reciprocalRank(ranking.slice(0, DEPTH), (id) => relevant[i]!.has(id)),
    );
  const relevantAmong = async (question: number) => relevant[question]!;
  // No signal: an interrupted run completes its measurement, and then saves a checkpoint.
  const tuned = await tuneHybrid(model, index, lexical, { texts, relevantAmong });
  const replies = await sampleReplies(model, index, sampleQuestions({ questions }));
  return {
    seconds: { measurement: (performance.now() - start) / 1000, index: indexSeconds },
    replies,
    reciprocalRanks: ranksOf(retrieved.map((hits) => hits.map(({ id }) => id))),
    hybrid: { weights: tuned.weights, reciprocalRanks: ranksOf(tuned.rankings) },
  };
}

/** `mrr`, and `recall@k`: the share of questions with a relevant passage among the first k. */
export function measuresOf({ reciprocalRanks }: ReciprocalRanks): Measures {
  const recall = CUTOFFS.map((k) => [
    `recall@${k}`,
    mean(reciprocalRanks.map((value) => Number(value >= 1 / k))),
  ]);
  return { mrr: mean(reciprocalRanks), ...Object.fromEntries(recall) };
}

/**
 * The record of the model to keep: that of highest mean reciprocal rank, of equal ones the last, if
 * it is clearly better than the start. The start is the first record or the last that was taken.
 * With d_i the gain of reciprocal rank of question i, and n questions, clearly better means
 *
 *     mean(d) > sd(d) / sqrt(n)
 *
 * Without this condition, the highest of many measurements would often be higher by chance.
 */
export function bestOf(records: readonly MonitorRecord[]): MonitorRecord {
  const first = Math.max(
    0,
    records.findLastIndex(({ taken }) => taken),
  );
  const start = records[first]!;
  const later = records.slice(first + 1).filter((record) => gainOf(start, record) > 1);
  return later.reduce((best, record) => (mrr(record) >= mrr(best) ? record : best), start);
}

/**
 * The mean gain of reciprocal rank from one record to another, in standard errors. Infinite for a
 * gain that is the same for all questions, 0 for no change.
 */
export function gainOf(from: ReciprocalRanks, to: ReciprocalRanks): number {
  const gains = to.reciprocalRanks.map((value, i) => value - from.reciprocalRanks[i]!);
  const gain = mean(gains);
  const squares = gains.reduce((sum, value) => sum + (value - gain) ** 2, 0);
  if (gain === 0) return 0;
  return gain / Math.sqrt(squares / (gains.length - 1) / gains.length);
}

/** @param bm25 the measures of BM25 */
export function outcomeOf(
  records: readonly MonitorRecord[],
  bm25: Measures,
  changes: readonly ScheduleChange[] = [],
): MonitorOutcome {
  const first = records[0]!;
  const best = bestOf(records);
  return {
    before: measuresOf(first),
    after: measuresOf(best),
    bm25,
    hybrid: {
      before: measuresOf(first.hybrid),
      after: measuresOf(best.hybrid),
      weights: best.hybrid.weights,
    },
    step: best.step,
    ...(best.taken && { taken: true }),
    questions: first.reciprocalRanks.length,
    reductions: changes.flatMap(({ step, restored }) => (restored === undefined ? [] : [step])),
  };
}

const recordsFile = (out: string): string => join(out, "checkpoint", "monitor.json");
const reciprocalRanks = z.array(z.number());
const weights = z.object({ lambda: z.number(), k1: z.number(), b: z.number() });
const description = z.array(
  z.object({
    step: z.int(),
    taken: z.boolean().optional(),
    reciprocalRanks,
    hybrid: z.object({ weights, reciprocalRanks }),
  }),
);

/** Saves the records for a resumed run. */
export async function writeMonitorRecords(
  out: string,
  records: readonly MonitorRecord[],
): Promise<void> {
  await replaceFile(recordsFile(out), (handle) => handle.writeFile(JSON.stringify(records)));
}

/** The records up to `step`, from which the run is resumed. */
export async function readMonitorRecords(out: string, step: number): Promise<MonitorRecord[]> {
  const records = description.parse(JSON.parse(await readFile(recordsFile(out), "utf8")));
  return records.filter((record) => record.step <= step);
}

const mrr = ({ reciprocalRanks }: MonitorRecord): number => mean(reciprocalRanks);
