/** What a person checks an answer by: the sentence that it stands in, and where that is. */

import { type LinkOf, linkOf as linkOfUrl } from "../text/link.ts";
import type { PassageInput } from "../text/passage.ts";
import { placeInWords } from "../text/place.ts";
import { sentences } from "../text/sentences.ts";
import type { Span } from "../text/span.ts";
import type { FieldSpan } from "../text/tokens/prompts.ts";

/** A passage, and where it stands in its document. */
export interface PlaceOfPassage {
  /** The id of the passage. */
  readonly id: string;
  /** The title of the passage. */
  readonly title: string;
  /** The id of the document that the passage is a part of. */
  readonly document?: string | undefined;
  /** The index that it is in, of several that were searched. */
  readonly collection?: string | undefined;
  /** The page of a document with pages. */
  readonly page?: number | undefined;
  /** The lines of the file that the passage has, such as `10-14`. */
  readonly lines?: string | undefined;
  /** The address of the document: of its field `url`, or made with `linkBase`. */
  readonly link?: string | undefined;
}

/** The page or the lines in words; undefined without them. */
export const pageOrLines = ({ page, lines }: Pick<PlaceOfPassage, "page" | "lines">) =>
  placeInWords({ ...(page && { _page: page }), ...(lines && { _lines: lines }) });

/** Where an answer stands. */
export interface Source extends PlaceOfPassage {
  /** The sentence of the passage with the answer, or the title if the answer stands there. */
  readonly sentence: string;
  /** Where `sentence` has the answer: `sentence.slice(span.start, span.end)`. */
  readonly span: Span;
}

/** @param linkOf default: the address of a field `url` alone */
export function placeOfPassage(
  { id, title = "", document, collection, metadata }: PassageInput,
  linkOf: LinkOf = linkOfUrl,
): PlaceOfPassage {
  const { _page: page, _lines: lines } = metadata ?? {};
  const link = linkOf({ id, document, collection, metadata });
  return {
    id,
    title,
    ...(document !== undefined && { document }),
    ...(collection !== undefined && { collection }),
    ...(typeof page === "number" && { page }),
    ...(typeof lines === "string" && { lines }),
    ...(link !== undefined && { link }),
  };
}

/** Describes the place of an answer. */
export function sourceOf(
  passage: PassageInput,
  { field, span }: FieldSpan,
  linkOf: LinkOf | undefined,
): Source {
  const { title = "", text } = passage;
  const around = field === "title" ? { start: 0, end: title.length } : sentenceAround(text, span);
  return {
    ...placeOfPassage(passage, linkOf),
    sentence: (field === "title" ? title : text).slice(around.start, around.end),
    span: { start: span.start - around.start, end: span.end - around.start },
  };
}

/** The sentence of a span, or the sentences from its first to its last. */
function sentenceAround(text: string, span: Span): Span {
  const own = sentences(text).filter(({ start, end }) => start < span.end && end > span.start);
  return {
    start: Math.min(span.start, own[0]?.start ?? span.start),
    end: Math.max(span.end, own.at(-1)?.end ?? span.end),
  };
}
