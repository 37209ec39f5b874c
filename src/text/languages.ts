/** The languages whose words can be stemmed, and what tells them apart (detect-languages.ts). */

/** What stems a word: lower case, composed letters. */
export type Stemmer = (word: string) => string;

export interface LanguageEntry {
  readonly script: string;
  readonly stemmer: () => Promise<{ readonly stemmer: Stemmer }>;
  /**
   * What tells the language from others of its script: frequent short words, endings of longer
   * words, or letters of its own. The first language of a script is the one in doubt.
   */
  readonly words?: string;
  readonly endings?: string;
  readonly letters?: RegExp;
}

/** By ISO 639-1 codes. The stemmers are Snowball's, but for English (terms.ts). */
const TABLE = {
  en: {
    script: "Latin",
    stemmer: () => import("stemmer"),
    words: "the of and to in is was for that it with as on by",
    endings: "ing tion tions ed ly ness ment ments ity ous ful less ship ght ck",
  },
  de: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/german"),
    words: "der die und das ist nicht den von mit dem ein eine sich auf für",
    endings: "ung ungen lich liche lichen keit heit ische ischen schaft ieren iert",
  },
  fr: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/french"),
    words: "le la les et des du est une dans que pour qui sur pas au",
    endings: "tion tions ment ments eux euse euses iques aux elles ées és ité eur eurs",
  },
  es: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/spanish"),
    words: "el la los las y que en un una es por con para del se",
    endings: "ción ciones dad dades mente iento ientos ando iendo ado ados ada adas ero",
  },
  it: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/italian"),
    words: "il di che è la per un una della sono gli nel con non dei",
    endings: "zione zioni mente ità mento menti ando endo ello ella ato ata ati",
  },
  pt: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/portuguese"),
    words: "o de que e do da em um uma é para com não os na",
    endings: "ção ções dade dades mente mento ando endo ado ados ada adas agem inho",
  },
  nl: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/dutch"),
    words: "de het een en van is dat op te niet zijn voor met aan werd",
    endings: "ingen lijk lijke heid heden eerd eren tie ties tje isch ische",
  },
  sv: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/swedish"),
    words: "och att det som en på är av för med den till inte ett i",
    endings: "arna erna orna ning ningen liga ligt het heten ande ades iska iskt",
  },
  da: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/danish"),
    words: "og at det en til er af på som med den for ikke et blev",
    endings: "erne ende else elser lige hed heden iske ede ningen",
  },
  no: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/norwegian"),
    words: "og det en til er av på som med den for ikke et ble å",
    endings: "ene ende else elser lige het heten iske ningen",
  },
  fi: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/finnish"),
    words: "ja on ei että se hän oli joka ovat kun mutta myös sen tai",
    endings: "ssa ssä sta stä lla llä lta ltä nen set iset minen tta ttä uus yys ksi",
  },
  hu: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/hungarian"),
    words: "a az és hogy egy nem is volt meg de ez csak vagy már",
    endings: "ban ben nak nek val vel ság ség ból ből hoz ott ett kat eket okat",
  },
  ro: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/romanian"),
    words: "și de în la cu a fost din pe nu este un o care ca",
    endings: "ului ilor elor ație ații ește esc ească ător ătoare iile",
  },
  tr: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/turkish"),
    words: "ve bir bu da de için ile olarak çok daha olan ne gibi en",
    endings: "ları leri ların lerin ında inde lığı liği mek mak ıyor iyor dır tır",
  },
  id: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/indonesian"),
    words: "yang dan di dari ini untuk dengan itu pada adalah dalam ke tidak",
    endings: "kan nya annya asi",
  },
  ga: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/irish"),
    words: "an na agus ar ag is sa do go le bhí atá seo nach",
    endings: "adh acht aigh aithe amh eann anna",
  },
  lt: {
    script: "Latin",
    stemmer: () => import("@orama/stemmers/lithuanian"),
    words: "ir yra į iš kad su buvo tai ne jo kaip bet apie",
    endings: "imas ymas ių ose uose iai inis tas jimo imo iama iami",
  },
  ru: { script: "Cyrillic", stemmer: () => import("@orama/stemmers/russian") },
  uk: {
    script: "Cyrillic",
    stemmer: () => import("@orama/stemmers/ukrainian"),
    letters: /[іїєґ]/,
  },
  bg: {
    script: "Cyrillic",
    stemmer: () => import("@orama/stemmers/bulgarian"),
    letters: /ът|ят(?!\p{L})|\p{L}ъ\p{L}/u,
  },
  sr: {
    script: "Cyrillic",
    stemmer: () => import("@orama/stemmers/serbian"),
    letters: /[ђћџјљњ]/,
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

export const entryOf = (language: Language): LanguageEntry => TABLE[language];

/** The script that a language is written in, as Unicode names it. */
export const scriptOf = (language: Language): string => entryOf(language).script;

export const loadStemmer = async (language: Language): Promise<Stemmer> =>
  (await entryOf(language).stemmer()).stemmer;

export const letterOf = (script: string): RegExp => new RegExp(`\\p{Script=${script}}`, "gu");
