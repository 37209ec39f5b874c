/**
 * Which languages texts are in: by the share of their words that are frequent short words of a
 * language or have its endings. A share, not a word or two more than another language: names and
 * phrases (`de la Cruz`, `à la carte`) are in texts of every language, and titles have few short
 * words. In doubt, Latin letters are English, which the model reads.
 */

import { entryOf, LANGUAGES, type Language, letterOf, scriptOf } from "./languages.ts";

const SCRIPTS = [...new Set(LANGUAGES.map(scriptOf))];
/** A script with fewer of the letters of a sample has no language of its own. */
const MIN_SHARE = 0.02;
/** The share of the words of texts in a language that show it. */
const LEAST_EVIDENCE = 0.08;
/** Different short words of a language that its texts have. A name has one or two. */
const LEAST_SHORT_WORDS = 3;
/** How much more evidence a language needs than the one in doubt, or the second than the first. */
const MARGIN = 1.5;
/** The share of the words of a collection that its second language has. */
const SECOND_SHARE = 0.2;
/** Shorter words have no endings. */
const LEAST_LETTERS = 5;

/**
 * The languages of texts by script, that with most letters first. A script has a second language
 * if a share of the words is in texts of it.
 */
export function detectLanguages(texts: readonly string[]): Language[] {
  const forms = texts.map((text) => text.normalize("NFC"));
  const sample = forms.join("\n");
  const letters = countOf(sample, /\p{L}/gu);
  return SCRIPTS.map((script) => ({ script, count: countOf(sample, letterOf(script)) }))
    .filter(({ count }) => count > MIN_SHARE * letters)
    .sort((a, b) => b.count - a.count)
    .flatMap(({ script }) => languagesIn(script, forms));
}

const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

function languagesIn(script: string, texts: readonly string[]): Language[] {
  const [inDoubt, ...others] = LANGUAGES.filter((language) => scriptOf(language) === script);
  if (others.length === 0) return [inDoubt!];
  const signsIn = signReader([inDoubt!, ...others]);
  const inScript = new RegExp(`^${letterOf(script).source}`, "u");
  const counted = texts.map((text) => {
    const words = text.match(/[\p{L}\p{M}]+/gu)?.filter((word) => inScript.test(word)) ?? [];
    return new TextEvidence(words.length, words.flatMap(signsIn));
  });
  const first = bestOf(others, counted, inDoubt!) ?? inDoubt!;
  const rest = counted.filter((text) =>
    LANGUAGES.some((other) => text.count(other) > MARGIN * text.count(first)),
  );
  const second = bestOf([inDoubt!, ...others], rest, first);
  const share = wordsOf(rest) / wordsOf(counted);
  return second && share >= SECOND_SHARE ? [first, second] : [first];
}

/** A short word, an ending or a letter that shows a language. */
interface Sign {
  readonly language: Language;
  /** The word, if it is a short one. */
  readonly short?: string;
}

/** The signs of languages in a text. */
class TextEvidence {
  /** The number of its words. */
  readonly words: number;
  readonly signs: readonly Sign[];
  readonly #counts = new Map<Language, number>();

  constructor(words: number, signs: readonly Sign[]) {
    this.words = words;
    this.signs = signs;
    for (const { language } of signs) this.#counts.set(language, this.count(language) + 1);
  }

  count(language: Language): number {
    return this.#counts.get(language) ?? 0;
  }
}

const wordsOf = (texts: readonly TextEvidence[]): number =>
  texts.reduce((sum, { words }) => sum + words, 0);

/** The language with most signs in texts, if they are enough, and clearly more than of `other`. */
function bestOf(
  languages: readonly Language[],
  texts: readonly TextEvidence[],
  other: Language,
): Language | undefined {
  const signsOf = (language: Language) =>
    texts.reduce((sum, text) => sum + text.count(language), 0);
  const [best] = languages
    .filter((language) => language !== other)
    .map((language) => ({ language, signs: signsOf(language) }))
    .sort((a, b) => b.signs - a.signs);
  if (!best || best.signs === 0) return undefined;
  const { language, signs } = best;
  if (signs < LEAST_EVIDENCE * wordsOf(texts) || signs < MARGIN * signsOf(other)) return undefined;
  if (!entryOf(language).words) return language;
  const own = texts.flatMap((text) => text.signs.filter((sign) => sign.language === language));
  const short = new Set(own.flatMap((sign) => sign.short ?? []));
  return short.size >= LEAST_SHORT_WORDS ? language : undefined;
}

/**
 * The signs in a word: a short word in lower case (names begin with a capital), an ending, letters
 * of a language.
 */
function signReader(languages: readonly Language[]): (word: string) => readonly Sign[] {
  const short = tableOf(languages, "words");
  const endings = tableOf(languages, "endings");
  const longest = Math.max(0, ...Array.from(endings.keys(), ({ length }) => length));
  const letters = languages.flatMap((language) => {
    const { letters: own } = entryOf(language);
    return own ? [{ language, own }] : [];
  });
  return (word) => {
    const known = short.get(word);
    if (known) return known.map((language) => ({ language, short: word }));
    const lower = word.toLowerCase();
    const found = new Set(
      letters.filter(({ own }) => own.test(lower)).map(({ language }) => language),
    );
    for (let length = longest; length > 1 && lower.length >= LEAST_LETTERS; length--)
      for (const language of endings.get(lower.slice(-length)) ?? []) found.add(language);
    return Array.from(found, (language) => ({ language }));
  };
}

/** The languages that have each of their short words, or endings. */
function tableOf(
  languages: readonly Language[],
  signs: "words" | "endings",
): ReadonlyMap<string, readonly Language[]> {
  const table = new Map<string, Language[]>();
  for (const language of languages)
    for (const sign of entryOf(language)[signs]?.split(" ") ?? [])
      table.set(sign, [...(table.get(sign) ?? []), language]);
  return table;
}
