/** What the core reads documents with: `reatt/documents`, loaded when it is used. */

import type { ReadDocumentsOptions } from "../documents/read-documents.ts";
import type { DocumentInput, Passage, PassageInput } from "../text/passage.ts";

/**
 * Reads the documents of a folder or of a file, or of standard input (`"-"`), and splits them into
 * passages: `readDocuments` of `reatt/documents`.
 *
 * @throws {InputError} if the file cannot be read, or the folder has no document.
 *
 * @example
 * ```ts
 * import { ReAtt, readDocuments } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const { tokenizer } = model; // counts tokens, so that no passage is too long
 * for await (const { id, title } of readDocuments("docs/INDEX.md", { tokenizer })) {
 *   console.log(id, title); // docs/INDEX.md#1 Index and search
 *   break;
 * }
 * ```
 */
export async function* readDocuments(
  source: string,
  options?: ReadDocumentsOptions,
): AsyncGenerator<Passage, void> {
  const documents = await import("../documents/read-documents.ts");
  yield* documents.readDocuments(source, options);
}

/**
 * Splits documents that are values into passages, as `readDocuments` does with files:
 * `splitDocuments` of `reatt/documents`.
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
  options?: ReadDocumentsOptions,
): AsyncGenerator<Passage, void> {
  const values = await import("../documents/document-values.ts");
  yield* values.splitDocuments(documents, options);
}
