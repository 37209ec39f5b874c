/**
 * The kind of a name, as far as it decides which spans are one: by the head of the name, by lists
 * of countries and languages, or by compromise's tags.
 */

import { HEADS, type HeadKind, PEOPLES } from "./name-words.ts";
import type { SentenceWord, SpanKind } from "./words.ts";

const REGIONS = namesOfCodes("region");
const LANGUAGES = namesOfCodes("language");

/** The kind of the name `words`. @param before the word before the name, in lower case */
export function kindOf(words: readonly SentenceWord[], before: string | undefined): SpanKind {
  if (isRegion(words)) return "other";
  const head = headKind(words);
  if (head !== undefined && words.length > 1)
    return head === "event" || head === "facility" ? head : "other";
  return isPerson(words, before) ? "person" : "other";
}

/** Whether a name without a head is that of a person, not of a place, a language or a company. */
function isPerson(words: readonly SentenceWord[], before: string | undefined): boolean {
  const text = textOf(words);
  if (/^(?:mount|mt|lake|cape|river|gulf)$/.test(words[0]?.lower ?? "")) return false;
  const isSpoken = /^(?:in|into|from|speaks?|speaking)$/.test(before ?? "");
  if (LANGUAGES.has(text) && (isSpoken || !words.every(isPeople))) return false;
  if (words.length <= 2 && words.slice(-1).every(isPeople)) return false;
  const tagged = (tag: string) =>
    words.filter((word) => word.tags.has(tag)).length * 2 >= words.length;
  if (tagged("Person")) return true;
  if (tagged("Place") || tagged("Organization") || before === "the") return false;
  if (/^(?:in|at|near|from|to|between)$/.test(before ?? "") || /\p{N}/u.test(text)) return false;
  return words.length === 1 ? !/^[\p{Lu}.]+$/u.test(text) : words.length <= 3;
}

/** Whether the words are the English name of a country or territory. */
export function isRegion(words: readonly SentenceWord[]): boolean {
  return REGIONS.has(textOf(words));
}

/** Whether the word names a nationality, a religion, a party or a people. */
export function isPeople(word: SentenceWord): boolean {
  return word.demonym || PEOPLES.has(word.lower);
}

export function textOf(words: readonly SentenceWord[]): string {
  return words.map((word) => word.text).join(" ");
}

/** The head is the word before "of" or "for", else the last word, numbers aside: "World War II". */
function headKind(words: readonly SentenceWord[]): HeadKind | undefined {
  const of = words.findIndex((word) => word.text === "of" || word.text === "for");
  const last = words.findLast((word) => !/^(?:[IVX]+|\d+)$/.test(word.text));
  return HEADS.get(words[of - 1]?.lower ?? "") ?? HEADS.get(last?.lower ?? "");
}

/** English names of all two-letter codes that ICU knows. */
function namesOfCodes(type: "region" | "language"): ReadonlySet<string> {
  const names = new Intl.DisplayNames("en", { type, fallback: "none" });
  const letters = Array.from("abcdefghijklmnopqrstuvwxyz");
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  return new Set(
    codes.flatMap((code) => names.of(type === "region" ? code.toUpperCase() : code) ?? []),
  );
}
