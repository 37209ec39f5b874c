/**
 * What a record of a training file says, in the usual formats:
 *
 * - ours: `{question, answers, passage_id?, ctxs?}`; FiD: `target`; DPR: `positive_ctxs`,
 *   `hard_negative_ctxs`, `negative_ctxs`
 * - SQuAD: the official JSON (`data`, `paragraphs`, `qas`) and the rows of Hugging Face
 * - triplets and pairs of sentence-transformers, PyLate and Tevatron: `anchor` or `query`,
 *   `positive`, `negative`, `negative_1` …
 * - MS MARCO's questions with `passages`, of which some are selected
 * - KILT: `input`, and `output` with `answer`; its `provenance` is not read
 * - TriviaQA: the official JSON (`Data`, with `Answer.Value` and `Answer.Aliases`) and the rows of
 *   Hugging Face; WebQuestions: the official JSON (`utterance`, `targetValue`) and the rows
 * - CuratedTREC: answers after `regex:` are expressions
 *
 * Passages that are texts are known by `textKey`: the corpus has their ids.
 */

import { createHash } from "node:crypto";
import { z } from "zod";
import { checkExpressions } from "../../evaluation/answer-expressions.ts";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import type { JsonRecord } from "../../io/json/json-lines.ts";

/** The usual names of fields and columns. Of several that have a value, the first one counts. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  id: ["_id", "id", "query_id", "question_id", "questionid", "qid"],
  question: ["question", "query", "anchor", "prompt"],
  answers: ["answers", "answer", "target", "response"],
  passage_id: ["passage_id", "document_id", "doc_id", "corpus_id"],
  positive: ["positive", "positives", "pos", "positive_passages", "passages", "passage", "context"],
  negative: ["negative", "negatives", "neg", "negative_passages"],
};
const NUMBERED_NEGATIVE = /^negative_\d+$/;
/** MS MARCO writes it where annotators found no answer. */
const NO_ANSWER = "No Answer Present.";

/** A question with its answers and, optionally, its candidates. */
export interface QuestionFields {
  readonly question: string;
  /** Aliases of one another. None if only a relevant passage is known. */
  readonly answers: readonly string[];
  /** The passage that the question was asked about. */
  readonly passageId?: string;
  /** Ids of the candidates that the file gives, best first. The corpus has their texts. */
  readonly contexts?: readonly string[];
  /** The scores of `contexts`, for those that have one. Absent without any. */
  readonly scores?: readonly (number | undefined)[];
  /** `textKey` of relevant passages that the file gives as texts. */
  readonly positiveKeys?: readonly string[];
  /** `textKey` of other passages that the file gives as texts. */
  readonly negativeKeys?: readonly string[];
}

export interface QuestionRecord extends QuestionFields {
  readonly id: string | undefined;
}

/** The digest of a text, whatever its white space: how a passage without an id is known. */
export const textKey = (text: string): string =>
  createHash("sha1").update(text.replace(/\s+/gu, " ").trim()).digest("base64");

/** The name of a field or column as it is compared: without case, with `_` between words. */
export const columnName = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/gu, "_");

/** Whether one of the names is the usual name of a question. */
export const hasQuestion = (names: readonly string[]): boolean =>
  names.some((name) => NAMES.question!.includes(columnName(name)));

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
const context = z
  .object({ id: identifier, passage_id: identifier, psg_id: identifier, score }, "an object")
  .transform(({ id, passage_id, psg_id, score }) => ({
    id: id ?? passage_id ?? psg_id ?? "",
    score,
  }))
  .refine(({ id }) => id !== "", 'an object with an "id"');
/** DPR's scores are of different rankers in different lists. They are not read. */
const unscored = z
  .looseObject({}, "an object")
  .transform(({ score: _, ...rest }) => rest)
  .pipe(context);
const listOf = <T>(item: z.ZodType<T>) =>
  z
    .array(item, "a list of contexts")
    .nullish()
    .transform((list) => list ?? []);

const trainingRecord = z.object({
  id: identifier,
  question: text,
  answers: z.array(text, "a text or a list of texts").nullish(),
  passage_id: identifier,
  ctxs: listOf(context),
  positive_ctxs: listOf(unscored),
  hard_negative_ctxs: listOf(unscored),
  negative_ctxs: listOf(unscored),
});

