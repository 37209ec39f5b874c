/** The passages of a document, with their ids and the fields that say where they come from. */

import type { Metadata, Passage } from "../text/passage.ts";
import type { Document } from "./document.ts";
import { type SplitOptions, type SplitPassage, splitDocument } from "./split.ts";

/** Where a document is. */
export interface DocumentPlace {
  /** The beginning of the ids of its passages. */
  readonly id: string;
  readonly document: string;
  /** The path of the file, for the metadata. */
  readonly source: string | undefined;
  /** A record that is one passage has the id itself, without `#1`. */
  readonly isRecord: boolean;
}

export function placeOf(name: string, record: string | undefined): DocumentPlace {
  const shared = { source: name, isRecord: record !== undefined };
  if (record === undefined) return { ...shared, id: escaped(name), document: name };
  const id = `${escaped(name)}#${escaped(record)}`;
  return { ...shared, id, document: id };
}

/** `#` separates the parts of an id, and tools read ids line by line. */
const escaped = (part: string): string =>
  part.replace(/[%#\p{Cc}]/gu, encodeURIComponent).replace(/\p{Surrogate}/gu, "\ufffd");

export function* documentPassages(
  document: Omit<Document, "record">,
  { id, document: name, source, isRecord }: DocumentPlace,
  options: SplitOptions,
): Generator<Passage, void> {
  const passage = (number: string, { title, text, ...place }: SplitPassage): Passage => ({
    ...{ id: id + number, title, text, document: name },
    metadata: { ...document.metadata, ...(source !== undefined && { source }), ...whereOf(place) },
  });
  const pieces = splitDocument(document, options);
  const first = pieces.next();
  if (first.done) return;
  let next = pieces.next();
  yield passage(isRecord && next.done ? "" : "#1", first.value);
  for (let number = 2; !next.done; number++) {
    yield passage(`#${number}`, next.value);
    next = pieces.next();
  }
}

const whereOf = ({
  lines,
  page,
  headings,
}: Pick<SplitPassage, "lines" | "page" | "headings">): Metadata => ({
  ...(lines && { lines: lines[0] === lines[1] ? `${lines[0]}` : `${lines[0]}-${lines[1]}` }),
  ...(page !== undefined && { page }),
  ...(headings.length > 0 && { headings }),
});
