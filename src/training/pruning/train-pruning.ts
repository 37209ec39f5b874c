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
import { ReAtt } from "../../reatt.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import { type Corpus, openCorpus } from "../examples/corpus.ts";
import { readTrainingFile, type TrainingQuestion } from "../examples/training-questions.ts";
import { withModelFolder } from "../options/model-folder.ts";
import { requireTokenKeys } from "../options/token-keys.ts";
import {
  type PruningTrainingOptions,
  type ResolvedPruningTraining,
  resolvePruningTraining,
} from "./options.ts";
import { addRemovalCosts, tokenCounts } from "./removal-costs.ts";

/** The result of `trainPruning`. */
export interface PruningTrainingResult {
  /** Folder of the model with the layer. */
  readonly folder: string;
  /** Questions, passages and tokens that the layer learned from. */
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
 * (removal-costs.ts). All others are negatives, and count as much as the positives together. The
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
 *   data: "data/squad/train.jsonl",
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
      ...{ folder: out, questions: [...asked.values()].flat().length, passages: asked.size },
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
        ...{ directory, bits: 32, signal },
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
export function fitLayer(rows: readonly Float64Array[], costs: Float64Array): TokenPruning {
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