/** The questions of a record: one, or all of an official file of SQuAD or TriviaQA. */
export function* questionsOf({ where, value }: JsonRecord): Generator<JsonRecord> {
  const { data, Data: trivia } = objectOf(value);
  if (Array.isArray(trivia))
    for (const [i, asked] of trivia.entries())
      yield { where: `${where}, Data[${i}]`, value: asked };
  else if (!Array.isArray(data)) yield { where, value: ofField(value) };
  else
    for (const [d, article] of data.entries())
      for (const [p, paragraph] of listIn(article, "paragraphs").entries())
        for (const [q, asked] of listIn(paragraph, "qas").entries()) {
          const place = `${where}, data[${d}].paragraphs[${p}].qas[${q}]`;
          const { context: passage } = objectOf(paragraph);
          yield { where: place, value: { ...objectOf(asked), context: passage } };
        }
}

/** A description in the answers of WebQuestions: `(list (description "A b") (description C))`. */
const DESCRIPTION = /\(description (?:"((?:[^"\\]|\\.)*)"|([^()"]*))\)/g;

/** KILT's and WebQuestions' records with the usual names; others as they are. */
function ofField(value: unknown): unknown {
  const { input, output, utterance, targetValue, ...rest } = objectOf(value);
  if (typeof input === "string" && Array.isArray(output)) {
    const answers = output.flatMap((one) => objectOf(one).answer ?? []);
    return { ...rest, question: input, answers: [...new Set(answers)] };
  }
  if (typeof utterance === "string" && typeof targetValue === "string") {
    const found = [...targetValue.matchAll(DESCRIPTION)];
    const answers = found.map(([, quoted, plain]) => quoted?.replace(/\\(.)/g, "$1") ?? plain!);
    return { ...rest, question: utterance, answers };
  }
  return value;
}

/** A question; undefined for one that has no answer, as some of SQuAD 2.0 and MS MARCO. */
export function parseQuestion({ where, value }: JsonRecord): QuestionRecord | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw problem(where, "an object", excerpt(value), "repair the record or leave it out");
  const { fields, names } = canonical(value as Fields);
  if (fields.question === undefined) throw nameMissing(where, "question", value);
  const answers = textsOf(fields.answers);
  const { data: record, error } = trainingRecord.safeParse({ ...fields, answers });
  if (error) throw wrongField(where, error, value, names);
  checkExpressions(record.answers ?? [], where);
  const positive = passagesOf(fields.positive);
  const negative = passagesOf(fields.negative);
  const positiveKeys = positive.filter(({ selected }) => selected).map(({ key }) => key);
  const negativeKeys = [...positive.filter(({ selected }) => !selected), ...negative];
  const contexts = contextsOf(record);
  const found = {
    id: record.id ?? undefined,
    question: record.question,
    answers: (record.answers ?? []).filter((answer) => answer !== NO_ANSWER),
    ...contexts,
    ...(record.passage_id && { passageId: record.passage_id }),
    ...(positiveKeys.length > 0 && { positiveKeys }),
    ...(negativeKeys.length > 0 && { negativeKeys: negativeKeys.map(({ key }) => key) }),
  };
  const { text: ofSquad } = objectOf(fields.answers);
  if (objectOf(value).is_impossible === true || (Array.isArray(ofSquad) && ofSquad.length === 0))
    return undefined;
  if (found.answers.length + positiveKeys.length > 0) return found;
  if (record.answers?.includes(NO_ANSWER)) return undefined;
  if (found.passageId ?? contexts.scores) return found;
  throw nameMissing(where, "answers", value);
}

type Fields = Readonly<Record<string, unknown>>;

const objectOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};

const listIn = (value: unknown, name: string): readonly unknown[] => {
  const list = objectOf(value)[name];
  return Array.isArray(list) ? list : [];
};

/** The fields under our names, and the names that they have in the record. */
function canonical(record: Fields): { fields: Fields; names: ReadonlyMap<string, string> } {
  const given = new Map(Object.keys(record).map((name) => [columnName(name), name]));
  const fields: Record<string, unknown> = { ...record };
  const names = new Map<string, string>();
  for (const [name, usual] of Object.entries(NAMES)) {
    const found = usual.find((one) => given.has(one) && record[given.get(one)!] != null);
    if (found === undefined) continue;
    names.set(name, given.get(found)!);
    fields[name] = record[given.get(found)!];
  }
  const numbered = [...given].filter(([name]) => NUMBERED_NEGATIVE.test(name));
  const negatives = numbered.flatMap(([, name]) => record[name] ?? []);
  if (negatives.length > 0) fields.negative = [fields.negative ?? [], negatives].flat();
  return { fields, names };
}

