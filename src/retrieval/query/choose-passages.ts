/** The passages that the keywords of a question choose (keywords.ts). */

import { normalForm, normalWords } from "../../text/normal-form.ts";
import type { Passage } from "../../text/passage.ts";
import { indexedText } from "../bm25/inverted-index.ts";
import type { IndexGeneration } from "../search/generation.ts";
import type { WordSearch } from "../search/word-search.ts";
import { type Keyword, keywordsOf, straightQuotes } from "./keywords.ts";

/** Those that come first in a question: each reads the fields of all passages, or many texts. */
const MAX_KEYWORDS = 10;
/** Of more passages with the words of a phrase, their order is not compared. */
const MAX_COMPARED = 20_000;
/** Passages with a word that are looked at for an option of this name. */
const MAX_LOOKED_AT = 100;

/** A question without its keywords, and what they choose. */
export interface ChosenPassages {
  /** The question without what only chooses: a phrase stays, it is asked for. */
  readonly text: string;
  readonly accept: (ordinal: number) => boolean;
}

type Accept = ChosenPassages["accept"];
type SearchedIndex = Pick<IndexGeneration, "isRemote" | "passages" | "visitFields">;

/**
 * What the keywords of a question choose; undefined for a question without keywords. A phrase that
 * no passage has, a word that no passage has or that texts write with its hyphen, and a field that
 * no passage has or whose value none has are words as others are, and so are more than 10 keywords.
 */
export async function choosePassages(
  index: SearchedIndex,
  words: () => Promise<WordSearch>,
  question: string,
  signal?: AbortSignal,
): Promise<ChosenPassages | undefined> {
  const conditions: Accept[] = [];
  let text = straightQuotes(question);
  for (const keyword of index.isRemote ? [] : keywordsOf(text).slice(0, MAX_KEYWORDS)) {
    signal?.throwIfAborted();
    const accept = await chosenBy(index, words, keyword);
    if (!accept) continue;
    conditions.push(accept);
    if (keyword.kind !== "phrase") text = text.replace(keyword.written, " ");
  }
  text = text.replace(/\s+/g, " ").trim();
  if (conditions.length === 0 || text === "") return undefined;
  return { text, accept: (ordinal) => conditions.every((accept) => accept(ordinal)) };
}

function chosenBy(
  index: SearchedIndex,
  words: () => Promise<WordSearch>,
  keyword: Keyword,
): Promise<Accept | undefined> {
  const { kind, name, value } = keyword;
  if (kind === "field") return withField(index, name!, value);
  return kind === "phrase" ? withPhrase(index, words, value) : withoutWord(index, words, value);
}

/** Passages with these words in this order, whatever stands between words. */
async function withPhrase(
  index: SearchedIndex,
  words: () => Promise<WordSearch>,
  phrase: string,
): Promise<Accept | undefined> {
  const having = await passagesWith(words, phrase);
  if (having.length > MAX_COMPARED) return isOneOf(having);
  const wanted = wordsOf(phrase);
  const passages = await index.passages([...having]);
  const hasPhrase = ({ title, text }: Passage): boolean =>
    [title, text].some((part) => wordsOf(part).includes(wanted));
  return isOneOf(having.filter((_, i) => hasPhrase(passages[i]!)));
}

async function withoutWord(
  index: SearchedIndex,
  words: () => Promise<WordSearch>,
  word: string,
): Promise<Accept | undefined> {
  const having = await passagesWith(words, word);
  const passages = await index.passages([...having.subarray(0, MAX_LOOKED_AT)]);
  const option = normalForm(`-${word}`);
  if (passages.some((passage) => wordsBySpaces(passage).includes(option))) return undefined;
  const has = isOneOf(having);
  return has && ((ordinal) => !has(ordinal));
}

async function withField(
  index: SearchedIndex,
  name: string,
  value: string,
): Promise<Accept | undefined> {
  const wanted = wordsOf(value);
  const having: number[] = [];
  await index.visitFields((ordinal, { document, metadata }) => {
    const own = name === "document" ? document : metadata?.[name];
    const values = own === undefined ? [] : [own].flat();
    if (values.some((one) => wordsOf(String(one)).includes(wanted))) having.push(ordinal);
  });
  return isOneOf(having);
}

/** The passages with all terms of a text; none if it has no terms. */
async function passagesWith(words: () => Promise<WordSearch>, text: string): Promise<Uint32Array> {
  const { having, analyser } = await words();
  const terms = analyser.terms(text);
  return having && terms.length > 0 ? having(terms) : new Uint32Array();
}

/** Undefined for no passage. */
function isOneOf(ordinals: ArrayLike<number>): Accept | undefined {
  const all = new Set(Array.from(ordinals));
  return all.size === 0 ? undefined : (ordinal) => all.has(ordinal);
}

/** The words of a text between spaces, so that whole words are parts of it. */
const wordsOf = (text: string): string => ` ${normalWords(text).join(" ")} `;

const wordsBySpaces = (passage: Passage): string[] =>
  normalForm(indexedText(passage)).split(/[\s`'"()[\],;|=]+/);
