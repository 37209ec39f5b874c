/** Evaluates the predictions of a question-answering system. */

import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { readJsonLines } from "../io/json/json-lines.ts";
import { mean } from "../math/mean.ts";
import { checkPath } from "../options/arguments.ts";
import { checkData } from "../options/data.ts";
import { documentOf } from "../retrieval/documents.ts";
import type { Question } from "../text/read-passages.ts";
import { AcceptedAnswers, containsAnswer, exactMatch, f1 } from "./answers.ts";
import { pagePrecision } from "./kilt.ts";
import { averageMeasures, checkCutoffs, DEFAULT_CUTOFFS, type Measures } from "./measures.ts";

/** The prediction of a system for a question. */
export interface Prediction {
  /** Empty if the system abstained. */
  readonly answer: string;
  /** Texts of the retrieved passages, best first. */
  readonly passages: readonly string[];
  /**
   * The page of each passage, for questions with provenance: its document, or else its title, or
   * else its id.
   */
  readonly pages?: readonly string[] | undefined;
}

export interface AnswerEvaluation {
  /**
   * Means over all questions, from 0 to 1: `exactMatch`, `f1`, and over the best k passages
   * `recall@k`, the share of questions with an accepted answer in one of them; `mrr@k`, 1 / rank of
   * the first of them with an answer, or 0; `p@k`, the share of them with an answer. They exist for
   * each cutoff k up to the highest number of passages of a prediction.
   *
   * If some have no answer (`answers: []`), `abstained` is the share of those without an answer
   * in the prediction, and `lost` the same share of the others; `recall@k`, `mrr@k` and `p@k` are
   * then means over the others.
   *
   * If questions have `provenance`, KILT's `rprec` (R-precision of pages), `kiltExactMatch` and
   * `kiltF1`: exact match and F1 of the answers whose R-precision is 1, and 0 for all others.
   */
  readonly measures: Measures;
  /** The number of questions. */
  readonly questions: number;
  /** Number of questions without a prediction. They count 0, as in the script of SQuAD. */
  readonly unanswered: number;
  /** Number of questions that have no answer (`answers: []`): an abstention is right there. */
  readonly unanswerable: number;
}

const predictionLine = z.object(
  {
    id: z.union([z.string(), z.number()], "text or a number").transform(String),
    answer: z.string("text"),
    passages: z
      .array(
        z.object(
          {
            text: z.string("text"),
            id: z.union([z.string(), z.number()]).transform(String).catch(""),
            title: z.string().catch(""),
            document: z.string().optional().catch(undefined),
          },
          "an object with text",
        ),
        "a list of passages",
      )
      .default([]),
  },
  "an object with id and answer",
);

/**
 * Reads predictions by question id. The format is the output of `reatt answer --queries FILE
 * --json`, one object a line: `{"id", "answer", "passages": [{"text"}]}`.
 *
 * @throws {InputError} with file and line: a field is missing, or a question has two predictions.
 *
 * @example
 * ```ts
 * import { mkdtemp, writeFile } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { readPredictions } from "reatt/evaluation";
 *
 * const file = join(await mkdtemp(join(tmpdir(), "reatt-")), "answers.jsonl");
 * await writeFile(file, '{"id":"q1","answer":"Goethe","passages":[{"text":"By Goethe."}]}\n');
 * console.log((await readPredictions(file)).get("q1")?.answer); // Goethe
 * ```
 */
export async function readPredictions(file: string): Promise<Map<string, Prediction>> {
  checkPath(file, "file");
  const predictions = new Map<string, Prediction>();
  for await (const { where, value } of readJsonLines(file)) {
    const { data, error } = predictionLine.safeParse(value);
    if (error) throw wrongPrediction(where, value, error.issues[0]!);
    if (predictions.has(data.id)) {
      throw new InputError({
        where,
        expected: "one prediction for each question",
        got: `"${data.id}" again`,
        remedy: "keep one of them",
      });
    }
    predictions.set(data.id, {
      answer: data.answer,
      passages: data.passages.map(({ text }) => text),
      pages: data.passages.map(documentOf),
    });
  }
  return predictions;
}

/**
 * Evaluates predictions by question id: exact match and F1 as SQuAD does, the share of questions
 * with an accepted answer in the best k passages as DPR does, and MRR@k and P@k as DensePhrases
 * does (Lee et al. 2021, "Phrase Retrieval Learns Passage Retrieval, Too", section 3). As in SQuAD
 * 2.0, a question with `answers: []` has the empty answer. A question without `answers` counts 0.
 * With `provenance`, KILT's scores (Petroni et al. 2021); a question without it then counts 0.
 *
 * @example
 * ```ts
 * import { evaluateAnswers } from "reatt/evaluation";
 *
 * const predictions = new Map([["q1", { answer: "Goethe", passages: ["Goethe wrote Faust."] }]]);
 * const questions = [{ id: "q1", question: "Who wrote Faust?", answers: ["Goethe"] }];
 * console.log(evaluateAnswers(predictions, questions, [1]).measures.exactMatch); // 1
 * ```
 */
