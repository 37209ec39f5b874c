/**
 * Trains the pruning layer of a model, which chooses the tokens of a pruned index.
 *
 * Source of the idea: Lee et al. 2021 (DensePhrases), appendix E. There, the positives are the
 * first and last tokens of answers; here, the tokens that questions match.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fitLogistic } from "../../evaluation/logistic-regression.ts";
import { createTemporaryDirectory } from "../../io/create-directory.ts";
import { InputError } from "../../io/errors.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { createRandom } from "../../math/random.ts";
import { checkModelFolder, storeInConfig } from "../../model/store-config.ts";
import {
  PRUNING_SHARES,
  pruningFeatures,
  pruningLogits,
  type TokenPruning,
} from "../../model/token-pruning.ts";
import { LOAD_OPTIONS } from "../../options/library-options.ts";
import { type Given, integer, option, path, type Resolved, SIGNAL } from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import { ReAtt } from "../../reatt.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import { type Corpus, openCorpus } from "../examples/corpus.ts";
import { readTrainingFile, type TrainingQuestion } from "../examples/training-questions.ts";
import { requireTokenKeys, withModelFolder } from "../options/model-folder.ts";
import { RUN_FILES, SEED } from "../options/run-options.ts";
import { TRAINING_DATA } from "../options/train-options.ts";

/** The result of `trainPruning`. */
export interface PruningTrainingResult {
  /** Folder of the model with the layer. */
  readonly folder: string;
  /** Questions that the layer learned from. */
  readonly questions: number;
  /** Passages that the layer learned from. */
  readonly passages: number;
  /** Their tokens. */
  readonly tokens: number;
  /** The share of these tokens that a question matches: the positives. */
  readonly matched: number;
}

/** L2 penalty of a weight: that of one observation. It keeps weights of constant inputs at 0. */
const PENALTY = 1;
/** Decimals of the numbers that are stored: float32 keys have no more. */
const DIGITS = 7;

/**
 * Trains the pruning layer of a model, by which `ReAtt.index` with `keepRatio` chooses the tokens
 * that get a key, and stores it in `config.json`. No weight changes: indexes of the model remain
 * valid. Additions to a pruned index follow the rule that the index stores.
 *
 * The layer is a logistic regression on the keys k of the passages that questions were asked about:
 *
 *     P(keep) = 1 / (1 + exp(-weights . features(k)))
 *
 * Positives are the tokens that a question matches; each counts as much as its removal costs
 * (`addRemovalCosts`). All others are negatives, and count as much as the positives together. The
 * thresholds are quantiles of all logits, so one threshold keeps a share of the tokens of these
 * passages, and about that of others.
 *
 * The keys are stored in a temporary folder: 4 x dimension bytes for each token. The features of
 * all tokens are in memory: twice as many bytes. The same data, seed and model give the same layer.
 *
 * @throws {InputError} if a file or an option cannot be used, no question names a passage of the
 * corpus, or `out` has another model. If `signal` aborts, nothing is written.
 *
 * @example
 * ```ts no-run
 * import { trainPruning } from "reatt/training";
 *
 * const run = trainPruning({
 *   corpus: "data/squad/corpus.jsonl",
 *   data: "questions.jsonl",
 *   out: "runs/pruning",
 * });
 * for (let next = await run.next(); ; next = await run.next())
 *   if (next.done) {
 *     console.log(`the model is in ${next.value.folder}`);
 *     break;
 *   }
 * ```
 */
