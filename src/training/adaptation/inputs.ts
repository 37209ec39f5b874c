/** The input files of an adaptation, read and checked before it starts. */

import { readQrels } from "../../evaluation/trec.ts";
import { InputError } from "../../io/errors.ts";
import { readQuestions } from "../../text/read-passages.ts";
import type { Corpus } from "../examples/corpus.ts";
import { type AnsweredCount, countAnswered } from "../examples/corpus-answers.ts";
import type { Example, Passages } from "../examples/example.ts";
import { labelledExamples } from "../examples/sources/labels.ts";
import { readable } from "../examples/sources/readable.ts";
import {
  fittingQuestions,
  questionExamples,
  readQuestionsAbout,
} from "../examples/training-questions.ts";
import { type AdaptOptions, trainingPassageTokens } from "../options/adapt-options.ts";
import type { ChosenSources } from "./label-free.ts";

/** The default of `devQuestions`. */
const DEV_QUESTIONS = 200;

export interface AdaptationInputs {
  readonly sources: ChosenSources;
  /** What examples are made of. */
  readonly passages: Passages;
  /** Of the training file. */
  readonly questions: readonly Example[];
  /** Of the relevance labels. */
  readonly labels: readonly Example[];
  /** How many questions of the training file have an answer in the corpus. */
  readonly answered: AnsweredCount | undefined;
  /** What was left out of the files, in words. */
  readonly leftOut: readonly string[];
  /** What retrieval is measured with. Default: examples that are held out. */
  readonly dev: readonly Example[] | undefined;
  /** The files of questions, labels and dev questions, those that are given. */
  readonly files: Readonly<Record<"questions" | "labels" | "dev", string | undefined>>;
}

/** The passages as far as training reads them. */
export const readPassages = (options: AdaptOptions, corpus: Corpus): Passages =>
  readable(corpus, trainingPassageTokens(options));

/** @throws {InputError} if a file cannot be read, or is about other queries or another corpus. */
export async function readInputs(
  options: AdaptOptions & { readonly model: string },
  sources: ChosenSources,
  passages: Passages,
  corpus: Corpus,
): Promise<AdaptationInputs> {
  const { model, data, dev, devQuestions = DEV_QUESTIONS, queries, qrels, signal } = options;
  const leftOut: string[] = [];
  const tell = (what: string) => leftOut.push(what);
  const read = async (file: string): Promise<Example[]> => {
    const all = await readQuestionsAbout(corpus, file, signal, tell);
    return questionExamples(await fittingQuestions(model, all, tell));
  };
  const questions = data === undefined ? [] : await read(data);
  const answered = data && (await answersOf(data, passages, questions));
  return {
    sources,
    passages,
    questions,
    answered: answered || undefined,
    labels:
      queries === undefined || qrels === undefined ? [] : await readLabels(queries, qrels, corpus),
    dev: dev === undefined ? undefined : (await read(dev)).slice(0, devQuestions),
    leftOut,
    files: { questions: data, labels: qrels, dev },
  };
}

/** @throws {InputError} if no passage contains an answer */
async function answersOf(
  file: string,
  corpus: Passages,
  questions: readonly Example[],
): Promise<AnsweredCount> {
  const count = await countAnswered(corpus, questions);
  if (count.answered > 0 || count.questions === 0) return count;
  throw new InputError({
    where: file,
    expected: "answers that passages of the corpus contain",
    got: `none in ${count.questions} questions`,
    remedy: "name the corpus that the questions are about, or write answers in its words",
  });
}

async function readLabels(queries: string, qrels: string, corpus: Corpus): Promise<Example[]> {
  const texts = new Map((await readQuestions(queries)).map(({ id, question }) => [id, question]));
  return labelledExamples(texts, await readQrels(qrels), new Set(corpus.ids));
}
