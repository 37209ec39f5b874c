/** The languages whose words can be stemmed, and which of them a text is in. */

/** What stems a word: lower case, composed letters. */
export type Stemmer = (word: string) => string;

interface LanguageEntry {
  readonly script: string;
  readonly stemmer: () => Promise<{ readonly stemmer: Stemmer }>;
  /**
   * What tells the language from others of its script: frequent short words, or letters of its own.
   * A language without them is that of its script by default.
   */
  readonly words?: string;
  readonly letters?: RegExp;
}

/** By ISO 639-1 codes. The stemmers are Snowball's, but for English (terms.ts). */
const TABLE = {
  en: {
    script: "Latin",
    stemmer: () => import("stemmer"),
    words: "the of and to in is was for that it with as on by",
  },
  de: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/german"),
    words: "der die und das ist nicht den von mit dem ein eine sich auf für",
  },
  fr: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/french"),
    words: "le la les et des du est une dans que pour qui sur pas au",
  },
  es: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/spanish"),
    words: "el la los las y que en un una es por con para del se",
  },
  it: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/italian"),
    words: "il di che è la per un una della sono gli nel con non dei",
  },
  pt: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/portuguese"),
    words: "o de que e do da em um uma é para com não os na",
  },
  nl: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/dutch"),
    words: "de het een en van is dat op te niet zijn voor met aan werd",
  },
  sv: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/swedish"),
    words: "och att det som en på är av för med den till inte ett i",
  },
  da: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/danish"),
    words: "og at det en til er af på som med den for ikke et blev",
  },
  no: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/norwegian"),
    words: "og det en til er av på som med den for ikke et ble å",
  },
  fi: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/finnish"),
    words: "ja on ei että se hän oli joka ovat kun mutta myös sen tai",
  },
  hu: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/hungarian"),
    words: "a az és hogy egy nem is volt meg de ez csak vagy már",
  },
  ro: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/romanian"),
    words: "și de în la cu a fost din pe nu este un o care ca",
  },
  tr: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/turkish"),
    words: "ve bir bu da de için ile olarak çok daha olan ne gibi en",
  },
  id: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/indonesian"),
    words: "yang dan di dari ini untuk dengan itu pada adalah dalam ke tidak",
  },
  ga: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/irish"),
    words: "an na agus ar ag is sa do go le bhí atá seo nach",
  },
  lt: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/lithuanian"),
    words: "ir yra į iš kad su buvo tai ne jo kaip bet apie",
  },
  ru: { script: "Cyrillic", stemmer: () => import("@orama/stemmers/russian") },
  uk: {
    script: "Cyrillic",
    stemmer: () => import("@orama/stemmers/ukrainian"),
    letters: /[іїєґ]/g,
  },
  bg: {
    script: "Cyrillic",
    stemmer: () => import("@orama/stemmers/bulgarian"),
    letters: /ът|ят(?!\p{L})|\p{L}ъ\p{L}/gu,
  },
  sr: {
    script: "Cyrillic",
    stemmer: () => import("@orama/stemmers/serbian"),
    letters: /[ђћџјљњ]/g,
  },
  el: { script: "Greek", stemmer: () => import("@orama/stemmers/greek") },
  hy: { script: "Armenian", stemmer: () => import("@orama/stemmers/armenian") },
  ar: { script: "Arabic", stemmer: () => import("@orama/stemmers/arabic") },
  hi: { script: "Devanagari", stemmer: () => import("@orama/stemmers/indian") },
  ne: {
    script: "Devanagari",
    stemmer: () => import("@orama/stemmers/nepali"),
    words: "छ र को मा हो गर्न भने तथा",
  },
  ta: { script: "Tamil", stemmer: () => import("@orama/stemmers/tamil") },
} as const satisfies Record<string, LanguageEntry>;

export type Language = keyof typeof TABLE;

export const LANGUAGES = Object.keys(TABLE) as [Language, ...Language[]];

const entryOf = (language: Language): LanguageEntry => TABLE[language];

/** The script that a language is written in, as Unicode names it. */
export const scriptOf = (language: Language): string => entryOf(language).script;

export const loadStemmer = async (language: Language): Promise<Stemmer> =>
  (await entryOf(language).stemmer()).stemmer;

const SCRIPTS = [...new Set(LANGUAGES.map(scriptOf))];
/** A script with fewer of the letters of a sample has no language of its own. */
const MIN_SHARE = 0.02;

/**
 * The languages of texts: one for each script that they are written in, most letters first. English
 * is the language of Latin letters without words of another one.
 */
export function detectLanguages(texts: readonly string[]): Language[] {
  const sample = texts.join("\n").normalize("NFC").toLowerCase();
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  return SCRIPTS.map((script) => ({ script, count: countOf(sample, letterOf(script)) }))
    .filter(({ count }) => count > MIN_SHARE * letters)
    .sort((a, b) => b.count - a.count)
    .map(({ script }) => languageIn(script, sample));
}

/** The language of a script with most of its signs, the first of equals. */
function languageIn(script: string, sample: string): Language {
  const words = new Map<string, number>();
  for (const word of sample.match(/[\p{L}\p{M}]+/gu) ?? [])
    words.set(word, (words.get(word) ?? 0) + 1);
  const evidence = (language: Language): number => {
    const { words: own = "", letters } = entryOf(language);
    const ofWords = own.split(" ").reduce((sum, word) => sum + (words.get(word) ?? 0), 0);
    return ofWords + (letters ? countOf(sample, letters) : 0);
  };
  return LANGUAGES.filter((language) => scriptOf(language) === script)
    .map((language) => ({ language, count: evidence(language) }))
    .reduce((best, other) => (other.count > best.count ? other : best)).language;
}

const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

export const letterOf = (script: string): RegExp => new RegExp(`\\p{Script=${script}}`, "gu");
