/**
 * Trains phrase queries for an index, whose keys do not change.
 *
 * Source: Lee et al. 2021, Learning Dense Representations of Phrases at Scale (DensePhrases),
 * sections 4.1, 4.2 and 6. There the keys are trained first; here they are those of retrieval.
 */

import { encodeSequences } from "../../encoder/retriever-session.ts";
import { exactMatch } from "../../evaluation/answers.ts";
import { InputError } from "../../io/errors.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { beginFolder, endFolder } from "../../io/unfinished-folder.ts";
import { createRandom } from "../../math/random.ts";
import { checkNoModel } from "../../model/config-file.ts";
import { writeModel } from "../../model/write-model.ts";
import { LOAD_OPTIONS } from "../../options/library-options.ts";
import {
  choice,
  type Given,
  integer,
  number,
  option,
  path,
  type Resolved,
  SIGNAL,
} from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { openIndex } from "../../retrieval/open-index.ts";
import type { IndexGeneration } from "../../retrieval/search/generation.ts";
import { PHRASE_OPTIONS, searchPhrases } from "../../retrieval/search-phrases.ts";
import { retrievalQuestionIds } from "../../text/tokens/prompts.ts";
import type { StepLosses } from "../engine/engine.ts";
import { readTrainingFile, type TrainingQuestion } from "../examples/training-questions.ts";
import { withModelFolder } from "../options/model-folder.ts";
import { RUN_FILES, SEED } from "../options/run-options.ts";
import { TRAINING_DATA } from "../options/train-options.ts";
import type { RunEvent } from "../run/events.ts";
import { divergedLoss } from "../run/run-state.ts";
import { learningRateAt } from "../run/schedule.ts";
import {
  checkGold,
  type GoldPhrase,
  goldPhrases,
  passageInput,
  type RatedPhrase,
  searchInput,
} from "./batches.ts";
import { openPhraseModel, type PhraseModel } from "./model.ts";
import { openPhraseTrainer, type PhraseTrainer } from "./trainer.ts";

/** The result of `trainPhrases`. */
export interface PhraseTrainingResult {
  /** Folder of the model with phrase queries. */
  readonly folder: string;
  /** Questions of the file. */
  readonly questions: number;
  /** Those with an answer in their passage of the index: the examples of `steps`. */
  readonly examples: number;
}

/**
 * Trains the phrase queries of a model, with which `ReAtt.phrases` searches, and writes the model
 * to `options.out`. All other weights stay as they are: indexes of the model remain valid, and the
 * new model retrieves and reads as before. A model that has phrase queries is trained further.
 *
 * The first `steps` steps learn the start and the end of the answer in the passage that the
 * question was asked about, with the tokens of the other passages of the step as negatives:
 *
 *     L = -log P(start | passage) - log P(start | step)  + the same for the end
 *
 * The next `searchSteps` steps search the index and learn from what is found, by the marginal
 * likelihood of the phrases s with the text of an answer (query-side fine-tuning):
 *
 *     L = -log sum over s of P(s | the best phrases)
 *
 * With `searchTarget: "passage"`, s are instead the phrases of the passage that the question was
 * asked about, whatever their text (Lee et al. 2021, Phrase Retrieval Learns Passage Retrieval,
 * Too, Eq. 5).
 *
 * The step events have the loss in nats for each question as the term `phrases`, and those of
 * search steps the share of the questions whose answer was found as `found`.
 *
 * Keys are read from the index, so the queries learn the errors of its compression. The states of
 * all questions are kept in memory: 4 x tokens x `d_model` bytes for each.
 *
 * Source: Lee et al. 2021 (DensePhrases), sections 4.1, 4.2 and 6.
 *
 * @throws {InputError} if a file or an option cannot be used, another model made the index, `out`
 * has a model, or a loss is not finite. If `signal` aborts, nothing is written.
 *
 * @example
 * ```ts no-run
 * import { trainPhrases } from "reatt/training";
 *
 * const run = trainPhrases({
 *   index: "index",
 *   data: "questions.jsonl",
 *   out: "runs/phrases",
 * });
 * for (let next = await run.next(); ; next = await run.next()) {
 *   if (next.done) {
 *     console.log(`the model is in ${next.value.folder}`);
 *     break;
 *   }
 *   if (next.value.type === "step") console.log(next.value.step, next.value.losses.loss);
 * }
 * ```
 */
