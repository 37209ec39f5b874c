/**
 * Questions from sentences, without a parser. The masked text of a sentence is asked for. The rest
 * is phrased as a person might ask: other forms of its verbs, another order, some words left out.
 *
 * Clozes that keep the sentence as it is (Lewis et al., Unsupervised question answering by cloze
 * translation, 2019) taught less: docs/experiments/reatt-mini-stages.md.
 */

import compromise from "compromise/three";
import type { Random } from "../../../src/math/random.ts";
import { MASK } from "../../../src/training/salient-spans/index.ts";

/** Question words by the kind of the masked text. */
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

/** Share of questions that use only the clause with the masked text. */
const CLAUSE = 0.7;
/** A clause of fewer words is extended by the next one. */
const CLAUSE_WORDS = 3;
/** Share of questions in the form `did SUBJECT VERB`, of those that have a verb. */
const INVERTED = 0.8;
const AUXILIARIES = ["did", "did", "does", ""];
/** Shares of words that a question leaves out, and the addition for function words. */
const LEFT_OUT = [0, 0.15, 0.3, 0.45];
const LEFT_OUT_MORE = 0.15;
/** Share of questions that keep the order of the sentence. */
const IN_ORDER = 0.7;
/** Words on either side of the masked text, at most. */
const SIDE = 9;

const SAY_LITTLE = new Set(
  (
    "the a an of in on at to and or by for from with that which who as is was were are be been it its his her their this " +
    "these those also had has have he she they but into not"
  ).split(" "),
);
/** Words before a name or a date that do not belong in the question: "was born in". */
const LEADING =
  /(?:\b(?:in|on|at|by|since|until|during|from|to|of|near|as|with|for|the|a|an)\s*)+$/i;

export const wordsOf = (text: string): string[] =>
  text.match(/[\p{L}\p{N}]+(?:['’.,-][\p{L}\p{N}]+)*/gu) ?? [];

/**
 * "Shaw was born on <extra_id_0> in Dallas.", "4 May 1990", "date" -> "when did Shaw bear in
 * Dallas?"
 */
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

/** "Shaw signed for" -> "Shaw sign for"; undefined without a verb. */
function invert(text: string): string | undefined {
  const sentence = compromise(text);
  if (!sentence.verbs().found) return undefined;
  sentence.verbs().toInfinitive();
  return sentence.text();
}
