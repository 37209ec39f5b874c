/**
 * Mines hard negatives with a model and writes them to a file: for each question, the passages that
 * the model finds best and that are not relevant.
 *
 * Sources: DPR (Karpukhin et al. 2020), section 3.2, whose negatives do not contain the answer;
 * `mine_hard_negatives` of sentence-transformers, whose `absolute_margin` is `margin` here.
 */

import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { answerTest, searchedText } from "../../evaluation/answers.ts";
import { createOutputDirectory, createTemporaryDirectory } from "../../io/create-directory.ts";
import { InputError } from "../../io/errors.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { replaceFile } from "../../io/replace-file.ts";
import {
  type Given,
  integer,
  number,
  option,
  path,
  type Resolved,
  SIGNAL,
} from "../../options/option.ts";
import { resolveOptions } from "../../options/resolve.ts";
import type { ReAtt } from "../../reatt.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import type { Passage } from "../../text/passage.ts";
import { openCorpus } from "../examples/corpus.ts";
import { withAnswerPositives } from "../examples/corpus-answers.ts";
import type { Example } from "../examples/example.ts";
import { textKey } from "../examples/question-records.ts";
import { questionExamples, readQuestionsAbout } from "../examples/training-questions.ts";
import { withModelFolder } from "../options/model-folder.ts";
import { RUN_FILES, RUN_SETTINGS } from "../options/run-options.ts";
import { TRAINING_DATA } from "../options/train-options.ts";
import { withIndexedModel } from "../run/current-model.ts";

/** The best passages among which negatives are looked for, as in DPR. */
const DEPTH = 100;
/** Questions of one search: an index reads its keys once for all of them. */
const SEARCH_BATCH = 64;

/** The result of `mineNegatives`. */
export interface MinedNegatives {
  /** The file that was written. */
  readonly file: string;
  /** Questions of the data. */
  readonly questions: number;
  /** Questions in the file: those with a negative. */
  readonly written: number;
  /** Of these, the questions that have as many as were asked for. */
  readonly complete: number;
  /** Negatives of all questions. */
  readonly negatives: number;
  /** Questions left out: no passage is known to be relevant, and BM25 finds none with an answer. */
  readonly withoutPositive: number;
  /** Questions left out: the passages found are relevant, or not so far below the relevant one. */
  readonly withoutNegative: number;
}

/** The options that have a flag. */
export const NEGATIVES_OPTIONS = {
  /** Folder or name of the model. Default: the model of this package. */
  model: RUN_FILES.model,
  /** Passages: JSON Lines, plain or gzip. */
  corpus: RUN_FILES.corpus,
  /** Training questions with their answers or relevant passages: see `readTrainingFile`. */
  data: TRAINING_DATA,
  /** The file to write, in the form of DPR. */
  out: option(path(), { help: "the file to write, in the form of DPR", placeholder: "FILE.jsonl" }),
  /** Negatives of each question, the best first. Default 3. */
  negatives: option(integer(1, DEPTH).default(3), { help: "negatives of each question" }),
  /**
   * How far the retrieval score of a negative is below that of the relevant passage, at least.
   * Default 0: a passage that scores higher is often relevant, too, and nobody has labelled it.
   */
  margin: option(number({ from: 0 }).default(0), {
    help: "how far the score of a negative is below that of the relevant passage, at least",
    placeholder: "X",
  }),
  /** Longer passages are read in windows. Default 512 tokens. */
  maxPassageTokens: RUN_SETTINGS.maxPassageTokens,
};

const TABLE = { ...NEGATIVES_OPTIONS, ...SIGNAL };

/** Options of `mineNegatives`. All except the files have a default. */
export interface NegativesOptions
  extends Given<typeof NEGATIVES_OPTIONS>,
    Given<typeof SIGNAL>,
    Given<typeof TABLE> {}

type Request = Resolved<typeof TABLE>;

/**
 * Writes hard negatives of questions: of the best 100 passages of the model those that are not
 * relevant, contain no answer, and score at least `margin` below the relevant passage. That is the
 * one which the file names, or else the best passage of BM25 that contains an answer.
 *
 * The file has a record of DPR a line, which `train` and `adapt` read as data:
 * `{"id", "question", "answers", "positive_ctxs", "hard_negative_ctxs"}`, whose passages have
 * `passage_id`, `title`, `text` and the retrieval `score`. Questions without negatives are left
 * out. It is written as a whole or not at all. The index is temporary: 4 x dimension bytes for each
 * token.
 *
 * @throws {InputError} if a file or an option cannot be used. If `signal` aborts, nothing is
 * written.
 *
 * @example
 * ```ts no-run
 * import { mineNegatives } from "reatt/training";
 *
 * const run = mineNegatives({
 *   corpus: "corpus.jsonl",
 *   data: "questions.jsonl",
 *   out: "negatives.jsonl",
 * });
 * for (let next = await run.next(); ; next = await run.next())
 *   if (next.done) {
 *     console.log(`${next.value.negatives} negatives are in ${next.value.file}`);
 *     break;
 *   }
 * ```
 */
