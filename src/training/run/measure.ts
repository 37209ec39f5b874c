/** Measures the current model during a run, and saves it if it is the best. */

import { exactMatch, f1 } from "../../evaluation/answers.ts";
import { robustLambda } from "../../evaluation/tune-lambda.ts";
import { reporting } from "../../io/progress.ts";
import { TOKEN_WEIGHTS } from "../../model/parameter-names.ts";
import type { ReAtt } from "../../reatt.ts";
import { DEFAULT_PARAMETERS } from "../../retrieval/bm25/bm25.ts";
import {
  combineScores,
  type HybridScores,
  hybridScores,
  MIN_CANDIDATES,
} from "../../retrieval/hybrid.ts";
import type { Ranking } from "../../retrieval/scoring/top-k.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { MonitorQuestion } from "../examples/training-data.ts";
import type { SampleReply } from "../report/report.ts";
import { withCurrentModel } from "./current-model.ts";
import type { TrainingEvent } from "./events.ts";
import { divide, idsOf, isRelevant, type MeasuredSet, reciprocalRank } from "./measured-set.ts";
import { keptParameters, saveModel } from "./parameters.ts";
import {
  bestOf,
  DEPTH,
  type Measurement,
  type MeasurementRecord,
  measuresOf,
  takesTokenWeights,
  writeRecords,
} from "./records.ts";
import { changesReading } from "./run.ts";
import { divergedParameter, type RunState } from "./run-state.ts";
import type { MeasurementSeconds } from "./time-budget.ts";

type Parameters = ReadonlyMap<string, ParameterState>;

/** Passages that a dev question is answered from. */
const PASSAGES_READ = 10;
/** Held-out examples whose passage is read, if the run trains what reads. */
const READINGS = 100;
/** Held-out examples that the report shows, and the passages of each. */
const SAMPLES = 6;
const SAMPLE_PASSAGES = 3;

/**
 * Measures what the run would keep of the current model, unless this step is measured already. The
 * best model is saved with its weights of hybrid search.
 */
export async function* measure(state: RunState): AsyncGenerator<TrainingEvent> {
  const { set, step, records } = state;
  if (!set || records.at(-1)?.step === step) return;
  const parameters = await state.engine.parameters();
  state.diverged = divergedParameter(parameters, step);
  if (state.diverged !== undefined) return;
  const kept = keptParameters(parameters, state.given);
  const measured = yield* measureParameters(state, set, kept);
  state.durations = measured.seconds;
  yield* addRecord(state, kept, measured);
}

/**
 * Takes the token weights that come with the data if the examples allow it (`takesTokenWeights`).
 * This is then the first step of the run: it takes the place of an update by gradients.
 *
 * Real questions gain from them on most collections (docs/experiments/adaptation.md). Examples made
 * from documents, which most held-out ones are, gain less: all their words stand in a passage.
 *
 * The keys stay the same, so the index is that of the measurement before. What an index takes is
 * known from that one.
 */
export async function* tryTokenWeights(state: RunState): AsyncGenerator<TrainingEvent> {
  const { engine, data, set, records } = state;
  const before = records.at(-1); // none if a parameter is too large to compute with
  if (!data.tokenWeights || !set || !before) return;
  yield { type: "stage", name: "counting tokens" };
  const parameters = await engine.parameters();
  const weights = { ...parameters.get(TOKEN_WEIGHTS)!, value: await data.tokenWeights() };
  const weighed = new Map(parameters).set(TOKEN_WEIGHTS, weights);
  const measured = yield* measureParameters(state, set, weighed);
  if (!takesTokenWeights(before, measured.measurement)) return;
  await engine.restart(new Map([...weighed].map(([name, { value }]) => [name, value])));
  state.step++;
  yield* addRecord(state, weighed, measured, true);
}