export function evaluateAnswers(
  predictions: ReadonlyMap<string, Prediction>,
  questions: readonly Question[],
  cutoffs: readonly number[] = DEFAULT_CUTOFFS,
): AnswerEvaluation {
  checkData(predictionMap, predictions, PREDICTIONS);
  checkData(questionList, questions, QUESTIONS);
  checkCutoffs(cutoffs);
  let depth = 0;
  for (const { passages } of predictions.values()) depth = Math.max(depth, passages.length);
  const reached = cutoffs.filter((k) => k <= depth);
  const predicted = questions.filter(({ id }) => predictions.has(id));
  const isAnswerable = ({ answers }: Question): boolean => answers?.length !== 0;
  const answerable = questions.filter(isAnswerable);
  const answers = predicted.map(({ id, answers, provenance }) => ({
    ...measureAnswer(predictions.get(id)!, answers),
    ...(provenance && measureProvenance(predictions.get(id)!, answers ?? [], provenance)),
  }));
  const passages = predicted
    .filter(isAnswerable)
    .map(({ id, answers = [] }) => measurePassages(predictions.get(id)!, answers, reached));
  const unanswerable = questions.length - answerable.length;
  return {
    measures: {
      ...averageMeasures(answers, questions.length),
      ...averageMeasures(passages, answerable.length),
      ...(unanswerable > 0 && measureAbstentions(predictions, predicted)),
    },
    questions: questions.length,
    unanswered: questions.length - predicted.length,
    unanswerable,
  };
}

/** The shares of questions without and with an answer that have the empty prediction. */
function measureAbstentions(
  predictions: ReadonlyMap<string, Prediction>,
  predicted: readonly Question[],
): Measures {
  const shareOf = (some: readonly Question[]): number =>
    mean(some.map(({ id }) => Number(predictions.get(id)!.answer === "")));
  return {
    abstained: shareOf(predicted.filter(({ answers }) => answers?.length === 0)),
    lost: shareOf(predicted.filter(({ answers }) => answers?.length !== 0)),
  };
}

function wrongPrediction(
  where: string,
  line: unknown,
  { path, message }: z.core.$ZodIssue,
): InputError {
  const value = path.reduce<unknown>(
    (inner, key) => (inner as Record<PropertyKey, unknown>)[key],
    line,
  );
  return new InputError({
    where,
    expected: path.length === 0 ? message : `"${path.join(".")}" as ${message}`,
    got: value === undefined ? "nothing" : excerpt(value),
    remedy: "write what `reatt answer --queries FILE --json` prints",
  });
}

const predictionMap = z.map(
  z.string("an id as text"),
  z.object(
    {
      answer: z.string("text"),
      passages: z.array(z.string("text"), "a list of texts"),
      pages: z.array(z.string("text"), "a list of names of pages").optional(),
    },
    "{ answer, passages }",
  ),
  "a Map of id -> { answer, passages }",
);
const PREDICTIONS = { where: "predictions", remedy: "take them from readPredictions(FILE)" };

const questionList = z.array(
  z.object(
    {
      id: z.string("text"),
      answers: AcceptedAnswers.optional(),
      provenance: z
        .array(z.array(z.string("text"), "a list of pages"), "a list of lists of pages")
        .optional(),
    },
    "{ id, answers }",
  ),
  "a list of questions",
);
const QUESTIONS = { where: "questions", remedy: "take them from readQuestions(FILE)" };

/** KILT's scores: an answer counts only if its provenance was found completely. */
function measureProvenance(
  { answer, pages = [] }: Prediction,
  accepted: readonly string[],
  provenance: readonly (readonly string[])[],
): Measures {
  const rprec = pagePrecision(pages, provenance);
  const isProven = rprec === 1;
  return {
    rprec,
    kiltExactMatch: Number(isProven && exactMatch(answer, accepted)),
    kiltF1: isProven ? f1(answer, accepted) : 0,
  };
}

/** As in the script of SQuAD 2.0, a question without an answer accepts the empty one. */
function measureAnswer({ answer }: Prediction, answers: readonly string[] | undefined): Measures {
  const accepted = answers?.length === 0 ? [""] : (answers ?? []);
  return { exactMatch: Number(exactMatch(answer, accepted)), f1: f1(answer, accepted) };
}

function measurePassages(
  { passages }: Prediction,
  accepted: readonly string[],
  cutoffs: readonly number[],
): Measures {
  const hasAnswer = passages
    .slice(0, Math.max(0, ...cutoffs))
    .map((text) => containsAnswer(text, accepted));
  const rank = hasAnswer.indexOf(true) + 1; // 0 if no passage contains an answer
  return Object.fromEntries(
    cutoffs.flatMap((k) => {
      const isFound = rank > 0 && rank <= k;
      const found = hasAnswer.slice(0, k).filter(Boolean).length;
      return [
        [`recall@${k}`, Number(isFound)],
        [`mrr@${k}`, isFound ? 1 / rank : 0],
        [`p@${k}`, found / k],
      ];
    }),
  );
}
