/**
 * Questions made from sentences, without a parser: what is asked for stands masked in the sentence, and what is left of it is put as a person might
 * ask, with other forms of its verbs, in another order, and without some of its words.
 *
 * Clozes that keep the sentence as it is (Lewis et al., Unsupervised question answering by cloze translation, 2019) taught less: 5,760 questions, of
 * which 30 % were SQuAD's, left the answers of held-out articles at 3.73 (negative log likelihood), and with these questions at 3.51.
 */

import compromise from "compromise/three";
import type { Random } from "../../../src/math/random.ts";
import { MASK } from "../../../src/training/salient-spans/index.ts";

/** By the kind of what was masked. */
const ASKED: Readonly<Record<string, readonly string[]>> = {
  person: ["who"],
  organisation: ["who", "which organization", "what"],
  date: ["when"],
  year: ["when", "in what year", "what year"],
  time: ["when"],
  place: ["where", "what place", "in what place"],
  location: ["where"],
  facility: ["where", "what building"],
  number: ["how many"],
  language: ["what language"],
  nationality: ["what nationality"],
};
const OTHER = ["what", "what", "which"];

/** The share of questions that use no more of the sentence than the clause about what was masked. */
const CLAUSE = 0.7;
/** A clause of fewer words says too little. */
const CLAUSE_WORDS = 3;
/** The share of questions put as `did SUBJECT VERB`, of those that can be. */
const INVERTED = 0.8;
const AUXILIARIES = ["did", "did", "does", ""];
/** The shares of words that a question leaves out; of the words that say least, more. */
const LEFT_OUT = [0, 0.15, 0.3, 0.45];
const LEFT_OUT_MORE = 0.15;
/** The share of questions that keep the order of the sentence. */
const IN_ORDER = 0.7;
/** Words on either side of what was masked, at most. */
const SIDE = 9;

const SAY_LITTLE = new Set(
  (
    "the a an of in on at to and or by for from with that which who as is was were are be been it its his her their this " +
    "these those also had has have he she they but into not"
  ).split(" "),
);
/** What leads to a name or a date, and not to a question about it: "was born in". */
const LEADING =
  /(?:\b(?:in|on|at|by|since|until|during|from|to|of|near|as|with|for|the|a|an)\s*)+$/i;

export const wordsOf = (text: string): string[] =>
  text.match(/[\p{L}\p{N}]+(?:['’.,-][\p{L}\p{N}]+)*/gu) ?? [];

/** "Shaw was born on <extra_id_0> in Dallas.", "4 May 1990", "date" -> "when did Shaw bear in Dallas?" */
export function ask(
  { masked, answer, kind, title }: { masked: string; answer: string; kind: string; title: string },
  random: Random,
): string {
  const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)]!;
  const clause = (
    text: string,
    nearest: (clauses: readonly string[]) => readonly string[],
  ): string => (random.next() < CLAUSE ? nearest(text.split(/(?<=[,;:()])\s+/)).join(" ") : text);
  const [left = "", right = ""] = masked.split(MASK);
  const counted = countedNoun(right);
  const before = clause(left, (clauses) => longEnough(clauses.slice(-1), clauses.slice(-2)));
  const after = clause(right, (clauses) => longEnough(clauses.slice(0, 1), clauses.slice(0, 2)));
  const share = pick(LEFT_OUT);
  const kept = (text: string): string[] =>
    wordsOf(text).filter(
      (word) => random.next() >= share + (SAY_LITTLE.has(word.toLowerCase()) ? LEFT_OUT_MORE : 0),
    );
  const inverted = random.next() < INVERTED ? invert(before) : undefined;
  const opening = [pick(ASKED[form(answer, kind)] ?? OTHER)];
  const isCounted = opening[0] === "how many" && counted !== "";
  if (isCounted) opening.push(counted);
  if (inverted !== undefined) opening.push(pick(AUXILIARIES));
  const first = kept((inverted ?? before).replace(LEADING, " ")).slice(-SIDE);
  const second = kept(isCounted ? right.replace(counted, "") : after).slice(0, SIDE);
  const rest = random.next() < IN_ORDER ? [...first, ...second] : [...second, ...first];
  return `${[...opening, ...rest, ...wordsOf(title)].filter(Boolean).join(" ")}?`;
}

function form(answer: string, kind: string): string {
  if (/^\d{4}$/.test(answer)) return "year";
  return /^[\d.,]+$/.test(answer) ? "number" : kind;
}

/** "<extra_id_0> votes in the first round" -> "votes" */
const countedNoun = (right: string): string => /^\s*(\p{Ll}{4,})/u.exec(right)?.[1] ?? "";

const longEnough = (short: readonly string[], long: readonly string[]): readonly string[] =>
  wordsOf(short.join(" ")).length >= CLAUSE_WORDS ? short : long;

/** "Shaw signed for" -> "Shaw sign for"; nothing where there is no verb. */
function invert(text: string): string | undefined {
  const sentence = compromise(text);
  if (!sentence.verbs().found) return undefined;
  sentence.verbs().toInfinitive();
  return sentence.text();
}
