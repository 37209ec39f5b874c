/** Measures a model on a set of questions: alone, by hybrid search, and what it answers. */

import { exactMatch, f1 } from "../../evaluation/answers.ts";
import { robustLambda } from "../../evaluation/tune-lambda.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import type { ReAtt } from "../../reatt.ts";
import { DEFAULT_PARAMETERS } from "../../retrieval/bm25/bm25.ts";
import {
  combineScores,
  type HybridScores,
  hybridParameters,
  hybridScores,
  MIN_CANDIDATES,
} from "../../retrieval/hybrid.ts";
import type { Ranking } from "../../retrieval/scoring/top-k.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { MonitorQuestion } from "../examples/training-data.ts";
import { type Measure, ownScores } from "../measures/measure.ts";
import type { SampleReply } from "../report/report.ts";
import { divide, idsOf, isRelevant, type MeasuredSet, reciprocalRank } from "./measured-set.ts";
import { DEPTH, type Measurement } from "./measurements.ts";

/** Passages that a dev question is answered from. */
const PASSAGES_READ = 10;
/** Held-out examples whose passage is read, if the run trains what reads. */
const READINGS = 100;
/** Held-out examples that the report shows, and the passages of each. */
export const SAMPLES = 6;
const SAMPLE_PASSAGES = 3;

/** What was measured, and the answers to the questions that were answered. */
export interface Measured {
  readonly measurement: Measurement;
  readonly answered: readonly MonitorQuestion[];
  readonly replies: readonly SampleReply[];
}

interface MeasureOptions {
  /**
   * Whether another lambda may be chosen. That of the given model stays, so that a gain is one over
   * the model as it was given.
   */
  readonly tunes: boolean;
  /** Whether held-out examples are read. */
  readonly reads: boolean;
  /** Measures of one's own, of dev questions. */
  readonly own: readonly Measure[];
  readonly signal: AbortSignal | undefined;
}

/** @param index of the passages of the set, or of the corpus */
export async function* measureModel(
  model: ReAtt,
  index: TokenIndex,
  set: MeasuredSet,
  { tunes, reads, own, signal }: MeasureOptions,
): AsyncGenerator<ProgressEvent, Measured> {
  const isDev = set.passages === undefined;
  const reading = !isDev && reads ? await measureReading(model, set, signal) : [];
  const measurement: Measurement = {
    ...(await measureRetrieval(model, index, set, { tunes, signal })),
    ...(reading.length > 0 && { reading }),
  };
  const places = isDev ? [...set.questions.keys()] : samplePlaces(set.questions.length);
  const readTopK = Math.min(isDev ? PASSAGES_READ : SAMPLE_PASSAGES, index.passageCount);
  yield { type: "stage", name: "answering questions", total: places.length };
  const replies = yield* reporting<ProgressEvent, SampleReply[]>((report) =>
    answersOf(model, index, set, places, { readTopK, signal }, (done) =>
      report({ type: "progress", done }),
    ),
  );
  const answered = places.map((place) => set.questions[place]!);
  return {
    measurement: isDev
      ? {
          ...measurement,
          ...answerScores(answered, replies),
          ...(own.length > 0 && { own: ownScores(own, answered, replies) }),
        }
      : measurement,
    answered,
    replies,
  };
}

/**
 * Searches with the model alone, and by hybrid search: as `hybridSearch` does, with the lambda that
 * the model stores unless another one is clearly better (`robustLambda`). k1 and b are those of the
 * model, or BM25's defaults: too few questions are measured to choose them too.
 */
