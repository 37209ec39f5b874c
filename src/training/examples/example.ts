/** Examples: what a source makes of a corpus or of a file, and how their candidates are read. */

import type { Passage } from "../../text/passage.ts";
import type { Extent } from "../../text/sentences.ts";
import { type Masked, removeCopies } from "./sources/copies.ts";
import { MIN_WORDS, wordsOf } from "./sources/words.ts";

/** Stands for the masked part of a sentence. */
export const MASK = "<extra_id_0>";

export interface Example {
  /** Its name, unique among the examples of its source. */
  readonly id: string;
  /** What is asked. `<extra_id_0>` stands for a masked part: the answer. */
  readonly question: string;
  /**
   * Accepted answers. One of them is the text to generate. An example without any trains retrieval
   * alone.
   */
  readonly answers: readonly string[];
  /** Ids of the passages that are known to be relevant. One of them becomes a candidate. */
  readonly relevant: readonly string[];
  /**
   * How relevant each of `relevant` is. The text to generate is then one of these passages after
   * its label.
   */
  readonly labels?: readonly number[] | undefined;
  /** Ids of the candidates that a training file gives, best first. */
  readonly contexts?: readonly string[] | undefined;
  /** The scores of `contexts`, for those that have one. */
  readonly scores?: readonly (number | undefined)[] | undefined;
  /** Of an example that is made of passages. Default: the candidates are read as they are. */
  readonly removal?: Removal | undefined;
}

/**
 * What is removed from the candidates: without it, retrieval learns to match strings, and reading
 * to copy.
 *
 * Source: REALM (Guu et al. 2020), section 3.4, "Prohibiting trivial retrievals". REALM excludes
 * the source passage; to remove only a sentence and its near copies is this project's choice.
 */
export interface Removal {
  /** A part of the text of one passage. */
  readonly cut?: { readonly passageId: string; readonly extent: Extent } | undefined;
  /** A sentence and its near copies, from all passages. */
  readonly copies?: Masked | undefined;
  /** A title, from all passages; other titles too, so that no passage is known by its lack. */
  readonly title?: string | undefined;
}

/**
 * A stream of the passages of a corpus.
 *
 * @example
 * ```ts
 * import type { Passages } from "reatt/training";
 *
 * const passages: Passages = {
 *   size: 1,
 *   async *passages(accept = () => true) {
 *     if (accept("owl")) yield { id: "owl", title: "", text: "Owls hunt at night." };
 *   },
 * };
 * for await (const { text } of passages.passages()) console.log(text); // Owls hunt at night.
 * ```
 */
export interface Passages {
  /** Number of passages. */
  readonly size: number;
  /** Those whose id is accepted, by default all, in the same order at each call. */
  passages(accept?: (id: string) => boolean): AsyncIterable<Passage>;
}

/** The passages that an example is made of, or that it is about. */
export function sourcesOf({ relevant, removal }: Example): readonly string[] {
  const source = removal?.cut?.passageId;
  return source === undefined ? relevant : [source];
}

/** A passage as an example reads it; undefined if too little is left. */
export function readAs(removal: Removal, passage: Passage): Passage | undefined {
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
