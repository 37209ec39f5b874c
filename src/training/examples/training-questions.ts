/** Training files: questions with answers, with relevant passages, or with both. */

import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import { readJsonRecords } from "../../io/json/json-records.ts";
import { readConfig } from "../../model/config-file.ts";
import { createIdTable } from "../../text/id-table.ts";
import { fittingQuestion, MAX_QUESTION_TOKENS } from "../../text/tokens/prompts.ts";
import { loadTokenizer, tokenizerFile } from "../../text/tokens/tokenizer.ts";
import type { Example, Passages } from "./example.ts";
import { parseQuestion, type QuestionFields, questionsOf, textKey } from "./question-records.ts";
import { isTable, readQuestionRows } from "./question-table.ts";
import type { SourceTraits } from "./sources/source.ts";

export interface TrainingQuestion extends QuestionFields {
  readonly id: string;
}

/**
 * Reads a training file: JSON Lines, a JSON array of at most 512 MiB, or a table (CSV, TSV), plain
 * or gzip, in one of the formats of `question-records.ts`. The case of names does not matter.
 *
 * - the question
 * - its answers, a relevant passage (id or text), or both. Questions that a data set marks as
 *   unanswerable are left out
 * - an optional id. Default: the number of the question in the file, from 1
 * - optional contexts (`ctxs`, best first, or DPR's lists), each with an id. Titles and texts are
 *   not kept: 80,000 questions with 100 contexts each take 0.3 GB instead of 5 GB
 * - an optional `score` of each of `ctxs`: a number, higher for a more relevant passage
 *
 * @param onLeftOut is called with what is left out and how much of it, in words
 * @throws {InputError} with file and line, or index, if a field is missing, blank or of another
 *   type, if an id occurs twice, or if there is no question.
 */
export async function readTrainingFile(
  file: string,
  signal?: AbortSignal,
  onLeftOut: (what: string) => void = () => {},
): Promise<TrainingQuestion[]> {
  const questions: TrainingQuestion[] = [];
  let unanswerable = 0;
  const ids = createIdTable();
  const read = isTable(file) ? readQuestionRows : readJsonRecords;
  for await (const record of read(file, signal))
    for (const one of questionsOf(record)) {
      const question = parseQuestion(one);
      if (!question) {
        unanswerable++;
        continue;
      }
      const number = questions.length + 1;
      const { id = String(number), ...rest } = question;
      const first = ids.firstLine(id, number);
      if (first !== number)
        throw problem(
          one.where,
          "a new id",
          `${excerpt(id)}, the id of question ${first}`,
          "give each its own",
        );
      questions.push({ id, ...rest });
    }
  if (questions.length === 0)
    throw problem(file, "at least one question", "none", "write one a line");
  if (unanswerable > 0)
    onLeftOut(`${counted(unanswerable, "question")} without an answer in ${file}`);
  return questions;
}

/**
 * Cuts questions that a model cannot read whole.
 *
 * @param model its folder
 * @param onLeftOut is called with how many were cut, in words
 */
export async function fittingQuestions(
  model: string,
  questions: readonly TrainingQuestion[],
  onLeftOut: (what: string) => void = () => {},
): Promise<TrainingQuestion[]> {
  const { prompts } = await readConfig(model);
  const tokenizer = await loadTokenizer(tokenizerFile(model), { prompts });
  const fitting = questions.map((one) =>
    one.question.length <= SURELY_SHORT
      ? one
      : { ...one, question: fittingQuestion(tokenizer, one.question) },
  );
  const cut = questions.filter(({ question }, i) => question !== fitting[i]!.question);
  if (cut.length > 0)
    onLeftOut(
      `the ends of ${counted(cut.length, "question")} of more than ${MAX_QUESTION_TOKENS} tokens, ` +
        `such as question ${excerpt(cut[0]!.id)}`,
    );
  return fitting;
}

/** Characters of a question that surely has fewer tokens than the model reads. */
const SURELY_SHORT = MAX_QUESTION_TOKENS / 4;

const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;

/** A corpus, of which the passages are read if questions give theirs as texts. */
interface CorpusTexts extends Passages {
  readonly ids: readonly string[];
}

/**
 * Reads a training file whose questions were asked about a corpus. Passages that the file gives as
 * texts get the ids that they have in the corpus. The ids of rows of a table, which the corpus has
 * as `FILE#ID`, can be given as the table has them (DPR's `psgs_w100.tsv`).
 *
 * @throws {InputError} as `readTrainingFile` does, if the corpus does not have a `passage_id`, and
 *   if it has none of the passages of questions without answers.
 */
