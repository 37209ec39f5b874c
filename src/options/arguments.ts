/** Checks arguments of the library that are not options: passages, questions, ids and paths. */

import { z } from "zod";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import {
  type DocumentInput,
  isMetadataValue,
  type MetadataValue,
  type Passage,
  type PassageInput,
} from "../text/passage.ts";
import { path } from "./option.ts";

type Items<T> = AsyncIterable<T> | Iterable<T>;

const pathSchema = path();

/** @throws {InputError} unless `given` is the path of a file or folder */
export function checkPath(given: unknown, where: string): asserts given is string {
  const { error } = pathSchema.safeParse(given);
  if (error) throw problem(where, error.issues[0]!.message, shown(given), "give its path");
}

/** @throws {InputError} unless `given` is a question with text */
export function checkQuestion(given: unknown, where = "question"): asserts given is string {
  if (typeof given !== "string")
    throw problem(where, "a question as text", shown(given), "write one, or a list of them");
  if (given.trim() === "") throw problem(where, "a question", "no text", "write one");
}

/** @throws {InputError} unless `given` is a question or a list of questions, each with text */
export function checkQuestions(given: unknown): asserts given is string | readonly string[] {
  if (Array.isArray(given)) checkQuestionList(given);
  else checkQuestion(given);
}

/** @throws {InputError} unless `given` is a list of questions with text */
export function checkQuestionList(given: unknown): asserts given is readonly string[] {
  if (!Array.isArray(given))
    throw problem("question", "a question as text, or a list of them", shown(given), "write one");
  for (const [i, question] of given.entries()) checkQuestion(question, `questions[${i}]`);
}

/**
 * Checks each passage when it is read.
 *
 * @throws {InputError} at once unless `given` can be iterated, and for the first bad passage
 */
export function checkedPassages(given: unknown): AsyncGenerator<Passage, void> {
  checkIterable(given, "passages", "a list or a generator of passages", "readPassages(FILE)");
  return passagesOf(given as Items<unknown>);
}

async function* passagesOf(given: Items<unknown>, first = 1): AsyncGenerator<Passage, void> {
  let number = first - 1;
  for await (const passage of given) {
    number++;
    checkPassage(passage, () => `passage ${number}`);
    const { id, title = "", text, document, metadata } = passage;
    yield { id, title, text, ...(document && { document }), ...(metadata && { metadata }) };
  }
}

/**
 * Checks each passage, and each document that is a value, when it is read.
 *
 * @throws {InputError} at once unless `given` can be iterated, and for the first bad one
 */
export function checkedDocuments(given: unknown): AsyncGenerator<Passage | DocumentInput, void> {
  checkIterable(given, "documents", "a list or a generator of documents", "a folder");
  return documentsOf(given as Items<unknown>);
}

async function* documentsOf(given: Items<unknown>): AsyncGenerator<Passage | DocumentInput, void> {
  let number = 0;
  for await (const value of given) {
    number++;
    if (!hasContent(value)) yield* passagesOf([value], number);
    else {
      const checked = documentValue.safeParse(value);
      if (!checked.success) throw itemProblem(checked.error, value, `document ${number}`);
      yield checked.data;
    }
  }
}

const hasContent = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "content" in value && !("text" in value);

/** @throws {InputError} unless `given` is an array of passages; `where` is its name */
export function checkPassageList(given: unknown, where: string): void {
  if (!Array.isArray(given))
    throw problem(where, "a list of passages", shown(given), "give an array");
  for (const [i, passage] of given.entries()) checkPassage(passage, () => `${where}[${i}]`);
}

/** @throws {InputError} unless `given` has a list of passages for each of `questions` questions */
export function checkPassageLists(given: unknown, questions: number): void {
  if (!Array.isArray(given) || given.length !== questions) {
    const expected = `one list for each of ${questions} questions`;
    const got = Array.isArray(given) ? `${given.length}` : shown(given);
    throw problem("passages", expected, got, "give every question its own passages");
  }
  for (const [i, list] of given.entries()) checkPassageList(list, `passages[${i}]`);
}

/** @throws {InputError} unless `given` is a list of `count` texts, or of one or more */
export function checkTexts(given: unknown, where: string, count?: number): void {
  const expected = count === undefined ? "a list of one or more texts" : `a list of ${count} texts`;
  if (!Array.isArray(given)) throw problem(where, expected, shown(given), "give an array");
  if (count === undefined ? given.length === 0 : given.length !== count)
    throw problem(where, expected, `${given.length}`, "give as many as expected");
  for (const [i, text] of given.entries())
    if (typeof text !== "string")
      throw problem(`${where}[${i}]`, "text", shown(text), "write it as text");
}