export async function* trainPhrases(
  given: PhraseTrainingOptions,
): AsyncGenerator<RunEvent, PhraseTrainingResult> {
  const options = resolvePhraseTraining(yield* withModelFolder(given));
  const { data, out, signal, steps, seed } = options;
  await checkNoModel(out);
  const questions = await readTrainingFile(data, signal);
  await using model = await openPhraseModel(options);
  const { threads } = options;
  const { fingerprint } = model;
  const searching = { fingerprint, pooling: undefined };
  await using index = await openIndex(options.index, { threads, signal }, searching);
  const states = yield* encodeQuestions(model, questions, signal);
  const gold = steps > 0 ? yield* findGold(model, index, questions, options) : [];
  await using trainer = await openPhraseTrainer(model.config, model.parameters, {
    threads,
    weights: model.weights,
  });
  yield* runSteps({ options, model, index, trainer, questions, states, gold });
  const values = (name: string): Float32Array =>
    model.parameters.get(name)?.value ?? model.weights.get(name)!;
  await beginFolder(out);
  await writeModel(out, model.config, values, { original: model.folder, seed });
  await endFolder(out);
  return { folder: out, questions: questions.length, examples: gold.length };
}

async function* encodeQuestions(
  { config, tokenizer, queryEncoder }: PhraseModel,
  questions: readonly TrainingQuestion[],
  signal: AbortSignal | undefined,
): AsyncGenerator<ProgressEvent, Float32Array[]> {
  yield { type: "stage", name: "encoding questions", total: questions.length };
  const ids = questions.map(({ question }) => retrievalQuestionIds(tokenizer, question));
  return yield* reporting<ProgressEvent, Float32Array[]>((report) =>
    encodeSequences(queryEncoder, config, ids, "states", {
      signal,
      onProgress: (done) => report({ type: "progress", done }),
    }),
  );
}

async function* findGold(
  { placesOf }: PhraseModel,
  index: IndexGeneration,
  questions: readonly TrainingQuestion[],
  { data, signal }: ResolvedPhraseTraining,
): AsyncGenerator<ProgressEvent, GoldPhrase[]> {
  yield { type: "stage", name: "finding the answers in the passages", total: questions.length };
  const gold: GoldPhrase[] = [];
  const places = placesOf(index.header);
  for await (const phrase of goldPhrases(index, questions, places)) {
    signal?.throwIfAborted();
    gold.push(phrase);
    yield { type: "progress", done: phrase.question + 1 };
  }
  checkGold(gold, data, index.directory);
  return gold;
}

/** A run that has read its files. */
interface PhraseRun {
  readonly options: ResolvedPhraseTraining;
  readonly model: PhraseModel;
  readonly index: IndexGeneration;
  readonly trainer: PhraseTrainer;
  readonly questions: readonly TrainingQuestion[];
  /** Of each question: [tokens, modelSize] */
  readonly states: readonly Float32Array[];
  readonly gold: readonly GoldPhrase[];
}

async function* runSteps(run: PhraseRun): AsyncGenerator<RunEvent, void> {
  const { steps, searchSteps, learningRate: peak, questions, seed, signal } = run.options;
  const gold = batches(run.gold, questions, seed);
  const all = batches([...run.questions.keys()], questions, seed);
  for (let step = 1; step <= steps + searchSteps; step++) {
    signal?.throwIfAborted();
    const start = performance.now();
    const isSearch = step > steps;
    const stage = isSearch ? { first: steps, steps: searchSteps } : { first: 0, steps };
    const cycle = { ...stage, peak, warmUp: 0.1 };
    const at = { step, learningRate: learningRateAt(step, cycle) };
    const losses = isSearch
      ? await searchStep(run, all.next().value!, at)
      : await passageStep(run, gold.next().value!, at);
    const failure = divergedLoss(losses, step);
    if (failure !== undefined) throw diverged(failure);
    const questionsPerSecond = (1000 * questions) / (performance.now() - start);
    yield { type: "step", steps: steps + searchSteps, ...at, losses, questionsPerSecond };
  }
}

/** Endless batches of items, in another order in each pass. */
function* batches<T>(items: readonly T[], size: number, seed: number): Generator<T[], void> {
  for (let pass = 0; items.length > 0; pass++) {
    const order = createRandom(seed, "phrases", pass).shuffle(items);
    for (let first = 0; first < order.length; first += size) yield order.slice(first, first + size);
  }
}

type At = { readonly step: number; readonly learningRate: number };

