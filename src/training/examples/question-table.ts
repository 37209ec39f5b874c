/** Training files that are tables: CSV or TSV, plain or gzip. The first row names columns. */

import { realpath } from "node:fs/promises";
import { basename } from "node:path";
import { sourceFile } from "../../documents/file/source-file.ts";
import { readRows } from "../../documents/readers/table.ts";
import { inputErrorFrom } from "../../io/errors.ts";
import type { JsonRecord } from "../../io/json/json-lines.ts";
import { hasQuestion } from "./question-records.ts";

/** The columns of MS MARCO's triples, whose file does not name them. */
const TRIPLE = ["query", "positive", "negative"];
/** Those of DPR's `nq-dev.qa.csv`, whose columns are divided by tabs. */
const PAIR = ["question", "answers"];

export const isTable = (file: string): boolean => /\.[ct]sv(\.gz)?$/i.test(file);

/**
 * The rows as records of a training file (`readTrainingFile`). A cell is a text, or a list of texts
 * in JSON. Blank cells count as missing. A file of three columns without their names, whose first
 * row has only texts of several words, has a query, a relevant and another passage in each; one of
 * two columns whose second cell is a list, a question and its answers (DPR).
 *
 * @throws {InputError} if the file cannot be read, has over 64 MiB or has a damaged row
 */
export async function* readQuestionRows(
  file: string,
  signal?: AbortSignal,
): AsyncGenerator<JsonRecord, void> {
  const path = await realpath(file).catch((error: unknown) => {
    throw inputErrorFrom(error, { where: file, expected: "a table", remedy: "check the path" });
  });
  let isFirst = true;
  for await (const { names, values, lines } of readRows(sourceFile(path, basename(file)))) {
    signal?.throwIfAborted();
    const unnamed = isTriple(names) ? TRIPLE : isPair(names) ? PAIR : undefined;
    const columns = unnamed ?? names;
    if (isFirst && unnamed) yield { where: `${file}:1`, value: recordOf(columns, names) };
    isFirst = false;
    yield { where: `${file}:${lines[0]}`, value: recordOf(columns, values) };
  }
}

const isTriple = (first: readonly string[]): boolean =>
  first.length === TRIPLE.length &&
  !hasQuestion(first) &&
  first.every((cell) => /\S\s+\S/u.test(cell.trim()));

const isPair = (first: readonly string[]): boolean =>
  first.length === PAIR.length && !hasQuestion(first) && Array.isArray(cellOf(first[1]!.trim()));

function recordOf(names: readonly string[], values: readonly string[]): Record<string, unknown> {
  const cells = values.flatMap((value, i) => {
    const name = names[i];
    return name === undefined || value.trim() === "" ? [] : [[name, cellOf(value.trim())] as const];
  });
  return Object.fromEntries(cells);
}

/** `["a", "b"]` is a list, also as Python writes it: `['a', "b"]`. Anything else is a text. */
function cellOf(cell: string): unknown {
  if (!cell.startsWith("[")) return cell;
  try {
    const list: unknown = JSON.parse(cell);
    return Array.isArray(list) ? list : cell;
  } catch {
    return PYTHON_LIST.test(cell)
      ? [...cell.matchAll(PYTHON_TEXTS)].map(([text]) => unquoted(text))
      : cell;
  }
}

const PYTHON_TEXT = String.raw`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`;
const PYTHON_TEXTS = new RegExp(PYTHON_TEXT, "gs");
const PYTHON_LIST = new RegExp(`^\\[(?:(?:${PYTHON_TEXT})(?:, |(?=\\]$)))+\\]$`, "s");
const PYTHON_ESCAPE = /\\(?:x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8})|(.))/gis;
const PYTHON_CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** The text that Python's `repr` stands for. */
const unquoted = (repr: string): string =>
  repr.slice(1, -1).replace(PYTHON_ESCAPE, (_, x, u, U, other: string) => {
    const code = x ?? u ?? U;
    return code === undefined
      ? (PYTHON_CONTROLS[other] ?? other)
      : String.fromCodePoint(Math.min(0x10ffff, Number.parseInt(code, 16)));
  });
