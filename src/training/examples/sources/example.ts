/** Examples that are made of documents alone, and how their candidates are read. */

import type { Passage } from "../../../text/passage.ts";
import { type Masked, removeCopies } from "../../salient-spans/copies.ts";
import type { Extent } from "../../salient-spans/index.ts";
import { MIN_WORDS } from "./units.ts";
import { wordsOf } from "./words.ts";

export interface LabelFreeExample {
  /** Unique among the examples of its source. */
  readonly id: string;
  readonly question: string;
  /** The text to generate. An example without it trains retrieval alone. */
  readonly answer?: string | undefined;
  /** Ids of known relevant passages. One of them becomes a candidate. */
  readonly relevant: readonly string[];
  /** The passages that contain this text are relevant, once the removal is done. */
  readonly evidence?: string | undefined;
  readonly removal: Removal;
}

/** What is removed from the candidates: without it, retrieval learns to match strings. */
export interface Removal {
  /** A part of the text of one passage. */
  readonly cut?: { readonly passageId: string; readonly extent: Extent } | undefined;
  /** A sentence and its near copies, from all passages. */
  readonly copies?: Masked | undefined;
  /** A title, from all passages; other titles too, so that no passage is known by its lack. */
  readonly title?: string | undefined;
  /** A passage that does not take part. */
  readonly passageId?: string | undefined;
}

/** A stream of the passages of a corpus. */
export interface Passages {
  /** Number of passages. */
  readonly size: number;
  /** In the same order at each call. */
  passages(accept?: (id: string) => boolean): AsyncIterable<Passage>;
}

/** A passage as the example reads it; undefined if it does not take part or too little is left. */
export function readAs({ removal }: LabelFreeExample, passage: Passage): Passage | undefined {
  if (passage.id === removal.passageId) return undefined;
  const cut = withoutCut(passage, removal.cut);
  const text = removal.copies ? removeCopies(removal.copies, cut) : cut;
  const read =
    removal.title === undefined
      ? { title: copiesRemoved(removal.copies, passage.title), text }
      : { title: "", text: withoutOpening(text, removal.title) };
  if (read.text === passage.text && read.title === passage.title) return passage;
  return read.text !== passage.text && wordsOf(read.text).length < MIN_WORDS
    ? undefined
    : { id: passage.id, ...read };
}

const copiesRemoved = (copies: Masked | undefined, text: string): string =>
  copies ? removeCopies(copies, text) : text;

function withoutCut({ id, text }: Passage, cut: Removal["cut"]): string {
  if (cut?.passageId !== id) return text;
  const { start, end } = cut.extent;
  return `${text.slice(0, start).trimEnd()} ${text.slice(end).trimStart()}`.trim();
}

/** The text without a copy of the title at its beginning. */
export function withoutOpening(text: string, title: string): string {
  const opening = wordsOf(title);
  const words = wordsOf(text);
  if (opening.length === 0 || !opening.every(({ key }, i) => words[i]?.key === key)) return text;
  return text.slice(words[opening.length - 1]!.end).replace(/^[\p{P}\s]+/u, "");
}