async function measureRetrieval(
  model: ReAtt,
  index: TokenIndex,
  { questions, lexical, sees, groups, reports }: MeasuredSet,
  { tunes, signal }: Pick<MeasureOptions, "tunes" | "signal">,
): Promise<Measurement> {
  const texts = questions.map(({ question }) => question);
  const { k1, b } = model.config.hybrid ?? DEFAULT_PARAMETERS;
  const vectors = await model.encodeQuestions(texts, { signal });
  const search = { topK: MIN_CANDIDATES, signal };
  const dense: Ranking[] = sees ? [] : [...(await index.rankings(vectors, search))];
  for (const [i, accept] of sees?.entries() ?? [])
    dense.push(...(await index.rankings([vectors[i]!], { ...search, accept })));
  const unions: { union: HybridScores; group: number; relevant: ReadonlySet<string> }[] = [];
  for (const [i, text] of texts.entries()) {
    const found = lexical.rank(text, MIN_CANDIDATES, {
      ...hybridParameters({ k1, b }),
      accept: sees?.[i],
    });
    const lists = { lexical: found, dense: dense[i]! };
    const question = { text, vectors: vectors[i]! };
    const union = await hybridScores(index, lexical, question, lists, { k1, b });
    const relevant = await relevantAmong(questions[i]!, index, union.ordinals);
    unions.push({ union, group: groups[i]!, relevant });
  }
  const stored = model.config.hybrid?.lambda;
  const tuned = (): number =>
    robustLambda(
      divide(unions, reports).choosing,
      (ranking, { relevant }) => reciprocalRank(idsOf(ranking, lexical), (id) => relevant.has(id)),
      stored,
    );
  const lambda = tunes || stored === undefined ? tuned() : stored;
  const ranks = dense.map((ranking, i) =>
    reciprocalRank(idsOf(ranking, lexical), (id) => unions[i]!.relevant.has(id)),
  );
  const hybridRanks = unions.map(({ union, relevant }) => {
    const ids = idsOf(combineScores(union, lambda), lexical).slice(0, DEPTH);
    return reciprocalRank(ids, (id) => relevant.has(id));
  });
  const [alone, both] = [divide(ranks, reports), divide(hybridRanks, reports)];
  const group = divide(groups, reports);
  return {
    reciprocalRanks: alone.choosing,
    groups: group.choosing,
    hybrid: { weights: { lambda, k1, b }, reciprocalRanks: both.choosing },
    ...(alone.reporting.length > 0 && {
      reported: {
        reciprocalRanks: alone.reporting,
        hybrid: both.reporting,
        groups: group.reporting,
      },
    }),
  };
}

/** Whether the model answers the held-out examples that have answers, from their passage. */
async function measureReading(
  model: ReAtt,
  { questions, passages }: MeasuredSet,
  signal: AbortSignal | undefined,
): Promise<number[]> {
  const byId = new Map(passages!.map((passage) => [passage.id, passage]));
  const right: number[] = [];
  for (const { question, answers = [], relevant } of questions) {
    const passage = byId.get(relevant[0]!);
    if (answers.length === 0 || !passage) continue;
    const { answer } = await model.read(question, [passage], { minimumConfidence: 0, signal });
    right.push(Number(exactMatch(answer, answers)));
    if (right.length === READINGS) break;
  }
  return right;
}

/** The ids of the passages that are relevant, as far as some ordinals have them. */
async function relevantAmong(
  question: MonitorQuestion,
  index: TokenIndex,
  ordinals: Uint32Array,
): Promise<ReadonlySet<string>> {
  if (question.relevant.length > 0) return new Set(question.relevant);
  const passages = await index.passages([...ordinals]);
  return new Set(passages.filter((one) => isRelevant(question, one)).map(({ id }) => id));
}

/** Some of `count` questions, from all parts of the set. */
function samplePlaces(count: number): number[] {
  const samples = Math.min(SAMPLES, count);
  return Array.from({ length: samples }, (_, i) => Math.floor((i * count) / samples));
}

/** What the model alone answers, whatever weights of hybrid search its configuration has. */
async function answersOf(
  model: ReAtt,
  index: TokenIndex,
  { questions, sees }: MeasuredSet,
  places: readonly number[],
  options: { readonly readTopK: number; readonly signal: AbortSignal | undefined },
  onProgress: (questions: number) => void,
): Promise<SampleReply[]> {
  const replies: SampleReply[] = [];
  const reading = { ...options, topK: options.readTopK, hybrid: false, minimumConfidence: 0 };
  for (const batch of sees ? places.map((place) => [place]) : [places]) {
    const texts = batch.map((place) => questions[place]!.question);
    const search = { ...reading, filter: sees?.[batch[0]!] };
    for await (const { answer, passages } of model.answer(texts, index, search)) {
      replies.push({
        answer,
        passages: passages.map(({ id, title, text, score }) => ({ id, title, text, score })),
      });
      onProgress(replies.length);
    }
  }
  return replies;
}

const answerScores = (
  questions: readonly MonitorQuestion[],
  replies: readonly SampleReply[],
): Record<"exactMatch" | "f1", number[]> => ({
  exactMatch: questions.map(({ answers = [] }, i) =>
    Number(exactMatch(replies[i]!.answer, answers)),
  ),
  f1: questions.map(({ answers = [] }, i) => f1(replies[i]!.answer, answers)),
});
