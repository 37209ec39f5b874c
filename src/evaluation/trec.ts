/**
 * Runs and relevance qrels as files: TREC's (https://github.com/usnistgov/trec_eval, README) and BEIR's
 * (https://github.com/beir-cellar/beir). Columns are separated by blanks or tabs.
 */

import { open } from "node:fs/promises";
import { InputError } from "../io/errors.ts";
import type { Qrels, Run } from "./ranking.ts";

/**
 * Qrels: `query 0 passage label` (TREC) or `query passage label` (BEIR, whose first line may be a header). Labels are whole
 * numbers. A judgement may be repeated, not contradicted.
 *
 * @throws {InputError} with file and line.
 */
export async function readQrels(file: string): Promise<Qrels> {
  const qrels = new Map<string, Map<string, number>>();
  let columns = 0;
  for await (const { line, fields } of readRows(file, "relevance qrels")) {
    const where = `${file}:${line}`;
    const [query, label] = [fields[0]!, fields.at(-1)!];
    const passage = fields.at(-2)!;
    const isLabel = /^[+-]?\d+$/.test(label);
    if (columns === 0) {
      columns = fields.length === 3 ? 3 : 4;
      if (columns === 3 && !isLabel) continue; // BEIR's header
    }
    if (fields.length !== columns)
      throw columnProblem(where, columns === 3 ? BEIR_COLUMNS : TREC_COLUMNS, fields);
    if (!isLabel)
      throw problem(
        where,
        "a whole number as label",
        `"${label}"`,
        "write 0 for not relevant, 1 or more for relevant",
      );
    const labels = entry(qrels, query);
    const known = labels.get(passage);
    if (known !== undefined && known !== Number(label)) {
      throw problem(
        where,
        `label ${known} for ${query} and ${passage}, as above`,
        label,
        "keep one of the two lines",
      );
    }
    labels.set(passage, Number(label));
  }
  if (qrels.size === 0)
    throw problem(file, "relevance qrels", "none", `write ${TREC_COLUMNS} a line`);
  return qrels;
}

/**
 * A run: `query Q0 passage rank score tag`. Ranks are not read: scores decide, as in trec_eval.
 *
 * @throws {InputError} with file and line; also where a passage is there twice for a query.
 */
export async function readRun(file: string): Promise<Run> {
  const run = new Map<string, Map<string, number>>();
  for await (const { line, fields } of readRows(file, "a TREC run")) {
    const where = `${file}:${line}`;
    if (fields.length !== 6) throw columnProblem(where, RUN_COLUMNS, fields);
    const [query, , passage, , text] = fields as [string, string, string, string, string, string];
    const score = Number(text);
    if (!Number.isFinite(score))
      throw problem(where, "a number as score", `"${text}"`, "write a finite number");
    const scores = entry(run, query);
    if (scores.has(passage))
      throw problem(
        where,
        `a passage once for ${query}`,
        `${passage} again`,
        "leave one of them out",
      );
    scores.set(passage, score);
  }
  if (run.size === 0) throw problem(file, "a TREC run", "no line", `write ${RUN_COLUMNS} a line`);
  return new Map(
    [...run].map(([query, scores]) => [
      query,
      Array.from(scores, ([id, score]) => ({ id, score })),
    ]),
  );
}

const TREC_COLUMNS = '"query 0 passage label"';
const BEIR_COLUMNS = '"query passage label"';
const RUN_COLUMNS = '"query Q0 passage rank score tag"';

/** The lines of a table that are not blank, counted from 1. */
async function* readRows(
  file: string,
  what: string,
): AsyncGenerator<{ line: number; fields: string[] }, void> {
  let line = 0;
  try {
    await using handle = await open(file);
    for await (const text of handle.readLines()) {
      line++;
      const fields = text
        .replace(/^\ufeff/, "")
        .trim()
        .split(/\s+/);
      if (fields[0] !== "") yield { line, fields };
    }
  } catch (error) {
    if (error instanceof InputError || !(error as NodeJS.ErrnoException).syscall) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const got = {
      ENOENT: "no such file",
      EISDIR: "a directory",
      EACCES: "no permission to read it",
    }[code!];
    throw new InputError(
      { where: file, expected: `a file of ${what}`, got: got ?? message, remedy: "check the path" },
      { cause: error },
    );
  }
}

function entry(table: Map<string, Map<string, number>>, query: string): Map<string, number> {
  const known = table.get(query);
  if (known) return known;
  const added = new Map<string, number>();
  table.set(query, added);
  return added;
}

function columnProblem(where: string, expected: string, fields: readonly string[]): InputError {
  return problem(
    where,
    expected,
    `${fields.length} column${fields.length === 1 ? "" : "s"}`,
    "check the file's form",
  );
}

function problem(where: string, expected: string, got: string, remedy: string): InputError {
  return new InputError({ where, expected, got, remedy });
}