export async function* trainPruning(
  given: PruningTrainingOptions,
): AsyncGenerator<ProgressEvent, PruningTrainingResult> {
  const options = resolvePruningTraining(yield* withModelFolder(given));
  const { data, out, signal, threads } = options;
  await checkModelFolder(options.model, out);
  const questions = await readTrainingFile(data, signal);
  await using corpus = await openCorpus(options.corpus, { signal });
  const asked = chosenQuestions(questions, corpus, options);
  await using model = await ReAtt.load(options.model, { threads });
  requireTokenKeys(model.config, options.model, "an index of this one has no tokens to prune");
  const directory = await createTemporaryDirectory("pruning");
  try {
    await using index = yield* indexOf(model, corpus, asked, join(directory, "index"), signal);
    const examples = yield* gather(model, index, asked, signal);
    yield { type: "stage", name: "fitting the layer" };
    const pruning = fitLayer(examples.rows, examples.costs);
    await storeInConfig(options.model, { pruning }, out);
    return {
      folder: out,
      questions: [...asked.values()].flat().length,
      passages: asked.size,
      tokens: examples.rows.length,
      matched: examples.costs.filter((cost) => cost > 0).length / examples.rows.length,
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

type Asked = ReadonlyMap<string, readonly TrainingQuestion[]>;

/**
 * Draws passages that questions were asked about, with their questions.
 *
 * @throws {InputError} if there is none
 */
function chosenQuestions(
  questions: readonly TrainingQuestion[],
  corpus: Corpus,
  { data, passages, seed }: ResolvedPruningTraining,
): Asked {
  const ids = new Set(corpus.ids);
  const all = new Map<string, TrainingQuestion[]>();
  for (const question of questions) {
    const { passageId } = question;
    if (passageId === undefined || !ids.has(passageId)) continue;
    const others = all.get(passageId);
    if (others) others.push(question);
    else all.set(passageId, [question]);
  }
  if (all.size === 0)
    throw new InputError({
      where: data,
      expected: `questions with a "passage_id" of ${corpus.file}`,
      got: "none",
      remedy: "give the corpus of the questions",
    });
  const order = createRandom(seed, "pruning").shuffle([...all.keys()]);
  return new Map(order.slice(0, passages).map((id) => [id, all.get(id)!]));
}

/** A float32 index of the passages that questions were asked about. */
async function* indexOf(
  model: ReAtt,
  corpus: Corpus,
  asked: Asked,
  directory: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ProgressEvent, TokenIndex> {
  yield { type: "stage", name: "encoding passages", total: asked.size };
  return yield* reporting<ProgressEvent, TokenIndex>((report) =>
    model.index(
      corpus.passages((id) => asked.has(id)),
      {
        directory,
        bits: 32,
        signal,
        onProgress: ({ passages: done }) => report({ type: "progress", done }),
      },
    ),
  );
}

/** The features of all tokens, and what their removal costs the questions. */
async function* gather(
  model: ReAtt,
  index: TokenIndex,
  asked: Asked,
  signal: AbortSignal | undefined,
): AsyncGenerator<ProgressEvent, { rows: Float64Array[]; costs: Float64Array }> {
  yield { type: "stage", name: "matching questions", total: asked.size };
  const { dimension } = index.header;
  const rows: Float64Array[] = [];
  const costs: number[] = [];
  let done = 0;
  for (const [id, questions] of asked) {
    signal?.throwIfAborted();
    const keys = await index.keys((await index.find(id))!);
    const own = new Float64Array(keys.length / dimension);
    for (const vectors of await model.encodeQuestions(questions.map(({ question }) => question)))
      addRemovalCosts(vectors, keys, dimension, own);
    rows.push(...pruningFeatures(keys, dimension));
    costs.push(...own);
    yield { type: "progress", done: ++done };
  }
  return { rows, costs: Float64Array.from(costs) };
}

/**
 * @param rows the features of each token
 * @param costs what the removal of each token costs
 */
function fitLayer(rows: readonly Float64Array[], costs: Float64Array): TokenPruning {
  const labels = Array.from(costs, (cost) => cost > 0);
  const penalties = Array.from(rows[0]!, (_, j) => (j < rows[0]!.length - 1 ? PENALTY : 0));
  const weights = fitLogistic(rows, labels, penalties, tokenCounts(costs)).map(rounded);
  const logits = pruningLogits(weights, rows).sort();
  const thresholds = PRUNING_SHARES.map((share) =>
    rounded(logits[Math.min(logits.length - 1, Math.floor((1 - share) * logits.length))]!),
  );
  return { weights, thresholds };
}

const rounded = (value: number): number => Number(value.toPrecision(DIGITS));

/** The options that have a flag. */
export const PRUNING_TRAINING_OPTIONS = {
  /** Folder or name of the model. Default: the model of this package. */
  model: RUN_FILES.model,
  /** Passages: JSON Lines, plain or gzip. */
  corpus: RUN_FILES.corpus,
  /** Training questions with their answers: see `readTrainingFile`. */
  data: TRAINING_DATA,
  /** Folder for a copy of the model with the layer; the folder of the model changes in place. */
  out: option(path(), {
    help: "folder for a copy of the model with the layer, or the model's own to change it in place",
    placeholder: "DIR",
  }),
  /** Passages to learn from, drawn among those that questions were asked about. Default 2,000. */
  passages: option(integer(1).default(2_000), {
    help: "passages to learn from, drawn among those that questions were asked about",
  }),
  /** Seed of all random numbers. Default 0. */
  seed: SEED,
  /** Threads of the cpu provider. Default: one for each physical core. */
  threads: LOAD_OPTIONS.threads,
};

const TABLE = { ...PRUNING_TRAINING_OPTIONS, ...SIGNAL };

/** Options of `trainPruning`. All except the files have a default. */
export interface PruningTrainingOptions
  extends Given<typeof PRUNING_TRAINING_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof TABLE> {}

type ResolvedPruningTraining = Resolved<typeof TABLE>;

/** @throws {InputError} for an unknown option, a missing one and a value out of range */
const resolvePruningTraining = (given: PruningTrainingOptions): ResolvedPruningTraining =>
  resolveOptions(TABLE, given);

/**
 * Adds to `costs` [tokens] what each question token loses if the token of the passage that it
 * matches is removed: the difference between its best and its second-best product,
 *
 *     costs_j += q_i . k_j - max over j' != j of q_i . k_j',    j = argmax over j of q_i . k_j
 *
 * The removal of other tokens costs nothing. The only token of a passage has no cost.
 *
 * @param question the query vectors: [question tokens, dimension]
 * @param keys of the passage: [tokens, dimension]
 */
export function addRemovalCosts(
  question: Float32Array,
  keys: Float32Array,
  dimension: number,
  costs: Float64Array,
): void {
  if (costs.length < 2) return;
  for (let i = 0; i < question.length; i += dimension) {
    let [best, first, second] = [-1, -Infinity, -Infinity];
    for (let j = 0; j < costs.length; j++) {
      let product = 0;
      for (let d = 0; d < dimension; d++) product += question[i + d]! * keys[j * dimension + d]!;
      if (product > first) [best, first, second] = [j, product, first];
      else if (product > second) second = product;
    }
    costs[best]! += first - second;
  }
}

/**
 * How often each token counts in the training: as much as its removal costs. The tokens without a
 * cost count as much as all others together, each the same.
 */
export function tokenCounts(costs: Float64Array): Float64Array {
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  const without = costs.filter((cost) => cost === 0).length;
  return costs.map((cost) => (cost > 0 ? cost : total / without));
}
