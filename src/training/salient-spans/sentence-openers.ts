/**
 * Decides whether the first word of a sentence is part of a name. It is always capitalised, so the
 * decision uses compromise's tags, its lexicon and the next word.
 */

import { isPeople } from "./name-kinds.ts";
import { HEADS } from "./name-words.ts";
import type { SentenceWord } from "./words.ts";

const NO_NAME_TAGS = [
  "Pronoun Determiner Preposition Conjunction QuestionWord Modal Auxiliary Copula Adverb Value Negative Actor",
  "Expression",
].flatMap((line) => line.split(" "));
const NEVER = /^(?:former|late|current|early|new|recent|fellow|other|young|old)$/;
const ABSTRACT = /(?:[st]ion|ment|ness|ity|ism|[ae]nce|ship|hood|logy|graphy|ure|ing)$/;
const HEADING =
  /ABSTRACT|AIM|BACKGROUND|CONCLUSION|CONTEXT|DATA|DESIGN|EVIDENCE|EXPOSURE|FINDINGS|FUNDING|HYPOTHESIS|INTERPRETATION|INTERVENTION|INTRODUCTION|LIMITATION|MEASURE|METHOD|OBJECTIVE|OUTCOME|PARTICIPANTS|PATIENTS|POPULATION|PURPOSE|RATIONALE|REGISTRATION|RESULT|SETTING|SIGNIFICANCE|SUBJECTS|SYNTHESIS/;

/** Length of the heading of a section of an abstract: "METHODS AND RESULTS We …"; 0 without one. */
export function headingLength(sentence: string): number {
  const heading = /^[A-Z][A-Z ,&/]+[A-Z](?=:? [A-Z][a-z]|:? [AI] )/.exec(sentence)?.[0] ?? "";
  return HEADING.test(heading) ? heading.length : 0;
}

/** Whether `word` begins a sentence, or direct speech or a title inside one. */
export function isOpener(word: SentenceWord, index: number): boolean {
  return index === 0 || /[.:!?]["'“‘]?\s*["'“‘]?$/u.test(word.gapBefore);
}

/**
 * Whether the opening word belongs to the name.
 *
 * @param run that word and the capitalised words after it
 */
export function opensWithName(
  run: readonly SentenceWord[],
  next: SentenceWord | undefined,
): boolean {
  const first = run[0] as SentenceWord;
  const is = (...tags: readonly string[]) => tags.some((tag) => first.tags.has(tag));
  // McIntosh, HBO, U.S., Šerbečić
  if (/^.+[\p{Lu}\p{N}]|[^\p{ASCII}’]/u.test(first.text)) return true;
  if (isPeople(first)) return true;
  if (is(...NO_NAME_TAGS) || NEVER.test(first.lower)) return false;
  if (is("Person", "Place", "Organization") && !is("Verb", "Adjective")) return true;
  return run.length > 1
    ? isPartOfName(first, run.at(-1) as SentenceWord, is)
    : isNameAlone(first, next, is);
}

function isPartOfName(
  first: SentenceWord,
  last: SentenceWord,
  is: (...tags: string[]) => boolean,
): boolean {
  if (is("ProperNoun") || !first.known) return !is("Gerund", "PastTense");
  if (HEADS.has(first.lower) || HEADS.has(last.lower)) return true;
  return is("Noun", "Adjective") && !is("Plural", "Comparative", "Superlative");
}

/** A singular noun without an article before a verb is a name: "Dean was elected". */
function isNameAlone(
  first: SentenceWord,
  next: SentenceWord | undefined,
  is: (...tags: string[]) => boolean,
): boolean {
  if (is("Plural", "Uncountable", "Verb", "Adjective") || ABSTRACT.test(first.text)) return false;
  if (next === undefined) return false;
  if (first.known) return is("Singular") && next.tags.has("Verb");
  if (/^(?:['’]s? |,| \()/u.test(first.gapAfter) || next.text === "and") return true;
  return ["Verb", "Adverb", "Modal", "Auxiliary", "Copula"].some((tag) => next.tags.has(tag));
}
