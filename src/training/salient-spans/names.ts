/**
 * Finds names by rule: runs of capitalised words, with the lower-case words inside names
 * ("University of Oxford", "Ludwig van Beethoven"). Adjacent names are separated, and roles are
 * removed.
 */

import { isPeople, isRegion, kindOf } from "./name-kinds.ts";
import { BEFORE_OF, HEADS, NO_NAMES, PLACES_WITH_AND, ROLES } from "./name-words.ts";
import { headingLength, isOpener, opensWithName } from "./sentence-openers.ts";
import type { KindSpan, SentenceWord } from "./words.ts";

/** Consecutive words, and the word before them. */
interface Run {
  readonly words: readonly SentenceWord[];
  readonly before: SentenceWord | undefined;
}

const LARGE =
  /^(?:\p{Lu}(?![-‑]\p{Ll})|\p{Ll}{1,2}\p{Lu}|(?:al|el|an|d|l|o)['’‑-]\p{Lu}|\d+(?:st|nd|rd|th)$)/u;
const PARTICLE =
  /^(?:de|del|della|delle|di|da|do|dos|das|du|des|d|la|le|les|los|van|von|der|den|ter|zu|y|e|et|i|bin|ibn|al|el|und|och|na|am|auf|für|im|en|sur|au|aux|og|av|af|ag|vom)$/u;
const ENGLISH_PARTICLE = /^(?:of|the|for|and)$/;
const OWNERS = /^(?:women|men|boys|girls|children|ladies|people|world|king|queen)$/;

/** Spans of names, in order, without overlap. */
export function nameSpans(sentence: string, allWords: readonly SentenceWord[]): KindSpan[] {
  const heading = headingLength(sentence);
  const words = allWords.filter((word) => word.start >= heading);
  const stop = sentence.replace(/["'”’)\]\s]+$/u, "").length - 1;
  return runsOf(words)
    .flatMap((run) => cut(withoutOpener(run, words)))
    .filter((run) => isName(run.words))
    .map(({ words: run, before }) => {
      const last = run.at(-1) as SentenceWord;
      const endsSentence = last.end > stop && /^\p{Lu}\.$/u.test(last.text); // "Serie A."
      const end = endsSentence ? stop : last.end;
      return { start: (run[0] as SentenceWord).start, end, kind: kindOf(run, before?.lower) };
    });
}

function isLarge(word: SentenceWord | undefined): boolean {
  return word !== undefined && LARGE.test(word.text);
}

/** The longest runs. Each begins and ends with a capitalised word or a number. */
function runsOf(words: readonly SentenceWord[]): Run[] {
  const runs: Run[] = [];
  for (let first = 0; first < words.length; first++) {
    if (!isLarge(words[first])) continue;
    let last = first;
    for (let next = goesOn(words, first, last); next > last; next = goesOn(words, first, last))
      last = next;
    runs.push({ words: words.slice(first, last + 1), before: words[first - 1] });
    first = last;
  }
  return runs;
}

/** The index of the word up to which the run first..last goes on, or `last` where it ends. */
function goesOn(words: readonly SentenceWord[], first: number, last: number): number {
  const run = words.slice(first, last + 1);
  for (let next = last + 1; next < words.length && next <= last + 3; next++) {
    const word = words[next] as SentenceWord;
    const gap = word.gapBefore;
    if (/^,? $/.test(gap) && /^(?:Jr|Sr|Inc|Ltd|LLC)\.?$/.test(word.text)) return next;
    if (gap === " & " || gap === " &amp; ") return isLarge(word) ? next : last;
    const small = words.slice(last + 1, next).map((between) => between.text);
    if (/^['’]s? $/.test(gap))
      return small.length === 0 && possessiveJoins(run, words, next) ? next : last;
    if (!/^\s$/u.test(gap)) return last;
    if (isLarge(word))
      return small.length === 0 || smallWordsJoin(run, small, words, next) ? next : last;
    if (small.length === 0 && /^\d{1,3}(?:\.\d+)*$/.test(word.text))
      return numberJoins(words, next) ? next : last;
    if (!PARTICLE.test(word.text) && !ENGLISH_PARTICLE.test(word.text)) return last;
  }
  return last;
}

/** "Apollo 11", but not "Jones 3 goals" and not "Chapter 3". */
function numberJoins(words: readonly SentenceWord[], number: number): boolean {
  const [name, counted] = [words[number - 1] as SentenceWord, words[number + 1]];
  if (NO_NAMES.has(name.lower) || ROLES.has(name.lower) || counted?.tags.has("Plural"))
    return false;
  return !/^(?:[:,]$|[-–%])/u.test((words[number] as SentenceWord).gapAfter);
}

/** "St John's College" and "Women's World Cup", but not "Obama's White House". */
function possessiveJoins(
  run: readonly SentenceWord[],
  words: readonly SentenceWord[],
  next: number,
): boolean {
  const owner = run.at(-1) as SentenceWord;
  if (!isLarge(words[next])) return false;
  if (OWNERS.test(owner.lower)) return true;
  if (HEADS.has(owner.lower) || run.every((word) => word.tags.has("Place") || isPeople(word)))
    return false;
  let head = next;
  while (isLarge(words[head + 1]) && words[head + 1]?.gapBefore === " ") head++;
  return HEADS.has(words[head]?.lower ?? "") && run.length <= 2;
}

/** Whether `small` words join the run to the large word at `next`. */
function smallWordsJoin(
  run: readonly SentenceWord[],
  small: readonly string[],
  words: readonly SentenceWord[],
  next: number,
): boolean {
  const [joint, ...others] = small;
  if (small.every((word) => PARTICLE.test(word))) return true;
  if (joint === "and") return others.length === 0 && andJoins(run, words, next);
  if (joint !== "of" && joint !== "for") return false;
  return (
    others.every((word) => word === "the" || PARTICLE.test(word)) &&
    ofJoins(run, joint, others.length > 0)
  );
}

/**
 * "Battle of Hastings", "Gregory of Tours", "Catherine I of Russia", but not "Governor of Ohio".
 */
function ofJoins(run: readonly SentenceWord[], joint: "of" | "for", withArticle: boolean): boolean {
  const head = run.at(-1) as SentenceWord;
  if (ROLES.has(head.lower)) return false;
  if (BEFORE_OF.has(head.lower) || HEADS.has(head.lower)) return true;
  if (withArticle) return false;
  if (run.length >= 3 && run.some((word) => word.text === "of" || word.text === "for")) return true;
  return joint === "of" && (run.length === 1 || /^[IVX]+$/.test(head.text));
}

/** "Food and Drug Administration", "Department of Trade and Industry", "Bosnia and Herzegovina". */
function andJoins(
  run: readonly SentenceWord[],
  words: readonly SentenceWord[],
  next: number,
): boolean {
  const [left, right, head] = [
    run.at(-1) as SentenceWord,
    words[next] as SentenceWord,
    words[next + 1],
  ];
  if (PLACES_WITH_AND.has(`${left.text} and ${right.text}`)) return true;
  const of = run.findIndex((word) => word.text === "of");
  if (HEADS.get(run[of - 1]?.lower ?? "") === "organisation" && of >= run.length - 3)
    return !HEADS.has(left.lower);
  if (run.length > 2 || right.tags.has("Person")) return false;
  if (run.some((word) => HEADS.has(word.lower) || isGivenName(word) || word.tags.has("Place")))
    return false;
  return isLarge(head) && HEADS.get(head?.lower ?? "") === "organisation";
}

function isGivenName(word: SentenceWord): boolean {
  return ["FirstName", "MaleName", "FemaleName"].some((tag) => word.tags.has(tag));
}

/** Removes a first word that is capitalised only because it begins a sentence. */
function withoutOpener(run: Run, words: readonly SentenceWord[]): Run {
  const first = run.words[0] as SentenceWord;
  const index = words.indexOf(first);
  if (!isOpener(first, index) || opensWithName(run.words, words[index + 1])) return run;
  return { words: run.words.slice(1), before: first };
}

/**
 * Separates names at roles ("Indiana Governor Roger Branigin"), and a nationality or country from
 * the person after it.
 */
function cut({ words, before }: Run): Run[] {
  const hasHead = words.length > 1 && HEADS.has(words.at(-1)?.lower ?? "");
  const pieces: Run[] = [];
  let piece: Run & { words: SentenceWord[] } = { words: [], before };
  for (const word of words) {
    const isRole = ROLES.has(word.lower) && !(hasHead && piece.words.length > 0);
    const meetsPerson = word.tags.has("Person") && !isPeople(word) && isAdjunct(piece.words);
    if (isRole || meetsPerson) {
      pieces.push(piece);
      piece = { words: [], before: word };
    }
    if (!isRole) piece.words.push(word);
  }
  return [...pieces, piece].map(trimmed).filter((trim) => trim.words.length > 0);
}

/** Whether the words are a nationality or a country, which is a separate name before a person. */
function isAdjunct(words: readonly SentenceWord[]): boolean {
  if (words.length === 0) return false;
  return words.every(isPeople) || (isRegion(words) && !isGivenName(words[0] as SentenceWord));
}

/** Removes articles and particles at both ends. */
function trimmed({ words, before }: Run): Run {
  const isSmall = ({ text }: SentenceWord) => PARTICLE.test(text) || ENGLISH_PARTICLE.test(text);
  const first = words.findIndex((word) => !isSmall(word) && !/^(?:The|A|An)$/.test(word.text));
  const last = words.findLastIndex((word) => !isSmall(word));
  return {
    words: first < 0 ? [] : words.slice(first, last + 1),
    before: first > 0 ? words[first - 1] : before,
  };
}

function isName(words: readonly SentenceWord[]): boolean {
  return words.some(
    ({ text, lower }) =>
      !NO_NAMES.has(lower) &&
      !ROLES.has(lower) &&
      !/^(?:\p{L}\.?|\d+(?:st|nd|rd|th)?)$/u.test(text),
  );
}
