/** Documents that a program has as values: entries of a CMS, tickets, pages, rows of a database. */

import { createHash } from "node:crypto";
import { InputError } from "../io/errors.ts";
import { checkedDocuments } from "../options/arguments.ts";
import type { DocumentInput, Passage, PassageInput } from "../text/passage.ts";
import { type SourceFile, valueFile } from "./file/source-file.ts";
import { endingsText, formatOf, isJsonLinesName } from "./formats.ts";
import { countTokens } from "./passages/split.ts";
import {
  PART,
  type ReadDocumentsOptions,
  type ResolvedReadOptions,
  readAs,
  reportSkipped,
  resolveReadOptions,
} from "./read-documents.ts";

const ENDINGS: Readonly<Record<string, string>> = { text: "txt", markdown: "md" };

/**
 * Splits documents into passages, as `readDocuments` does with files. A passage `{ id, title,
 * text }` that the model reads whole stays as it is; a longer one is a document, too.
 *
 * @throws {InputError} for a format that is not read, or content that is damaged.
 *
 * @example
 * ```ts
 * import { splitDocuments } from "reatt";
 *
 * const guide = { id: "guide", content: "# Guide\n\nPress the key.", format: "markdown" };
 * for await (const { id } of splitDocuments([guide])) console.log(id); // guide#1
 * ```
 */
export async function* splitDocuments(
  documents: AsyncIterable<DocumentInput | PassageInput> | Iterable<DocumentInput | PassageInput>,
  given?: ReadDocumentsOptions,
): AsyncGenerator<Passage, void> {
  yield* splitValues(checkedDocuments(documents), resolveReadOptions(given));
}

export async function* splitValues(
  values: AsyncIterable<DocumentInput | Passage>,
  options: SplitOptions,
): AsyncGenerator<Passage, void> {
  for await (const { passages } of valueDocuments(values, options)) yield* passages();
}

type SplitOptions = Omit<ResolvedReadOptions, "onProgress">;

/** A document with what tells whether it changed. Its passages are made when they are read. */
export interface ValueDocument {
  readonly id: string;
  /** SHA-256 of all that it has. Undefined: unknown. */
  readonly hash?: string | undefined;
  passages(): AsyncIterable<Passage>;
}

export async function* valueDocuments(
  values: AsyncIterable<DocumentInput | Passage>,
  options: SplitOptions,
): AsyncGenerator<ValueDocument, void> {
  for await (const value of values) {
    options.signal?.throwIfAborted();
    yield { id: value.id, hash: hashOf(value), passages: () => passagesOf(value, options) };
  }
}

function hashOf(value: DocumentInput | Passage): string {
  const { content, ...fields } = { content: "", ...value };
  return createHash("sha256").update(JSON.stringify(fields)).update(content).digest("hex");
}

async function* passagesOf(
  value: DocumentInput | Passage,
  options: SplitOptions,
): AsyncGenerator<Passage, void> {
  if ("content" in value) yield* passagesOfValue(value, options);
  else if (isWhole(value, options)) yield value;
  else {
    const { document = value.id, text: content, ...shared } = value;
    for await (const passage of passagesOfValue({ ...shared, content }, options))
      yield { ...passage, document };
  }
}

const isWhole = (
  passage: Passage,
  options: Pick<ResolvedReadOptions, "tokenizer" | "maxPassageTokens">,
): boolean => countTokens(passage.title, passage.text, options) <= options.maxPassageTokens;

const noFormat = (
  where: string,
  format: string,
  { readers }: Pick<ResolvedReadOptions, "readers">,
): InputError =>
  new InputError({
    where: `the format of document ${where}`,
    expected: `text, markdown, or an ending of ${endingsText(readers)}, and no JSON Lines`,
    got: format,
    remedy: "convert it, or give each record as a document",
  });

async function* passagesOfValue(
  { id, title, content, format = "text", metadata }: DocumentInput,
  options: SplitOptions,
): AsyncGenerator<Passage, void> {
  const name = `x.${ENDINGS[format] ?? format}`;
  const reader = formatOf(name, options.readers);
  if (!reader || isJsonLinesName(name)) throw noFormat(id, format, options);
  const report: SourceFile["report"] = (problem, isDamage = false) =>
    reportSkipped({ ...PART, file: id, problem, isDamage }, options);
  const file = valueFile(id, content, { ...options, report });
  yield* readAs(reader, file, options, { title, metadata });
}
