/**
 * Training files: questions with answers, in our format (`{question, answers, passage_id?, ctxs?}`)
 * and in those of FiD (https://github.com/facebookresearch/FiD) and DPR
 * (https://github.com/facebookresearch/DPR).
 */

import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import type { JsonRecord } from "../../io/json-lines.ts";
import { readJsonRecords } from "../../io/json-records.ts";
import { createIdTable } from "../../text/id-table.ts";
import type { Question } from "../../text/read-passages.ts";
import type { Corpus } from "./corpus.ts";
import { isTable, readQuestionRows } from "./question-table.ts";

/** A question with its answers and, optionally, its candidates. */
export interface TrainingQuestion extends Question {
  /** At least one; aliases of one another. */
  readonly answers: readonly string[];
  /** Ids of the candidates that the file gives, best first. The corpus has their texts. */
  readonly contexts?: readonly string[];
  /** The scores of `contexts`, for those that have one. Absent without any. */
  readonly scores?: readonly (number | undefined)[];
}

/**
 * Reads a training file: JSON Lines, a JSON array of at most 512 MiB, or a table (CSV, TSV), plain
 * or gzip. Fields, of which a table can have the first four:
 *
 * - `question`
 * - `answers`, or else FiD's `target`
 * - optional `id` or `_id`. Default: the number of the question in the file, from 1
 * - optional `passage_id`, the passage that the question was asked about
 * - optional contexts: `ctxs`, best first; or DPR's `positive_ctxs`, `hard_negative_ctxs` and
 *   `negative_ctxs`. The id of a context is its `id`, `passage_id` or `psg_id`. Titles and texts
 *   are not kept: 80,000 questions with 100 contexts each take 0.3 GB instead of 5 GB
 * - optional `score` of each of `ctxs`: a number, higher for a more relevant passage
 *
 * DPR's first positive context becomes `passage_id` and the first context. The hard negatives
 * follow, then the other positives, because some questions have a hundred of these.
 *
 * @throws {InputError} with file and line, or index, if a field is missing, blank or of another
 *   type, if an id occurs twice, or if there is no question.
 */
export async function readTrainingFile(
  file: string,
  signal?: AbortSignal,
): Promise<TrainingQuestion[]> {
  const questions: TrainingQuestion[] = [];
  const ids = createIdTable();
  const read = isTable(file) ? readQuestionRows : readJsonRecords;
  for await (const record of read(file, signal)) {
    const number = questions.length + 1;
    const { id = String(number), ...rest } = parseRecord(record);
    const first = ids.firstLine(id, number);
    if (first !== number)
      throw problem(
        record.where,
        "a new id",
        `${excerpt(id)}, the id of question ${first}`,
        "give each its own",
      );
    questions.push({ id, ...rest });
  }
  if (questions.length === 0)
    throw problem(file, "at least one question", "none", "write one a line");
  return questions;
}

/**
 * Reads a training file whose questions were asked about a corpus.
 *
 * @throws {InputError} as `readTrainingFile` does, and if the corpus does not have a `passage_id`.
 */
export async function readQuestionsAbout(
  corpus: Pick<Corpus, "ids">,
  file: string,
  signal?: AbortSignal,
): Promise<TrainingQuestion[]> {
  const questions = await readTrainingFile(file, signal);
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

const text = z.string("text").refine((value) => value.trim() !== "", "text that is not blank");
const identifier = z
  .union([z.string().min(1), z.number()], "text or a number")
  .transform(String)
  .nullish();
/** FiD's files have text: `"score": "83.5"`. */
const score = z
  .union([z.number(), z.string().trim().min(1).transform(Number)])
  .refine(Number.isFinite, "a number")
  .nullish()
  .transform((value) => value ?? undefined);
const contextFields = { id: identifier, passage_id: identifier, psg_id: identifier, score };
const context = z
  .object(contextFields, "an object")
  .transform(({ id, passage_id, psg_id, score }) => ({
    id: id ?? passage_id ?? psg_id ?? "",
    score,
  }))
  .refine(({ id }) => id !== "", 'an object with an "id"');
const scoredContexts = z
  .array(context, "a list of contexts")
  .nullish()
  .transform((list) => list ?? []);
/** DPR's scores are of different rankers in different lists. They are not read. */
const contexts = z
  .array(
    z
      .looseObject({}, "an object")
      .transform(({ score: _, ...rest }) => rest)
      .pipe(context),
    "a list of contexts",
  )
  .nullish()
  .transform((list) => (list ?? []).map(({ id }) => id));

const trainingRecord = z
  .object(
    {
      _id: identifier,
      id: identifier,
      question: text,
      answers: z.array(text, "a list of texts").min(1, "a list of one answer or more").nullish(),
      target: text.nullish(),
      passage_id: identifier,
      ctxs: scoredContexts,
      positive_ctxs: contexts,
      hard_negative_ctxs: contexts,
      negative_ctxs: contexts,
    },
    "an object",
  )
  .refine(({ answers, target }) => answers ?? target, {
    path: ["answers"],
    error: "a list of texts",
  });

function parseRecord({ where, value }: JsonRecord): Omit<TrainingQuestion, "id"> & { id?: string } {
  const { data: record, error } = trainingRecord.safeParse(value);
  if (error) {
    const { path, message } = error.issues[0]!;
    const expected = path.length === 0 ? message : `"${path.join(".")}" to be ${message}`;
    const got = valueAt(value, path);
    if (path[0] === "answers" && got === undefined && valueAt(value, ["answer"]) !== undefined)
      throw problem(where, expected, '"answer"', 'rename it to "answers" and write a list');
    const found = got === undefined ? "none" : excerpt(got);
    throw problem(where, expected, found, "repair the record or leave it out");
  }
  const id = record._id ?? record.id;
  const [positive, ...positives] = record.positive_ctxs;
  const passageId = record.passage_id ?? positive;
  const ordered = [
    record.ctxs.map((one) => one.id),
    positive ?? [],
    record.hard_negative_ctxs,
    positives,
    record.negative_ctxs,
  ].flat();
  const contextIds = [...new Set(ordered)];
  const found = new Map<string, number | undefined>();
  for (const one of record.ctxs) if (!found.has(one.id)) found.set(one.id, one.score);
  const scores = contextIds.map((contextId) => found.get(contextId));
  return {
    question: record.question,
    answers: record.answers ?? [record.target!],
    ...(id && { id }),
    ...(passageId && { passageId }),
    ...(contextIds.length > 0 && { contexts: contextIds }),
    ...(scores.some((one) => one !== undefined) && { scores }),
  };
}

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key],
    value,
  );

const problem = (where: string, expected: string, got: string, remedy: string): InputError =>
  new InputError({ where, expected, got, remedy });