/** What was measured, what it took, and the answers to the questions that were answered. */
interface Measured {
  readonly measurement: Measurement;
  readonly seconds: MeasurementSeconds;
  readonly answered: readonly MonitorQuestion[];
  readonly replies: readonly SampleReply[];
}

/** Records what was measured of the present parameters, and saves them if they are best. */
async function* addRecord(
  state: RunState,
  parameters: Parameters,
  { measurement, answered, replies }: Measured,
  taken?: true,
): AsyncGenerator<TrainingEvent> {
  const { run, step, records, log } = state;
  const averaged = run.average && step > 0 && !taken;
  const record: MeasurementRecord = {
    ...{ step, ...measurement },
    ...(taken && { taken }),
    ...(averaged && { averaged }),
  };
  records.push(record);
  // The start is kept where held-out examples choose the model, and not where dev questions do.
  const isChoice = step > 0 || measurement.exactMatch === undefined;
  const best = isChoice && bestOf(records) === record;
  const { weights } = measurement.hybrid;
  if (best) await saveModel(run.out, { ...run.config, hybrid: weights }, parameters, run.model);
  await writeRecords(run.folder, records);
  const measures = measuresOf(record);
  const hybrid = { weights, measures: measuresOf(measurement.hybrid) };
  const shown = best || measurement.exactMatch ? answered : [];
  await log.evaluation(step, { measures, hybrid, replies }, shown, bestOf(records).step);
  yield { type: "evaluation", step, measures, hybrid, best };
}

/** Measures `parameters` as a model, with an index of the passages. */
async function* measureParameters(
  { run, corpus, records }: RunState,
  set: MeasuredSet,
  parameters: Parameters,
): AsyncGenerator<TrainingEvent, Measured> {
  yield { type: "stage", name: "measuring retrieval" };
  const start = performance.now();
  const isDev = set.passages === undefined;
  // An interrupted run completes a measurement of held-out examples, and then saves a checkpoint.
  const signal = isDev ? run.signal : undefined;
  return yield* withCurrentModel<TrainingEvent, Measured>(
    run,
    parameters,
    set.passages ?? corpus,
    async function* (model, index, indexSeconds) {
      const reading = !isDev && changesReading(run) ? await measureReading(model, set, signal) : [];
      const measurement: Measurement = {
        ...(await measureRetrieval(model, index, set, { tunes: records.length > 0, signal })),
        ...(reading.length > 0 && { reading }),
      };
      const places = isDev ? [...set.questions.keys()] : samplePlaces(set.questions.length);
      const readTopK = Math.min(isDev ? PASSAGES_READ : SAMPLE_PASSAGES, index.passageCount);
      yield { type: "stage", name: "answering questions", total: places.length };
      const replies = yield* reporting<TrainingEvent, SampleReply[]>((report) =>
        answersOf(model, index, set, places, { readTopK, signal }, (done) =>
          report({ type: "progress", done }),
        ),
      );
      const answered = places.map((place) => set.questions[place]!);
      return {
        measurement: isDev ? { ...measurement, ...answerScores(answered, replies) } : measurement,
        seconds: { measurement: (performance.now() - start) / 1000, index: indexSeconds },
        answered,
        replies,
      };
    },
  );
}

/**
 * Searches with the model alone, and by hybrid search: as `hybridSearch` does, with the lambda that
 * the model stores unless another one is clearly better (`robustLambda`). k1 and b are those of the
 * model, or BM25's defaults: too few questions are measured to choose them too.
 *
 * @param options.tunes whether another lambda may be chosen. That of the given model stays, so that
 *   a gain is one over the model as it was given.
 */
async function measureRetrieval(
  model: ReAtt,
  index: TokenIndex,
  { questions, lexical, sees, groups, reports }: MeasuredSet,
  { tunes, signal }: { readonly tunes: boolean; readonly signal: AbortSignal | undefined },
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
    const found = lexical.rank(text, MIN_CANDIDATES, { k1, b, accept: sees?.[i] });
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
