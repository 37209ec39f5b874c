/** A passage: the unit of indexing, retrieval and reading. */
export interface Passage {
  /** Unique in an index. */
  readonly id: string;
  /** May be empty. */
  readonly title: string;
  /** What is indexed and read, after the title. */
  readonly text: string;
  /** The id of the document that the passage is a part of. */
  readonly document?: string | undefined;
  /** The index that it is in, where a search over several indexes found it. It is not stored. */
  readonly collection?: string | undefined;
  /** Further fields by name. An index stores and returns them, and a search can filter by them. */
  readonly metadata?: Metadata | undefined;
}

/** A passage as a caller gives it. */
export interface PassageInput extends Omit<Passage, "title"> {
  /** Default: empty. */
  readonly title?: string | undefined;
}

/**
 * A document as a value.
 *
 * @example
 * ```ts
 * import { splitDocuments } from "reatt";
 *
 * const ticket = { id: "42", content: "<p>Reset the key.</p>", format: "html" };
 * for await (const { text } of splitDocuments([ticket])) console.log(text); // Reset the key.
 * ```
 */
export interface DocumentInput {
  /** What the document is updated and removed by. Its passages are `ID#1`, `ID#2` and so on. */
  readonly id: string;
  /** Default: the title that its content has. */
  readonly title?: string | undefined;
  /** A text, or the bytes of a file. */
  readonly content: string | Uint8Array;
  /** `text`, `markdown`, `html`, or the ending of a file: `pdf`, `docx`. Default `text`. */
  readonly format?: string | undefined;
  /** The fields of each of its passages. */
  readonly metadata?: Metadata | undefined;
}

/**
 * The null passage stands for no passage: a model can learn that a question needs none (Guu et al.
 * 2020, REALM, section 3.4, "null document").
 */
export const NULL_PASSAGE: Passage = { id: "", title: "", text: "" };

export type Metadata = Readonly<Record<string, MetadataValue>>;

export type MetadataItem = string | number | boolean;

/** Numbers are finite. Dates are texts in ISO 8601: `2024-05-01`. */
export type MetadataValue = MetadataItem | readonly MetadataItem[];

const isItem = (value: unknown): value is MetadataItem =>
  typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);

export const isMetadataValue = (value: unknown): value is MetadataValue =>
  isItem(value) || (Array.isArray(value) && value.every(isItem));
