/** Words of a sentence with offsets, and what compromise says about each. */

import type { Extent } from "./sentences.ts";

export interface Word extends Extent {
  readonly text: string;
  /** `text` in lower case, without a final full stop: what the word lists have. */
  readonly lower: string;
  /** What stands between this word and the one before, and the one behind. */
  readonly gapBefore: string;
  readonly gapAfter: string;
  /** Compromise's tags, such as "Person" or "Verb"; empty where it has no word at this place. */
  readonly tags: ReadonlySet<string>;
  /** Whether the tags come from its lexicon or its grammar, and were not guessed from the word's form. */
  readonly known: boolean;
  /** Whether its lexicon has the word, or each part of a hyphenated word, as that of a people: "Polish-Canadian". */
  readonly demonym: boolean;
}

/** The part of a compromise term that is used here; its types lack `confidence` and `offset`. */
export interface Term {
  readonly tags?: ReadonlySet<string>;
  readonly confidence?: number;
  readonly offset?: { readonly start: number };
}

const WORD =
  /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:(?:&amp;|['’.&‑–-])[\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*/gu;
const POSSESSIVE = /['’]s$/u;
const PREFIX = /^(?:non|pre|post|anti|pro|ex|mid|pan|trans|inter|un)[-–‑](?=\p{Lu})/u;
/** The small second half of "Arabic-speaking"; a particle such as the "-et-" of "Saone-et-Loire" is no such half. */
const SUFFIX =
  /[-–‑](?:\p{Ll}{2,}(?:ed|ing)|born|style|class|era|like|led|wide|run|only|type|language|friendly|free)$/u;
/** Words that keep their full stop. */
const ABBREVIATION =
  /^(?:\p{Lu}|(?:\p{L}\.)+\p{L}|Ste?|Mt|Ft|Jr|Sr|Inc|Ltd|Co|Corp|Bros|No|Dr|Mrs?|Ms|Rev|Gen|Col|Capt|Lt|Sgt|Maj|Prof|Hon|Gov|Sen|Rep|Fr|Ave|Rd|Blvd)$/u;

/** The words of `sentence`, without possessive 's, prefixes such as "non-" and suffixes such as "-based". */
export function wordsOf(
  sentence: string,
  terms: Iterable<Term>,
  demonyms: ReadonlySet<string>,
): Word[] {
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
