/** Corpora and question files in the BEIR form (https://github.com/beir-cellar/beir), and close relatives of it. */

import { InputError } from "../io/errors.ts";
import { type JsonLine, readJsonLines } from "../io/json-lines.ts";
import { createIdTable } from "./id-table.ts";
import type { Passage } from "./passage.ts";

/** A question of a file, with what a training or evaluation file also knows about it. */
export interface Question {
  readonly id: string;
  readonly question: string;
  /** Accepted answers, aliases of one another. */
  readonly answers?: readonly string[];
  /** The passage that the question was asked about. */
  readonly passageId?: string;
}

/**
 * Passages of a JSON Lines file with `_id` or `id`, `text` and, where there is one, `title`; other fields are ignored. A number
 * as id is read as its digits. A passage without text is a passage: BEIR's corpora have some, and their ids count.
 *
 * @throws {InputError} with file and line: a field is missing or no text, an id is there twice, or there is no passage at all.
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

const passageOf = (record: JsonObject, id: string, where: string): Passage => ({
  id,
  title: optional(record, "title", where) ?? "",
  text: required(record, ["text"], where),
});

/**
 * Questions of a JSON Lines file with `_id` and `text`, or `id` and `question`, and optionally `answers` and `passage_id`.
 *
 * @throws {InputError} as {@link readPassages} does, and for a question that is empty.
 */
export async function readQuestions(file: string, signal?: AbortSignal): Promise<Question[]> {
  const questions: Question[] = [];
  for await (const { record, where, id } of readRecords(file, "question", signal)) {
    const question = required(record, ["text", "question"], where);
    if (question.trim() === "")
      throw problem(where, "a question", "an empty one", "write one or leave the line out");
    const answers = optionalAnswers(record, where);
    const passageId = identifier(record.passage_id);
    questions.push({ id, question, ...(answers && { answers }), ...(passageId && { passageId }) });
  }
  return questions;
}

type JsonObject = Readonly<Record<string, unknown>>;

async function* readRecords(
  file: string,
  noun: string,
  signal?: AbortSignal,
): AsyncGenerator<{ record: JsonObject; where: string; id: string; offset: number }, void> {
  const table = createIdTable();
  let empty = true;
  for await (const { line, offset, value } of readJsonLines(file, signal)) {
    const where = `${file}:${line}`;
    const record = asObject(value, where);
    const id = idOf(record, noun, where);
    const firstLine = table.firstLine(id, line);
    if (firstLine !== line) {
      throw problem(
        where,
        "a new id",
        `"${id}" of line ${firstLine} again`,
        `give every ${noun} an id of its own`,
      );
    }
    empty = false;
    yield { record, where, id, offset };
  }
  if (empty) throw problem(file, `at least one ${noun}`, "none", `write one ${noun} a line`);
}

function idOf(record: JsonObject, noun: string, where: string): string {
  const id = identifier(record._id) ?? identifier(record.id);
  if (id !== undefined) return id;
  throw problem(
    where,
    '"_id" or "id" with text or a number',
    excerpt(record._id ?? record.id),
    `name the ${noun}`,
  );
}

function asObject(value: JsonLine["value"], where: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw problem(where, "a JSON object", excerpt(value), "write one JSON object a line");
}

function identifier(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The first of the named fields that is there. */
function required(record: JsonObject, names: readonly string[], where: string): string {
  const value = names.map((name) => record[name]).find((found) => found !== undefined);
  if (typeof value === "string") return value;
  const expected = `${names.map((name) => `"${name}"`).join(" or ")} with text`;
  throw problem(where, expected, excerpt(value), "add the field");
}

function optional(record: JsonObject, name: string, where: string): string | undefined {
  const value = record[name] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw problem(where, `text as "${name}"`, excerpt(value), "write it in quotes or leave it out");
}

function optionalAnswers(record: JsonObject, where: string): readonly string[] | undefined {
  const value = record.answers ?? undefined;
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((answer) => typeof answer === "string")) return value;
  throw problem(
    where,
    '"answers" as a list of texts',
    excerpt(value),
    "write a list or leave it out",
  );
}

function excerpt(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`;
}

function problem(where: string, expected: string, got: string, remedy: string): InputError {
  return new InputError({ where, expected, got, remedy });
}
