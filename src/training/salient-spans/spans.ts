/** Salient spans and taggers. */

import type { Extent } from "../../text/sentences.ts";

/** The kinds of the default tagger: the types of names and dates of OntoNotes 5, in plain words. */
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
export interface SalientSpan extends Extent {
  /** An `EntityKind` of the default tagger, or any text of another tagger. */
  readonly kind: string;
}

/** Finds the salient spans of one sentence, in order and without overlap. */
export type Tagger = (sentence: string) => readonly SalientSpan[] | Promise<readonly SalientSpan[]>;
