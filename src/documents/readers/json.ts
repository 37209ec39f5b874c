/** JSON and JSON Lines: each object of a list is a document. */

import { InputError } from "../../io/errors.ts";
import { readJsonLines } from "../../io/json-lines.ts";
import { parseJson } from "../../io/parse-json.ts";
import type { Document } from "../document.ts";
import type { SourceFile } from "../source-file.ts";
import { type Fields, linesOf, recordDocument } from "./record.ts";

/** Values of a file; it bounds the memory to about 1 GB. */
const MAX_VALUES = 5_000_000;

export async function* readJson(file: SourceFile): AsyncGenerator<Document> {
  const value = parse(await file.text(), file.path);
  if (Array.isArray(value) && value.some(isObject))
    for (const [i, one] of value.entries()) yield jsonDocument(one, String(i + 1));
  else yield { ...jsonDocument(value, ""), record: undefined };
}

export async function* readJsonLinesFile(file: SourceFile): AsyncGenerator<Document> {
  for await (const { line, value } of readJsonLines(file.path))
    yield jsonDocument(value, String(line), line);
}

const jsonDocument = (value: unknown, record: string, line?: number): Document =>
  recordDocument(isObject(value) ? value : { text: linesOf(value) }, record, line);

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parse(text: string, where: string): unknown {
  try {
    return parseJson(text, where, MAX_VALUES);
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    throw new InputError(
      {
        where,
        expected: "JSON",
        got: cause instanceof Error ? cause.message : String(cause),
        remedy: "check that the file is complete",
      },
      { cause },
    );
  }
}
