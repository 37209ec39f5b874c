/**
 * Reads corpora and questions in the format of BEIR (https://github.com/beir-cellar/beir) and
 * similar formats.
 */

import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { readJsonLines } from "../io/json/json-lines.ts";
import { createIdTable } from "./id-table.ts";
import type { Passage } from "./passage.ts";
import { recordFields } from "./record-fields.ts";

/** A question of a training or evaluation file. */
export interface Question {
  /** Unique among the questions. */
  readonly id: string;
  /** The text of the question. */
  readonly question: string;
  /** Accepted answers; each of them is correct. */
  readonly answers?: readonly string[];
  /** The passage that the question was asked about. */
  readonly passageId?: string;
  /** Sets of pages (documents); each set supports an accepted answer (KILT). */
  readonly provenance?: readonly (readonly string[])[];
}

/**
 * Reads the passages of a JSON Lines file, plain or gzip, one at a time.
 *
 * Each line has `_id` or `id`, `text`, and optionally `title`, `document` (the id of the document)
 * and `metadata` (an object). Ids may be numbers. `text` may be empty: BEIR's corpora contain such
 * passages. Other fields are metadata too; of two with one name, that in `metadata` counts.
 * Metadata that is not text, a number, true, false or a list of these is left out.
 *
 * @throws {InputError} with file and line: a field is missing or not text, an id is repeated, or
 * the file has no passage.
 *
 * @example
 * ```ts
 * import { readPassages } from "reatt";
 *
 * for await (const { id, title, text } of readPassages("data/squad/corpus.jsonl")) {
 *   console.log(id, title, text.length);
 *   break; // leaving the loop closes the file
 * }
 * ```
 */
export async function* readPassages(
  file: string,
  signal?: AbortSignal,
): AsyncGenerator<Passage, void> {
  for await (const { passage } of readPassageLines(file, signal)) yield passage;
}

/** A passage and the byte offset of its line (of a gzip file, in the decompressed text). */
export interface PassageLine {
  readonly passage: Passage;
  readonly offset: number;
}

/** Reads passages as {@link readPassages} does, each with its offset. */
export async function* readPassageLines(
  file: string,
  signal?: AbortSignal,
): AsyncGenerator<PassageLine, void> {
  for await (const { record, where, id, offset } of readRecords(file, "passage", signal))
    yield { passage: passageOf(record, id, where), offset };
}

/** The passage of one JSON value. @throws {InputError} if a field is missing or not text. */
export function parsePassage(value: unknown, where: string): Passage {
  const record = asObject(value, where);
  return passageOf(record, idOf(record, "passage", where), where);
}