/**
 * Checks each id when it is read.
 *
 * @throws {InputError} at once unless `given` can be iterated, and for the first bad id
 */
export function checkedIds(given: unknown): AsyncGenerator<string, void> {
  checkIterable(given, "ids", "a list or a generator of ids", "[ID]");
  return idsOf(given as Items<unknown>);
}

async function* idsOf(given: Items<unknown>): AsyncGenerator<string, void> {
  let number = 0;
  for await (const id of given) {
    number++;
    checkId(id, `id ${number}`);
    yield id;
  }
}

/** @throws {InputError} unless `given` is a list of ids */
export function checkIdList(given: unknown): void {
  if (!Array.isArray(given)) throw problem("ids", "a list of ids", shown(given), "give an array");
  for (const [i, id] of given.entries()) checkId(id, `ids[${i}]`);
}

/** @throws {InputError} unless `given` is text */
export function checkId(given: unknown, where = "id"): asserts given is string {
  if (typeof given !== "string")
    throw problem(where, "the id of a passage as text", shown(given), "write it as text");
}

function checkIterable(given: unknown, where: string, expected: string, call: string): void {
  const remedy = `give ${call} or another iterable`;
  const object = given as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined;
  const isIterable =
    typeof object === "object" &&
    object !== null &&
    (typeof object[Symbol.asyncIterator] === "function" ||
      typeof object[Symbol.iterator] === "function");
  if (!isIterable) throw problem(where, expected, shown(given), remedy);
}

// Long corpora pass through here: zod is asked only for what these checks reject.
function checkPassage(given: unknown, where: () => string): asserts given is PassageInput {
  if (typeof given === "object" && given !== null) {
    const { id, title, text, document, metadata } = given as Partial<
      Record<keyof Passage, unknown>
    >;
    if (
      typeof id === "string" &&
      id !== "" &&
      (title === undefined || typeof title === "string") &&
      typeof text === "string" &&
      document === undefined &&
      metadata === undefined
    )
      return;
    if (passage.safeParse(given).success) return;
  }
  throw passageProblem(given, where());
}

const VALUE = "text, a finite number, true, false or a list of these";

const shared = {
  id: z.string("text").min(1, "text that is not empty"),
  title: z.string('text, or "" for a passage without a title').optional(),
  metadata: z
    .record(
      z.string(),
      z.custom<MetadataValue>(isMetadataValue, VALUE),
      "an object of named values",
    )
    .optional(),
};
const passage = z.object(
  {
    ...shared,
    text: z.string("text"),
    document: z.string("text").min(1, "text that is not empty").optional(),
  },
  "an object with id, title and text",
);
const documentValue = z.object({
  ...shared,
  content: z.custom<string | Uint8Array>(
    (given) => typeof given === "string" || given instanceof Uint8Array,
    "text or bytes",
  ),
  format: z.string('text such as "markdown"').optional(),
});

/** Names that other libraries have for the fields of a passage. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  id: ["_id", "docid", "doc_id", "passage_id", "pid", "key"],
  title: ["name", "heading", "headline"],
  text: ["content", "contents", "body", "passage", "document", "page_content", "pageContent"],
};

const passageProblem = (given: unknown, where: string): InputError =>
  itemProblem(passage.safeParse(given).error!, given, where);

function itemProblem(error: z.ZodError, given: unknown, where: string): InputError {
  const { path, message } = error.issues[0]!;
  if (path.length === 0)
    return problem(
      where,
      message,
      shown(given),
      "write { id, title, text }, or readPassages(FILE)",
    );
  const field = path.map(String).join(".");
  const fields = given as Readonly<Record<string, unknown>>;
  const named = typeof fields.id === "string" && fields.id !== "" && ` (id ${excerpt(fields.id)})`;
  const other = SYNONYMS[field]?.find((name) => fields[name] !== undefined);
  const value = path.reduce<unknown>((inner, key) => (inner as typeof fields)[String(key)], fields);
  const got =
    value === undefined
      ? `the fields ${Object.keys(fields).join(", ") || "of nothing"}`
      : shown(value);
  const remedy =
    other && value === undefined ? `rename "${other}" to "${field}"` : remedyFor(value);
  return problem(`${where}${named || ""}`, `"${field}" to be ${message}`, got, remedy);
}

function remedyFor(value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint") return "convert it with String(...)";
  return value === undefined ? "add the field" : "correct the field or leave the passage out";
}

const shown = (given: unknown): string => (given === undefined ? "nothing" : excerpt(given));

const problem = (where: string, expected: string, got: string, remedy: string): InputError =>
  new InputError({ where, expected, got, remedy });

/** The option `filter`: the passages that a search may return. */
export const filterOption = z
  .union(
    [
      z.custom<ReadonlySet<string>>(isIdSet),
      z.custom<(ordinal: number) => boolean>((given) => typeof given === "function"),
    ],
    "a Set of ids or a function of the ordinal (conditions on metadata go in where)",
  )
  .optional();

