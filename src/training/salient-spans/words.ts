/** Words and salient spans of a sentence. */

import type { Extent } from "../../text/sentences.ts";

/** A salient span of a sentence, in UTF-16 code units of that sentence; `end` is exclusive. */
export type SalientSpan = Extent;

/** The kinds that decide which spans are one. */
export type SpanKind = "date" | "event" | "facility" | "person" | "other";

/** A span of the default tagger. */
export interface KindSpan extends SalientSpan {
  readonly kind: SpanKind;
}

/** Finds the salient spans of one sentence, in order and without overlap. */
export type Tagger = (sentence: string) => readonly SalientSpan[] | Promise<readonly SalientSpan[]>;

/** A word with its offsets and the tags of compromise. */
export interface SentenceWord extends Extent {
  readonly text: string;
  /** `text` in lower case without a final full stop, as in the word lists. */
  readonly lower: string;
  /** The text between this word and the previous or next one. */
  readonly gapBefore: string;
  readonly gapAfter: string;
  /** Compromise's tags, such as "Person" or "Verb"; empty if it has no word here. */
  readonly tags: ReadonlySet<string>;
  /** Whether the tags come from its lexicon or grammar, not from a guess by the word's form. */
  readonly known: boolean;
  /** Whether its lexicon has each part of the word as a nationality: "Polish-Canadian". */
  readonly demonym: boolean;
}

/** The fields of a compromise term used here. Its types lack `confidence` and `offset`. */
export interface Term {
  readonly tags?: ReadonlySet<string>;
  readonly confidence?: number;
  readonly offset?: { readonly start: number };
}

const WORD =
  /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:(?:&amp;|['’.&‑–-])[\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*/gu;
const POSSESSIVE = /['’]s$/u;
const PREFIX = /^(?:non|pre|post|anti|pro|ex|mid|pan|trans|inter|un)[-–‑](?=\p{Lu})/u;
/** The lower-case second part of "Arabic-speaking", but not the particle in "Saone-et-Loire". */
const SUFFIX =
  /[-–‑](?:\p{Ll}{2,}(?:ed|ing)|born|style|class|era|like|led|wide|run|only|type|language|friendly|free)$/u;
/** Words that keep their full stop. */
const ABBREVIATION =
  /^(?:\p{Lu}|(?:\p{L}\.)+\p{L}|Ste?|Mt|Ft|Jr|Sr|Inc|Ltd|Co|Corp|Bros|No|Dr|Mrs?|Ms|Rev|Gen|Col|Capt|Lt|Sgt|Maj|Prof|Hon|Gov|Sen|Rep|Fr|Ave|Rd|Blvd)$/u;

/**
 * The words of `sentence` without possessive 's, prefixes such as "non-", suffixes such as
 * "-based".
 */
export function sentenceWords(
  sentence: string,
  terms: Iterable<Term>,
  demonyms: ReadonlySet<string>,
): SentenceWord[] {
  const termAt = new Map<number, Term>();
  for (const term of terms) if (term.offset) termAt.set(term.offset.start, term);
  const extents = Array.from(sentence.matchAll(WORD), ({ index, 0: match }) => {
    const start = index + (PREFIX.exec(match)?.[0].length ?? 0);
    const length = match
      .slice(start - index)
      .replace(POSSESSIVE, "")
      .replace(SUFFIX, "").length;
    const keepsStop =
      sentence[start + length] === "." && ABBREVIATION.test(sentence.slice(start, start + length));
    return {
      start,
      end: start + length + (keepsStop ? 1 : 0),
      term: termAt.get(start) ?? termAt.get(index),
    };
  });
  return extents.map(({ start, end, term }, i) => {
    const text = sentence.slice(start, end);
    const lower = text.toLowerCase().replace(/\.$/, "");
    return {
      start,
      end,
      text,
      lower,
      gapBefore: sentence.slice(extents[i - 1]?.end ?? 0, start),
      gapAfter: sentence.slice(end, extents[i + 1]?.start),
      tags: term?.tags ?? new Set(),
      known: term !== undefined && term.confidence === undefined,
      demonym: lower.split(/[‑–-]/u).every((part) => demonyms.has(part)),
    };
  });
}