export async function* mineNegatives(
  given: NegativesOptions,
): AsyncGenerator<ProgressEvent, MinedNegatives> {
  const options = resolveOptions(TABLE, yield* withModelFolder(given));
  const { model: folder, data, out, signal, maxPassageTokens } = options;
  await createOutputDirectory(dirname(out));
  await using corpus = await openCorpus(options.corpus, { signal });
  const questions = questionExamples(await readQuestionsAbout(corpus, data, signal));
  const examples = yield* withAnswerPositives(questions, corpus, signal);
  if (!examples.some(({ relevant }) => relevant.length > 0)) throw noPositive(data);
  const location = await createTemporaryDirectory("negatives");
  try {
    const indexing = { location, model: folder, maxPassageTokens, signal };
    return yield* withIndexedModel(corpus, indexing, (model, index) =>
      writeNegatives(model, index, examples, options),
    );
  } finally {
    await rm(location, { recursive: true, force: true });
  }
}

/** Searches for all questions, and writes those that have negatives. */
async function* writeNegatives(
  model: ReAtt,
  index: TokenIndex,
  examples: readonly Example[],
  options: Request,
): AsyncGenerator<ProgressEvent, MinedNegatives> {
  const { out, negatives: wanted, signal } = options;
  const known = examples.filter(({ relevant }) => relevant.length > 0);
  const counts: number[] = [];
  yield { type: "stage", name: "searching negatives", total: known.length };
  yield* reporting<ProgressEvent, void>((report) =>
    replaceFile(out, async (file) => {
      for (let first = 0; first < known.length; first += SEARCH_BATCH) {
        signal?.throwIfAborted();
        const mined = await mineBatch(
          model,
          index,
          known.slice(first, first + SEARCH_BATCH),
          options,
        );
        const written = mined.filter(({ hard_negative_ctxs: found }) => found.length > 0);
        await file.appendFile(written.map((record) => `${JSON.stringify(record)}\n`).join(""));
        counts.push(...mined.map(({ hard_negative_ctxs: found }) => found.length));
        report({ type: "progress", done: counts.length });
      }
    }),
  );
  const written = counts.filter((count) => count > 0).length;
  return {
    file: out,
    questions: examples.length,
    written,
    complete: counts.filter((count) => count === wanted).length,
    negatives: counts.reduce((sum, count) => sum + count, 0),
    withoutPositive: examples.length - known.length,
    withoutNegative: counts.length - written,
  };
}

/** A passage in a record of DPR. */
interface ScoredPassage {
  readonly passage_id: string;
  readonly title: string;
  readonly text: string;
  readonly score: number;
}

interface MinedRecord {
  readonly id: string;
  readonly question: string;
  readonly answers: readonly string[];
  readonly positive_ctxs: readonly ScoredPassage[];
  readonly hard_negative_ctxs: readonly ScoredPassage[];
}

async function mineBatch(
  model: ReAtt,
  index: TokenIndex,
  examples: readonly Example[],
  { negatives: wanted, margin, signal }: Request,
): Promise<MinedRecord[]> {
  const vectors = await model.encodeQuestions(examples.map(({ question }) => question));
  const found = await index.searchBatch(vectors, { topK: DEPTH, signal });
  const records: MinedRecord[] = [];
  for (const [i, { id, question, answers, relevant }] of examples.entries()) {
    const places = await Promise.all(relevant.map((one) => index.find(one)));
    const ordinals = places.filter((place) => place !== undefined);
    const scores = await index.score(vectors[i]!, ordinals);
    const positives = scoredPassages(await index.passages(ordinals), scores);
    const hits = found[i]!;
    const passages = await index.passages(hits.map(({ ordinal }) => ordinal));
    const limit = Math.max(...scores) - margin;
    const isNegative = negativeTest(positives, answers);
    const hard = scoredPassages(
      passages,
      hits.map(({ score }) => score),
    )
      .filter((passage) => passage.score <= limit && isNegative(passage))
      .slice(0, wanted);
    records.push({ id, question, answers, positive_ctxs: positives, hard_negative_ctxs: hard });
  }
  return records;
}

const scoredPassages = (passages: readonly Passage[], scores: readonly number[]): ScoredPassage[] =>
  passages.map(({ id, title, text }, i) => ({ passage_id: id, title, text, score: scores[i]! }));

/** Tells which passages are not relevant, no copies of relevant ones, and contain no answer. */
function negativeTest(
  positives: readonly ScoredPassage[],
  answers: readonly string[],
): (passage: ScoredPassage) => boolean {
  const ids = new Set(positives.map(({ passage_id: id }) => id));
  const texts = new Set(positives.map(({ text }) => textKey(text)));
  const tests = answers.map(answerTest);
  return ({ passage_id: id, title, text }) => {
    if (ids.has(id) || texts.has(textKey(text))) return false;
    const fields = [title, text].map(searchedText);
    return !tests.some((contains) => fields.some(contains));
  };
}

const noPositive = (where: string): InputError =>
  new InputError({
    where,
    expected: "questions with a relevant passage, or an answer in the corpus",
    got: "none",
    remedy: "name the corpus that the questions are about",
  });
