/** What a tagger finds, and what a tagger is. */

import type { Extent } from "./sentences.ts";

/** The kinds of the default tagger: the entity types of OntoNotes 5 that are names or dates, under plain names. */
export const ENTITY_KINDS = [
  "date",
  "event",
  "facility",
  "language",
  "law",
  "location",
  "nationality",
  "organisation",
  "person",
  "place",
  "product",
  "time",
  "work",
] as const;

export type EntityKind = (typeof ENTITY_KINDS)[number];

/** A salient span of a sentence, in UTF-16 code units of that sentence. */
export interface Span extends Extent {
  /** An `EntityKind` when the default tagger found it; other taggers have their own names. */
  readonly kind: string;
}

/** Finds the salient spans of one sentence, in order and without overlap. */
export type Tagger = (sentence: string) => readonly Span[] | Promise<readonly Span[]>;
