/**
 * Asks the questions about documents of a set with texts, each in an index of its genre, as
 * asked.ts asks those about paragraphs. Those of kind `none` have no answer in it.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  asksForText,
  hasEvidence,
  judge,
  type Question,
} from "../../benchmarks/document-questions/judge.ts";
import { readDocuments } from "../../src/documents/read-documents.ts";
import { openAppendFile } from "../../src/io/append-file.ts";
import type { Passage } from "../../src/text/passage.ts";
import { loadTokenizer } from "../../src/text/tokens/tokenizer.ts";
import { type Asked, askOne, openSearched, type Searched } from "./asked.ts";
import { keptLines } from "./kept-lines.ts";

interface Documents {
  readonly model: string;
  /** A set that `benchmarks/document-questions/unpack.py` wrote. */
  readonly folder: string;
  /** Keeps the indexes and what was asked: the same call continues. */
  readonly work: string;
}

type FiledQuestion = Question & { readonly file: string };

export async function askedDocuments(documents: Documents): Promise<Asked[]> {
  const file = await readFile(join(documents.folder, "questions.jsonl"), "utf8");
  const questions = file
    .trimEnd()
    .split("\n")
    .map((line): FiledQuestion => JSON.parse(line));
  const all: Asked[] = [];
  for (const genre of new Set(questions.map((question) => question.genre))) {
    const own = questions.filter((question) => question.genre === genre);
    all.push(...(await askedGenre(genre, own, documents)));
  }
  return all;
}

async function askedGenre(
  genre: string,
  questions: readonly FiledQuestion[],
  { model, folder, work }: Documents,
): Promise<Asked[]> {
  const record = join(work, `asked-documents-${genre}.jsonl`);
  const asked = await keptLines<Asked>(record);
  if (asked.length === questions.length) return asked;
  const passages = new Map<string, Passage>();
  const tokenizer = await loadTokenizer(join(model, "spiece.model"));
  for await (const passage of readDocuments(join(folder, "documents", genre), { tokenizer }))
    passages.set(passage.id, passage);
  await using searched = await openSearched([...passages.values()], genre, { model, work });
  await using file = await openAppendFile(record);
  for (const question of questions.slice(asked.length)) {
    const line = await ask(searched, question, passages);
    await file.append(`${JSON.stringify(line)}\n`);
    asked.push(line);
  }
  return asked;
}

async function ask(
  searched: Searched,
  question: FiledQuestion,
  passages: ReadonlyMap<string, Passage>,
): Promise<Asked> {
  const { kind, evidence, file: group } = question;
  const one = await askOne(searched, question.question, {
    isRight(reply) {
      const { inside, source } = judge(question, reply);
      return asksForText(kind) ? inside : source;
    },
    isRelevant(id) {
      const { title, text } = passages.get(id)!;
      return evidence.some((part) => hasEvidence(`${title}\n${text}`, part));
    },
  });
  const condition = kind === "none" ? "near passages" : "answerable";
  return { set: "documents", group, condition, ...one };
}
