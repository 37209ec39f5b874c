/**
 * Reads runs and qrels in the formats of TREC (https://github.com/usnistgov/trec_eval, README) and
 * BEIR (https://github.com/beir-cellar/beir). Tabs separate the columns of a line that has the
 * right number of them, so that ids can have spaces and quotation marks around them; else spaces
 * and tabs do.
 */

import { InputError } from "../io/errors.ts";
import { readTextLines } from "../io/text-file.ts";
import { checkPath } from "../options/arguments.ts";
import type { Qrels, RetrievalRun } from "./ranking.ts";

const TREC_COLUMNS = '"query 0 passage label"';
const BEIR_COLUMNS = '"query passage label"';
const RUN_COLUMNS = '"query Q0 passage rank score tag"';

/**
 * Reads qrels: `query 0 passage label` (TREC) or `query passage label` (BEIR, optionally with a
 * header line). Labels are numbers; above 0 is relevant. A line may be repeated with the same
 * label.
 *
 * @throws {InputError} with file and line.
 *
 * @example
 * ```ts
 * import { mkdtemp, writeFile } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { readQrels } from "reatt/evaluation";
 *
 * const file = join(await mkdtemp(join(tmpdir(), "reatt-")), "qrels.tsv");
 * await writeFile(file, "query-id\tcorpus-id\tscore\nq1\ta\t1\n");
 * console.log((await readQrels(file)).get("q1")?.get("a")); // 1
 * ```
 */
export async function readQrels(file: string): Promise<Qrels> {
  checkPath(file, "file");
  const qrels = new Map<string, Map<string, number>>();
  let columns = 0;
  for await (const { where, fields } of readRows(file, "relevance qrels", isJudgement)) {
    if (columns === 0) {
      columns = fields.length === 3 ? 3 : 4;
      if (isHeader(fields)) continue;
    }
    if (fields.length !== columns)
      throw columnProblem(where, columns === 3 ? BEIR_COLUMNS : TREC_COLUMNS, fields);
    addLabel(qrels, where, fields);
  }
  if (qrels.size === 0)
    throw problem(file, "relevance qrels", "none", `write ${TREC_COLUMNS} a line`);
  return qrels;
}

const isLabel = (text: string): boolean => /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(text);

/** Names of columns: BEIR's, or those of TREC's format. */
const isHeader = (fields: readonly string[]): boolean =>
  /^"?(?:(?:query|topic|q)[-_ ]?(?:id|no)|query|topic)"?$/i.test(fields[0]!) &&
  !isLabel(fields.at(-1)!);

const isJudgement = (fields: readonly string[]): boolean =>
  (fields.length === 3 || fields.length === 4) && isLabel(fields.at(-1)!);

const isResult = (fields: readonly string[]): boolean => fields.length === 6;

function addLabel(
  qrels: Map<string, Map<string, number>>,
  where: string,
  fields: readonly string[],
): void {
  const [query, passage, text] = [fields[0]!, fields.at(-2)!, fields.at(-1)!];
  if (!isLabel(text)) {
    const remedy = "write 0 for not relevant, more for relevant";
    throw problem(where, "a number as label", `"${text}"`, remedy);
  }
  const label = Number(text);
  const labels = entry(qrels, query);
  const known = labels.get(passage);
  if (known !== undefined && known !== label) {
    const expected = `label ${known} for ${query} and ${passage}, as above`;
    throw problem(where, expected, text, "keep one of the two lines");
  }
  labels.set(passage, label);
}

/**
 * Reads a run: `query Q0 passage rank score tag`. As in trec_eval, the scores define the ranking
 * and the ranks are ignored.
 *
 * @throws {InputError} with file and line; also if a query has a passage twice.
 *
 * @example
 * ```ts
 * import { mkdtemp, writeFile } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { readRun } from "reatt/evaluation";
 *
 * const file = join(await mkdtemp(join(tmpdir(), "reatt-")), "run.trec");
 * await writeFile(file, "q1 Q0 a 1 0.5 reatt\n");
 * console.log((await readRun(file)).get("q1")); // [ { id: 'a', score: 0.5 } ]
 * ```
 */
export async function readRun(file: string): Promise<RetrievalRun> {
  checkPath(file, "file");
  const run = new Map<string, Map<string, number>>();
  for await (const { where, fields } of readRows(file, "a TREC run", isResult)) {
    if (fields.length !== 6) throw columnProblem(where, RUN_COLUMNS, fields);
    const [query, , passage, , text] = fields as [string, string, string, string, string, string];
    const score = Number(text);
    if (!Number.isFinite(score))
      throw problem(where, "a number as score", `"${text}"`, "write a finite number");
    const scores = entry(run, query);
    if (scores.has(passage)) {
      const expected = `a passage once for ${query}`;
      throw problem(where, expected, `${passage} again`, "remove one of the lines");
    }
    scores.set(passage, score);
  }
  if (run.size === 0) throw problem(file, "a TREC run", "no line", `write ${RUN_COLUMNS} a line`);
  const results = (scores: ReadonlyMap<string, number>) =>
    Array.from(scores, ([id, score]) => ({ id, score }));
  return new Map([...run].map(([query, scores]) => [query, results(scores)]));
}

interface Row {
  /** `FILE:LINE`. */
  readonly where: string;
  readonly fields: string[];
}

/** The rows of a table without blank lines. */
async function* readRows(
  file: string,
  what: string,
  isComplete: (fields: readonly string[]) => boolean,
): AsyncGenerator<Row, void> {
  for await (const { where, text } of readTextLines(file, `a file of ${what}`)) {
    const byTabs = text.split("\t").map((field) => unquoted(field.trim()));
    const fields = isComplete(byTabs) ? byTabs : text.trim().split(/\s+/);
    if (fields[0] !== "") yield { where, fields };
  }
}

/** `"a ""b"""` -> `a "b"` */
const unquoted = (field: string): string =>
  /^"(?:[^"]|"")*"$/.test(field) ? field.slice(1, -1).replaceAll('""', '"') : field;

function entry(table: Map<string, Map<string, number>>, query: string): Map<string, number> {
  const known = table.get(query);
  if (known) return known;
  const added = new Map<string, number>();
  table.set(query, added);
  return added;
}

function columnProblem(where: string, expected: string, fields: readonly string[]): InputError {
  const got = `${fields.length} column${fields.length === 1 ? "" : "s"}`;
  return problem(where, expected, got, "check the format of the file");
}

function problem(where: string, expected: string, got: string, remedy: string): InputError {
  return new InputError({ where, expected, got, remedy });
}
