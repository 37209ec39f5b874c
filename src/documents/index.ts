/**
 * The package entry `reatt/documents`: reading documents, and readers of formats of your own.
 *
 * @module reatt/documents
 */

export { InputError, type Problem } from "../io/errors.ts";
export type {
  DocumentInput,
  Metadata,
  MetadataItem,
  MetadataValue,
  Passage,
  PassageInput,
} from "../text/passage.ts";
export { checkReader } from "./check-reader.ts";
export { type DocumentReader, defineReader } from "./define-reader.ts";
export { splitDocuments } from "./document-values.ts";
export type { Budget, Cost } from "./file/budget.ts";
export type { SourceFile } from "./file/source-file.ts";
export {
  type ReadDocumentsOptions,
  readDocuments,
  type SkippedFile,
} from "./read-documents.ts";
export type { Block, Document, Place } from "./tree/document.ts";
