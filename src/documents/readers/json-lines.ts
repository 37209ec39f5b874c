/** JSON Lines: each line is a document. They are streamed, so a file may have any size. */

import { InputError } from "../../io/errors.ts";
import { type JsonLine, readJsonLines } from "../../io/json/json-lines.ts";
import { parseRecords } from "../../io/json/parse-json.ts";
import { openRegularFile, type SourceFile } from "../file/source-file.ts";
import type { Document } from "../tree/document.ts";
import { valueDocument } from "./record.ts";
import { RecordIds } from "./record-ids.ts";

/** A file that begins with so many lines that are not JSON is no file of JSON Lines. */
const MAX_FIRST = 10;
/** Lines that are named one by one. */
const MAX_NAMED = 10;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  await (await openRegularFile(file.path)).close(); // a pipe would wait for its writer
  const values = jsonLinesOf(file.path, file.report, file.signal);
  const ids = new RecordIds();
  for await (const { line, value } of values) {
    file.budget.renew();
    yield valueDocument(value, { name: `line ${line}`, line }, ids, file.budget);
    await file.budget.pause();
  }
  ids.report(file.path, file.report);
}

/**
 * The values of JSON Lines. Lines that are not JSON are left out and reported.
 *
 * @throws {InputError} if the first ten lines are not JSON
 */
export async function* jsonLinesOf(
  path: string,
  report: SourceFile["report"],
  signal: AbortSignal | undefined,
): AsyncGenerator<JsonLine, void> {
  let [read, defective] = [0, 0];
  const first: InputError[] = [];
  const skip = (problem: InputError): void => {
    if (++defective <= MAX_NAMED) first.push(problem);
    if (read === 0 && defective === MAX_FIRST) throw first[0]!;
    if (read > 0) for (const one of first.splice(0)) report(one, true);
  };
  for await (const line of readJsonLines(path, signal, skip, parseRecords)) {
    read++;
    for (const one of first.splice(0)) report(one, true);
    yield line;
  }
  if (read === 0 && first[0]) throw first[0];
  if (defective > MAX_NAMED) report(moreDefective(path, defective - MAX_NAMED), true);
}

const moreDefective = (where: string, count: number): InputError =>
  new InputError({
    where,
    expected: "one JSON object a line",
    got: `${count} more lines that are not JSON, which are left out`,
    remedy: "check how the file was written",
  });