async function passageStep(
  { index, trainer, states }: PhraseRun,
  gold: readonly GoldPhrase[],
  at: At,
): Promise<StepLosses> {
  const input = await passageInput(index, gold);
  const asked = gold.map(({ question }) => states[question]!);
  return trainer.update("passage", asked, input, at);
}

async function searchStep(
  { options, model, index, trainer, questions, states }: PhraseRun,
  asked: readonly number[],
  at: At,
): Promise<StepLosses> {
  const statesOfStep = asked.map((question) => states[question]!);
  const vectors = await trainer.vectors(statesOfStep);
  const { phrases: topK, signal } = options;
  const search = resolveOptions(PHRASE_OPTIONS, { topK, signal });
  const found = await searchPhrases(index, vectors, search, model.placesOf(index.header));
  const rated: RatedPhrase[][] = [];
  for (const [i, phrases] of found.entries()) {
    const { answers, passageId } = questions[asked[i]!]!;
    const passages = await index.passages(phrases.map(({ ordinal }) => ordinal));
    rated.push(
      phrases.map(({ ordinal, first, last, span: { start, end } }, p) => {
        const { id, text } = passages[p]!;
        const correct =
          options.searchTarget === "passage"
            ? id === passageId
            : exactMatch(text.slice(start, end), answers);
        return { ordinal, first, last, correct };
      }),
    );
  }
  const withAnswer = rated.filter((phrases) => phrases.some(({ correct }) => correct));
  const input = await searchInput(index, rated);
  const losses = await trainer.update("search", statesOfStep, input, at);
  return { ...losses, terms: { ...losses.terms, found: withAnswer.length / asked.length } };
}

const diverged = (got: string): InputError =>
  new InputError({
    where: "training",
    expected: "a finite loss and gradient",
    got,
    remedy: "begin again with a lower learning rate",
  });

const SCHEDULE = "Schedule";

/** The options that have a flag. */
export const PHRASE_TRAINING_OPTIONS = {
  /** Folder or name of the model that made the index. Default: the model of this package. */
  model: RUN_FILES.model,
  /** The folder of the index. Its keys do not change. */
  index: option(path(), {
    help: "folder of the index; its keys do not change",
    placeholder: "DIR",
  }),
  /** Training questions with their answers: see `readTrainingFile`. */
  data: TRAINING_DATA,
  /** Folder of the model with phrase queries. */
  out: option(path(), {
    help: "folder of the model with phrase queries",
    placeholder: "DIR",
  }),
  /** Steps on the passages that the questions were asked about. Default 2,000. */
  steps: option(integer(0).default(2_000), {
    help: "steps on the passages that the questions were asked about",
    group: SCHEDULE,
  }),
  /** Steps on the phrases that the search finds in the index. Default 200. */
  searchSteps: option(integer(0).default(200), {
    help: "further steps on the phrases that the search finds in the index",
    group: SCHEDULE,
  }),
  /**
   * Which of the found phrases are correct: those with the text of an `answer`, or all of the
   * `passage` that the question was asked about. Default `answer`.
   */
  searchTarget: option(choice("answer", "passage").default("answer"), {
    help: "which of these are correct: those with the text of an answer, or all of the passage",
    group: SCHEDULE,
  }),
  /** Questions of each step. Default 32. */
  questions: option(integer(1).default(32), { help: "questions of each step", group: SCHEDULE }),
  /** The highest learning rate. Default 3e-4. */
  learningRate: option(number({ above: 0 }).default(3e-4), {
    help: "the highest learning rate",
    group: SCHEDULE,
  }),
  /** Phrases that the search finds for each question. Default 100, as in the paper. */
  phrases: option(integer(2).default(100), {
    help: "phrases that a search step finds for each question",
    group: SCHEDULE,
  }),
  /** Seed of all random numbers. Default 0. */
  seed: SEED,
  /** Threads of the cpu provider. Default: one for each physical core. */
  threads: LOAD_OPTIONS.threads,
};

const TABLE = { ...PHRASE_TRAINING_OPTIONS, ...SIGNAL };

/** Options of `trainPhrases`. All except the files have a default. */
export interface PhraseTrainingOptions
  extends Given<typeof PHRASE_TRAINING_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof TABLE> {}

export type ResolvedPhraseTraining = Resolved<typeof TABLE>;

/** @throws {InputError} for an unknown option, a missing one and a value out of range */
const resolvePhraseTraining = (given: PhraseTrainingOptions): ResolvedPhraseTraining =>
  resolveOptions(TABLE, given);
