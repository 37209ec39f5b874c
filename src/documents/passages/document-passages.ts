/** The passages of a document, with their ids and the fields that say where they come from. */

import { blockField } from "../../text/blocks.ts";
import type { Metadata, Passage } from "../../text/passage.ts";
import type { Document } from "../tree/document.ts";
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

/** What the ids of the passages of a file begin with, before the first `#`. */
export const fileId = (name: string): string => escaped(name);

export function* documentPassages(
  document: Omit<Document, "record">,
  { id, document: name, source, isRecord }: DocumentPlace,
  options: SplitOptions,
): Generator<Passage, void> {
  const passage = (number: string, { title, text, blocks, ...where }: SplitPassage): Passage => ({
    id: id + number,
    title,
    text,
    document: name,
    metadata: {
      ...ownFields(source, where),
      ...blockField(text, blocks),
      ...document.metadata,
    },
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

/**
 * The fields that reatt adds. Their names begin with `_`, so that they are not those of columns and
 * front matter; a field of the document that has such a name is kept in their place.
 */
function ownFields(
  source: string | undefined,
  { place, lines, pages, cells, headings }: Omit<SplitPassage, "title" | "text" | "own" | "blocks">,
): Metadata {
  const { slide, sheet, chapter } = place;
  return {
    ...(source !== undefined && { _source: source }),
    ...(sheet !== undefined && { _sheet: sheet }),
    ...(slide !== undefined && { _slide: slide }),
    ...(chapter !== undefined && { _chapter: chapter }),
    ...(pages && numbersOf("_page", pages)),
    ...(cells && numbersOf("_cell", cells)),
    ...(lines && { [sheet === undefined ? "_lines" : "_rows"]: rangeText(lines) }),
    ...(headings.length > 0 && { _headings: headings }),
  };
}

type Range = readonly [first: number, last: number];

/** `_page: 3`, and for several pages also `_pages: "3-5"`. */
const numbersOf = (name: string, range: Range): Metadata => ({
  [name]: range[0],
  ...(range[1] > range[0] && { [`${name}s`]: rangeText(range) }),
});

const rangeText = ([first, last]: Range): string =>
  first === last ? `${first}` : `${first}-${last}`;