/**
 * The texts of one, of a list, of SQuAD's objects with `text`, or of TriviaQA's with a value and
 * aliases. Anything else stays as it is.
 */
function textsOf(value: unknown): unknown {
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) {
    const {
      text: ofSquad,
      Value,
      value: first = Value,
      Aliases,
      aliases = Aliases,
    } = objectOf(value);
    if (typeof first !== "string") return ofSquad ?? value;
    return [...new Set([first, ...(Array.isArray(aliases) ? aliases : [])])];
  }
  return value.some((item) => objectOf(item).text === undefined)
    ? value
    : value.map((item) => objectOf(item).text);
}

interface GivenPassage {
  readonly key: string;
  /** Whether it is the relevant one of MS MARCO's. */
  readonly selected: boolean;
}

/** Passages as texts, as objects with a text, or as MS MARCO's lists of texts and of marks. */
function passagesOf(value: unknown): GivenPassage[] {
  const { passage_text: texts, is_selected: marks } = objectOf(value);
  if (Array.isArray(texts))
    return texts.flatMap((one, i) => passagesOf({ text: one, is_selected: listOfMarks(marks)[i] }));
  if (Array.isArray(value)) return value.flatMap(passagesOf);
  const { text: plain, passage_text: marco = plain, title, is_selected = 1 } = objectOf(value);
  const whole = typeof value === "string" ? value : marco;
  if (typeof whole !== "string" || whole.trim() === "") return [];
  const titled = typeof title === "string" && title !== "" ? `${title} ${whole}` : whole;
  return [{ key: textKey(titled), selected: Boolean(is_selected) }];
}

const listOfMarks = (marks: unknown): readonly unknown[] => (Array.isArray(marks) ? marks : []);

/** DPR's first positive becomes the passage id and the first context; hard negatives follow. */
function contextsOf(
  record: z.infer<typeof trainingRecord>,
): Pick<QuestionFields, "passageId" | "contexts" | "scores"> {
  const [positive, ...positives] = record.positive_ctxs;
  const { ctxs, hard_negative_ctxs, negative_ctxs } = record;
  const ordered = [
    ...ctxs,
    ...(positive ? [positive] : []),
    ...[hard_negative_ctxs, positives, negative_ctxs].flat(),
  ];
  const contexts = [...new Set(ordered.map(({ id }) => id))];
  const given = new Map(ctxs.toReversed().map((one) => [one.id, one.score])); // the first counts
  const scores = contexts.map((id) => given.get(id));
  return {
    ...(positive && { passageId: positive.id }),
    ...(contexts.length > 0 && { contexts }),
    ...(scores.some((one) => one !== undefined) && { scores }),
  };
}

function nameMissing(where: string, field: "question" | "answers", value: unknown): InputError {
  const usual = (name: string): string => NAMES[name]!.map((one) => `"${one}"`).join(" or ");
  const names = Object.keys(objectOf(value)).map((name) => `"${name}"`);
  const expected =
    field === "question" ? usual(field) : `${usual(field)}, or the passage: ${usual("positive")}`;
  return problem(where, expected, names.join(", ") || "no field", "rename a field or column");
}

function wrongField(
  where: string,
  error: z.ZodError,
  value: unknown,
  names: ReadonlyMap<string, string>,
): InputError {
  const { path, message } = error.issues[0]!;
  const [field, ...inner] = path.map(String) as [string, ...string[]];
  const name = names.get(field) ?? field;
  const got = inner.reduce<unknown>(
    (part, key) => objectOf(part)[key],
    field === "answers" ? textsOf(objectOf(value)[name]) : objectOf(value)[name],
  );
  const expected = `"${[name, ...inner].join(".")}" to be ${message}`;
  return problem(where, expected, excerpt(got), "repair the record or leave it out");
}

const problem = (where: string, expected: string, got: string, remedy: string): InputError =>
  new InputError({ where, expected, got, remedy });
