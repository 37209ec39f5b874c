/**
 * What a question's terms that a collection does not have could stand for: a word is completed by
 * the nearest terms that it has (`salery`: `salary`), and `5kg` by `5` and `kg`. `5 kg` is also
 * looked for as `5kg`.
 *
 * Source: Damerau 1964, A Technique for Computer Detection and Correction of Spelling Errors: one
 * letter more, one less, another one, or two that change places are four of five errors. The limits
 * are those of Lucene's fuzzy queries, from longer words on: short ones are near many others.
 */

/** Words that are completed. A number that differs in a digit is another one. */
const WORD = /^\p{L}{4,}$/u;
/** From this length on, two errors are completed; in shorter words, one. */
const LONG_WORD = 8;
/** More near terms than these say nothing. */
const MAX_SUBSTITUTES = 8;
/** What a near term counts beside one that the question has. */
const NEAR_WEIGHT = 0.5;

const AMOUNT = /^(\p{N}[\p{N}.,]*)(\p{L}{1,4})$/u;
const NUMBER = /^\p{N}[\p{N}.,]*$/u;
const UNIT = /^\p{L}{1,4}$/u;

/** Terms that a collection has, with what each counts beside a term of the question. */
export type Substitutes = ReadonlyMap<string, number>;

/**
 * The substitutes of the terms of a question.
 *
 * @param has whether the collection has a term
 * @param vocabulary all terms of the collection; called only where a word is not known
 */
export function substitutesOf(
  terms: readonly string[],
  has: (term: string) => boolean,
  vocabulary: () => Vocabulary,
): Substitutes {
  const near = terms
    .filter((term) => isUnknownWord(term, has))
    .flatMap((term) => vocabulary().nearest(term))
    .map((term): [string, number] => [term, NEAR_WEIGHT]);
  const equal = otherForms(terms, has).map((term): [string, number] => [term, 1]);
  return new Map([...near, ...equal].filter(([term]) => !terms.includes(term)));
}

/** Whether a word could be completed. */
export const isUnknownWord = (term: string, has: (term: string) => boolean): boolean =>
  WORD.test(term) && !has(term);

/** Amounts with and without a space before their unit. */
function otherForms(terms: readonly string[], has: (term: string) => boolean): string[] {
  const joined = terms
    .slice(1)
    .flatMap((unit, i) => (NUMBER.test(terms[i]!) && UNIT.test(unit) ? [terms[i]! + unit] : []));
  const divided = terms
    .filter((term) => !has(term))
    .flatMap((term) => AMOUNT.exec(term)?.slice(1) ?? []);
  return [...joined, ...divided];
}

/** Words by their first letter, which is seldom the wrong one, in one text each. */
export class Vocabulary {
  readonly #words = new Map<string, string>();

  constructor(terms: Iterable<string>) {
    const lists = new Map<string, string[]>();
    for (const term of terms) {
      if (!WORD.test(term)) continue;
      const list = lists.get(firstLetter(term));
      if (list) list.push(term);
      else lists.set(firstLetter(term), [term]);
    }
    for (const [first, list] of lists) this.#words.set(first, `${list.join("\n")}\n`);
  }

  /** The terms with the fewest errors to a word, in alphabetical order; none if too many. */
  nearest(word: string): string[] {
    let errors = word.length < LONG_WORD ? 1 : 2;
    let found = new Set<string>();
    const words = this.#words.get(firstLetter(word)) ?? "";
    for (let start = 0; start < words.length; ) {
      const end = words.indexOf("\n", start);
      if (Math.abs(end - start - word.length) <= errors) {
        const term = words.slice(start, end);
        const distance = editDistance(word, term, errors);
        if (distance < errors) found = new Set();
        if (distance <= errors) found.add(term);
        errors = Math.min(errors, distance);
      }
      start = end + 1;
    }
    return found.size > MAX_SUBSTITUTES ? [] : [...found].sort();
  }
}

const firstLetter = (term: string): string => String.fromCodePoint(term.codePointAt(0)!);

/**
 * The number of letters to insert, remove, replace or exchange with the next (optimal string
 * alignment); `most + 1` if there are more than `most`.
 */
export function editDistance(a: string, b: string, most: number): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (isSame ? 0 : 1));
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isExchange) row[j] = Math.min(row[j]!, before[j - 2]! + 1);
    }
    if (Math.min(...row) > most && Math.min(...last) > most) return most + 1;
    before = last;
    last = row;
  }
  return Math.min(last[b.length]!, most + 1);
}