function passageOf(record: JsonObject, id: string, where: string): Passage {
  const document = optionalId(record, "document", where);
  const { document: _, ...others } = record;
  const { metadata } = recordFields(others);
  return {
    id,
    title: optional(record, "title", where) ?? "",
    text: required(record, ["text"], where),
    ...(document !== undefined && { document }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/**
 * Reads the questions of a JSON Lines file, plain or gzip.
 *
 * Each line has `_id` and `text` (BEIR), or `id` and `question`, and optionally `answers` or
 * `answer` (a text or a list of texts), `passage_id` and `provenance`, a list of lists of pages. A
 * question without an id has its number, from 1.
 *
 * @throws {InputError} as {@link readPassages} does, and if a question is empty.
 *
 * @example
 * ```ts
 * import { mkdtemp, writeFile } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { readQuestions } from "reatt";
 *
 * const file = join(await mkdtemp(join(tmpdir(), "reatt-")), "questions.jsonl");
 * await writeFile(file, '{"id":"q1","question":"Who wrote Faust?","answers":["Goethe"]}\n');
 * const questions = await readQuestions(file);
 * console.log(questions[0]?.question, questions[0]?.answers);
 * ```
 */
export async function readQuestions(file: string, signal?: AbortSignal): Promise<Question[]> {
  const questions: Question[] = [];
  for await (const { record, where, id } of readRecords(file, "question", signal)) {
    const question = required(record, ["text", "question"], where);
    if (question.trim() === "")
      throw problem(where, "a question", "an empty one", "write one or remove the line");
    const answers = optionalAnswers(record, where);
    const passageId = identifier(record.passage_id);
    const provenance = optionalProvenance(record, where);
    questions.push({
      id,
      question,
      ...(answers && { answers }),
      ...(passageId && { passageId }),
      ...(provenance && { provenance }),
    });
  }
  return questions;
}

type JsonObject = Readonly<Record<string, unknown>>;

interface IdentifiedRecord {
  readonly record: JsonObject;
  /** `FILE:LINE`. */
  readonly where: string;
  readonly id: string;
  /** Bytes before the line. */
  readonly offset: number;
}

/**
 * Reads JSON objects with unique ids. A question without one has its number, as in training files.
 *
 * @param noun names the objects in errors
 */
async function* readRecords(
  file: string,
  noun: "passage" | "question",
  signal?: AbortSignal,
): AsyncGenerator<IdentifiedRecord, void> {
  checkFile(file, signal);
  const table = createIdTable();
  let count = 0;
  for await (const { line, offset, where, value } of readJsonLines(file, signal)) {
    const record = asObject(value, where);
    count++;
    const isNumbered = noun === "question" && (record._id ?? record.id ?? null) === null;
    const id = isNumbered ? String(count) : idOf(record, noun, where);
    const firstLine = table.firstLine(id, line);
    if (firstLine !== line) {
      const got = `"${id}" of line ${firstLine} again`;
      throw problem(where, "a new id", got, `give every ${noun} an id of its own`);
    }
    yield { record, where, id, offset };
  }
  if (count === 0) throw problem(file, `at least one ${noun}`, "none", `write one ${noun} a line`);
}

/** Checks what callers in JavaScript may give. */
function checkFile(file: unknown, signal: unknown): void {
  if (typeof file !== "string" || file === "" || file.includes("\0"))
    throw problem("file", "the path of a JSON Lines file", excerpt(file), "give its path");
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw problem("signal", "an AbortSignal", excerpt(signal), "give one or leave it out");
}

function idOf(record: JsonObject, noun: string, where: string): string {
  const id = identifier(record._id) ?? identifier(record.id);
  if (id === undefined) {
    const expected = '"_id" or "id" with text or a number';
    throw problem(where, expected, shortJson(record._id ?? record.id), `name the ${noun}`);
  }
  if (!/\p{Surrogate}/u.test(id)) return id;
  const remedy = "write the id in ASCII";
  throw problem(where, "an id of Unicode text", `${shortJson(id)}, a lone surrogate`, remedy);
}

function asObject(value: unknown, where: string): JsonObject {
  if (isObject(value)) return value;
  throw problem(where, "a JSON object", shortJson(value), "write one JSON object a line");
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function identifier(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The text of the first of the named fields that exists. */
function required(record: JsonObject, names: readonly string[], where: string): string {
  const value = names.map((name) => record[name]).find((found) => found !== undefined);
  if (typeof value === "string") return value;
  const expected = `${names.map((name) => `"${name}"`).join(" or ")} with text`;
  throw problem(where, expected, shortJson(value), "add the field");
}

function optional(record: JsonObject, name: string, where: string): string | undefined {
  const value = record[name] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw problem(where, `text as "${name}"`, shortJson(value), "write it in quotes or remove it");
}

function optionalId(record: JsonObject, name: string, where: string): string | undefined {
  const value = record[name] ?? undefined;
  const id = identifier(value);
  if (id !== undefined || value === undefined) return id;
  throw problem(where, `"${name}" with text or a number`, shortJson(value), "correct or remove it");
}

function optionalAnswers(record: JsonObject, where: string): readonly string[] | undefined {
  const value = record.answers ?? record.answer ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === "string") return [value];
  if (Array.isArray(value) && value.every((answer) => typeof answer === "string")) return value;
  throw problem(
    where,
    '"answers" as a text or a list of texts',
    shortJson(value),
    "write a list or remove it",
  );
}

function optionalProvenance(
  { provenance = null }: JsonObject,
  where: string,
): readonly (readonly string[])[] | undefined {
  if (provenance === null) return undefined;
  const isPages = (value: unknown): value is readonly string[] =>
    Array.isArray(value) && value.every((page) => typeof page === "string");
  if (Array.isArray(provenance) && provenance.every(isPages)) return provenance;
  const expected = '"provenance" as a list of lists of pages';
  throw problem(where, expected, shortJson(provenance), 'write [["PAGE"]] or remove it');
}

function shortJson(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`;
}

function problem(where: string, expected: string, got: string, remedy: string): InputError {
  return new InputError({ where, expected, got, remedy });
}
