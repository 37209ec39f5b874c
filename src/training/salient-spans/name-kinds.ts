/**
 * The kind of a named entity: by the head of its name, by lists of countries and languages, or by
 * compromise's tags.
 */

import { HEADS, PEOPLES } from "./name-words.ts";
import type { EntityKind, SentenceWord } from "./words.ts";

const REGIONS = namesOfCodes("region");
const LANGUAGES = namesOfCodes("language");

/** The kind of the name `words`. @param before the word before the name, in lower case */
export function kindOf(words: readonly SentenceWord[], before: string | undefined): EntityKind {
  const text = textOf(words);
  if (isRegion(words)) return "place";
  const head = headKind(words);
  if (head !== undefined && words.length > 1) return head;
  if (/^(?:mount|mt|lake|cape|river|gulf)$/.test(words[0]?.lower ?? "")) return "location";
  if (
    LANGUAGES.has(text) &&
    (/^(?:in|into|from|speaks?|speaking)$/.test(before ?? "") || !words.every(isPeople))
  ) {
    return "language";
  }
  if (words.length <= 2 && words.slice(-1).every(isPeople)) return "nationality";
  const tagged = (tag: string) =>
    words.filter((word) => word.tags.has(tag)).length * 2 >= words.length;
  if (tagged("Person")) return "person";
  if (tagged("Place")) return "place";
  if (tagged("Organization") || before === "the") return "organisation";
  if (/^(?:in|at|near|from|to|between)$/.test(before ?? "")) return "place";
  if (/\p{N}/u.test(text)) return "product";
  if (words.length === 1) return /^[\p{Lu}.]+$/u.test(text) ? "organisation" : "person";
  return words.length <= 3 ? "person" : "organisation";
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
function headKind(words: readonly SentenceWord[]): EntityKind | undefined {
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
