/** Questions with answers in a table: CSV or TSV, plain or gzip. The first row names columns. */

import { realpath } from "node:fs/promises";
import { basename } from "node:path";
import { readRows } from "../../documents/readers/table.ts";
import { sourceFile } from "../../documents/source-file.ts";
import { inputErrorFrom } from "../../io/errors.ts";
import type { JsonRecord } from "../../io/json-lines.ts";

/** The columns that are read. Their case does not matter; other columns are left out. */
const COLUMNS = ["id", "_id", "question", "answers", "passage_id"];

export const isTable = (file: string): boolean => /\.[ct]sv(\.gz)?$/i.test(file);

/**
 * The rows as records of a training file (`readTrainingFile`). `answers`, or `answer`, is one
 * answer or a list of answers in JSON. Blank cells count as missing.
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
  for await (const { names, values, lines } of readRows(sourceFile(path, basename(file)))) {
    signal?.throwIfAborted();
    const cells = new Map<string, unknown>();
    for (const [i, value] of values.entries()) {
      const name = columnOf(names[i] ?? "");
      if (COLUMNS.includes(name) && value.trim() !== "")
        cells.set(name, name === "answers" ? answersOf(value) : value.trim());
    }
    yield { where: `${file}:${lines[0]}`, value: Object.fromEntries(cells) };
  }
}

function columnOf(name: string): string {
  const column = name.toLowerCase();
  return column === "answer" ? "answers" : column;
}

/** `["a", "b"]` is a list; any other text is one answer. */
function answersOf(cell: string): unknown {
  if (!cell.trim().startsWith("[")) return [cell.trim()];
  try {
    return JSON.parse(cell);
  } catch {
    return [cell.trim()];
  }
}