function isIdSet(given: unknown): boolean {
  const set = given as Partial<ReadonlySet<unknown>> | null;
  if (typeof set !== "object" || set === null || typeof set.has !== "function") return false;
  if (typeof set[Symbol.iterator] !== "function") return false;
  for (const id of set as ReadonlySet<unknown>) if (typeof id !== "string") return false;
  return true;
}

/**
 * @param methods what the caller needs of the index
 * @throws {InputError} unless `given` has these methods and a header, as an open index does
 */
export function checkOpenIndex(given: unknown, methods: readonly string[]): void {
  if (hasMethods(given, methods) && (given as { readonly header?: unknown }).header) return;
  const isPromise = given instanceof Promise;
  const remedy = isPromise
    ? "write await before the call"
    : "open it: await model.openIndex(FOLDER)";
  throw problem("index", "an open index", shown(given), remedy);
}

/** As {@link checkOpenIndex}, of an index or of each of a list. */
export function checkOpenIndexes(given: unknown, methods: readonly string[]): void {
  for (const one of Array.isArray(given) ? given : [given]) checkOpenIndex(one, methods);
}

/**
 * @param methods what the caller needs of the model
 * @throws {InputError} unless `given` has these methods, as a loaded model does
 */
export function checkLoadedModel(given: unknown, methods: readonly string[]): void {
  if (hasMethods(given, methods)) return;
  const isPromise = given instanceof Promise;
  const remedy = isPromise ? "write await before the call" : "load it: await ReAtt.load(MODEL)";
  throw problem("model", "a loaded model", shown(given), remedy);
}

const hasMethods = (given: unknown, methods: readonly string[]): boolean =>
  typeof given === "object" &&
  given !== null &&
  methods.every((name) => typeof (given as Record<string, unknown>)[name] === "function");

/** @throws {InputError} unless `given` is an object */
export function checkObject(given: unknown, where: string, expected: string): void {
  if (typeof given === "object" && given !== null) return;
  throw problem(where, expected, shown(given), "give an object");
}

const ordinal = z.int().gte(0);

/** @throws {InputError} unless `given` is a list of ordinals below `end` */
export function checkOrdinals(given: unknown, end: number): asserts given is readonly number[] {
  checkBelow(given, end, "ordinals", "take ordinals from a search or from entries()");
}

/** @throws {InputError} unless `given` is a list of positions of a passage's `end` token keys */
export function checkPositions(given: unknown, end: number): asserts given is readonly number[] {
  checkBelow(given, end, "positions", `the passage has ${end} token keys`);
}

function checkBelow(given: unknown, end: number, where: string, remedy: string): void {
  if (!Array.isArray(given))
    throw problem(where, `a list of ${where}`, shown(given), "give an array");
  const bad = given.findIndex((value) => !ordinal.safeParse(value).success || value >= end);
  if (bad === -1) return;
  throw problem(`${where}[${bad}]`, `a whole number below ${end}`, shown(given[bad]), remedy);
}

/** @throws {InputError} unless `given` is a list of query vectors, each [tokens, dimension] */
export function checkVectorList(given: unknown, dimension: number): void {
  if (!Array.isArray(given))
    throw problem("questions", "a list of query vectors", shown(given), "give an array");
  for (const [i, vectors] of given.entries()) checkVectors(vectors, dimension, `questions[${i}]`);
}

/** @throws {InputError} unless `given` holds query vectors, [tokens, dimension] */
export function checkVectors(given: unknown, dimension: number, where = "question"): void {
  if (given instanceof Float32Array && given.length > 0 && given.length % dimension === 0) return;
  const got = given instanceof Float32Array ? `${given.length} values` : shown(given);
  const expected = `a Float32Array of [tokens, ${dimension}] values`;
  throw problem(where, expected, got, "take the vectors from encodeQuestions of the model");
}