export async function readQuestionsAbout(
  corpus: CorpusTexts,
  file: string,
  signal?: AbortSignal,
  onLeftOut: (what: string) => void = () => {},
): Promise<TrainingQuestion[]> {
  const read = withTableIds(corpus, await readTrainingFile(file, signal, onLeftOut));
  const questions = await withPassageIds(corpus, read, onLeftOut);
  if (
    !questions.some(({ answers, passageId, scores }) => answers.length > 0 || passageId || scores)
  )
    throw problem(
      file,
      "passages of the corpus",
      `none in ${questions.length} questions`,
      "name the corpus that they are from, or give their ids as passage_id",
    );
  const unknown = new Set(questions.flatMap(({ passageId }) => passageId ?? []));
  const all = unknown.size;
  for (const id of corpus.ids) unknown.delete(id);
  const first = questions.find(
    ({ passageId }) => passageId !== undefined && unknown.has(passageId),
  );
  if (!first) return questions;
  throw problem(
    `${file}, question ${excerpt(first.id)}`,
    "its passage_id to be in the corpus",
    `${excerpt(first.passageId)}, one of ${unknown.size} of ${all} that are not`,
    "name the corpus that the questions were asked about, or leave passage_id out",
  );
}

/** The questions with the ids of the corpus where they have those of a table's rows. */
function withTableIds(
  { ids }: CorpusTexts,
  questions: readonly TrainingQuestion[],
): readonly TrainingQuestion[] {
  const wanted = new Set(
    questions.flatMap(({ passageId, contexts = [] }) => [passageId ?? [], contexts].flat()),
  );
  for (const id of ids) wanted.delete(id);
  if (wanted.size === 0) return questions;
  const found = new Map<string, string>();
  const rowOf = (id: string): string => id.slice(id.lastIndexOf("#") + 1);
  for (const id of ids) {
    const row = rowOf(id);
    if (row === id || !wanted.has(row)) continue;
    found.set(row, found.has(row) ? row : id); // two tables have it: it stays unknown
  }
  const known = (id: string): string => found.get(id) ?? id;
  return questions.map((question) => ({
    ...question,
    ...(question.passageId !== undefined && { passageId: known(question.passageId) }),
    ...(question.contexts && { contexts: question.contexts.map(known) }),
  }));
}

/** The questions with the ids of the passages that they have as texts: positives, then others. */
async function withPassageIds(
  corpus: CorpusTexts,
  questions: readonly TrainingQuestion[],
  onLeftOut: (what: string) => void,
): Promise<TrainingQuestion[]> {
  const keysOf = ({ positiveKeys = [], negativeKeys = [] }: TrainingQuestion) => [
    ...positiveKeys,
    ...negativeKeys,
  ];
  const wanted = new Set(questions.flatMap(keysOf));
  if (wanted.size === 0) return [...questions];
  const ids = new Map<string, string>();
  for await (const { id, title, text } of corpus.passages())
    for (const key of [textKey(text), textKey(`${title} ${text}`)])
      if (wanted.has(key) && !ids.has(key)) ids.set(key, id);
  const unknown = [...wanted].filter((key) => !ids.has(key)).length;
  if (unknown > 0)
    onLeftOut(`${unknown} of ${counted(wanted.size, "given text")} that the corpus does not have`);
  return questions.map((question) => {
    const { positiveKeys = [], negativeKeys, ...rest } = question;
    const passageId = rest.passageId ?? positiveKeys.flatMap((key) => ids.get(key) ?? [])[0];
    const found = keysOf(question).flatMap((key) => ids.get(key) ?? []);
    const contexts = [...new Set([...(rest.contexts ?? []), ...found])];
    return {
      ...rest,
      ...(passageId !== undefined && { passageId }),
      ...(contexts.length > 0 && { contexts }),
    };
  });
}

const problem = (where: string, expected: string, got: string, remedy: string): InputError =>
  new InputError({ where, expected, got, remedy });

export const questionSource: SourceTraits<"questions"> = {
  name: "questions",
  relevant: "those that the file names, or else those that BM25 finds and that contain an answer",
  draws: 1,
};

export const questionExamples = (questions: readonly TrainingQuestion[]): Example[] =>
  questions.map(({ id, question, answers, passageId, contexts, scores }) => ({
    id,
    question,
    answers,
    relevant: passageId === undefined ? [] : [passageId],
    contexts,
    scores,
  }));
