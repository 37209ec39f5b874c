/**
 * Whether what a reply shows is right: passages and blocks that have an evidence of the question,
 * the answer, and the quoted sentence.
 */

import type { Reply } from "../../src/decoder/answers.ts";
import { findSequence } from "../../src/text/find-sequence.ts";
import type { Passage } from "../../src/text/passage.ts";

/** A line of `questions.jsonl` in the form with texts. */
export interface Question {
  readonly id: string;
  readonly genre: string;
  readonly kind: string;
  readonly question: string;
  /** Accepted answers; none where the genre has no answer. */
  readonly answers: readonly string[];
  /** Alternatives. */
  readonly evidence: readonly string[];
}

export interface Judged {
  readonly genre: string;
  readonly kind: string;
  readonly abstained: boolean;
  /** The place of the first passage with an evidence, from 1; Infinity if none has it. */
  readonly passage: number;
  /** The same among the first three blocks that are shown. */
  readonly block: number;
  /** The probability of the first block; undefined if no block is shown. */
  readonly probability: number | undefined;
  readonly inside: boolean;
  readonly source: boolean;
  readonly sureAndWrong: boolean;
}

interface Block {
  readonly text: string;
  readonly score: number;
}

const SURE = 0.5;
const SHOWN_BLOCKS = 3;

/** Whether a question is answered by a text, and not by yes, no or nothing. */
export const asksForText = (kind: string): boolean => kind !== "yesno" && kind !== "none";

export function judge(question: Question, reply: Reply<Passage>): Judged {
  const { genre, kind } = question;
  const { abstained, confidence } = reply;
  const blocks = blocksOf(reply);
  const inside = !abstained && question.answers.some((answer) => isInside(reply.answer, answer));
  const source = !abstained && quotesEvidence(reply, question);
  const right = asksForText(kind) ? inside : source;
  return {
    genre,
    kind,
    abstained,
    passage: rank(reply.passages.map(textOf), question),
    block: rank(
      blocks.map(({ text }) => text),
      question,
    ),
    probability: blocks[0]?.score,
    inside,
    source,
    sureAndWrong: !abstained && confidence >= SURE && !right,
  };
}

/** The blocks of `reply.evidence`; the quoted sentence where a reply has none. */
function blocksOf(reply: Reply<Passage> & { evidence?: readonly Block[] }): readonly Block[] {
  if (reply.evidence) return reply.evidence.slice(0, SHOWN_BLOCKS);
  const sentence = reply.abstained ? undefined : reply.source?.sentence;
  return sentence ? [{ text: sentence, score: reply.confidence }] : [];
}

const textOf = ({ title, text }: Passage): string => `${title ?? ""}\n${text}`;

function rank(texts: readonly string[], { evidence }: Question): number {
  const at = texts.findIndex((text) => evidence.some((one) => hasEvidence(text, one)));
  return at < 0 ? Number.POSITIVE_INFINITY : at + 1;
}

/**
 * Whether the quoted sentence is right: it agrees with an evidence, or it is the part of one that
 * has the answer (any part for yes and no).
 */
function quotesEvidence(reply: Reply<Passage>, question: Question): boolean {
  const { sentence, id } = reply.source ?? {};
  if (!sentence) return false;
  const found = reply.passages.find((passage) => passage.id === id);
  const passage = found ? textOf(found) : "";
  const hasAnswer =
    question.kind === "yesno" ||
    question.answers.some((one) => hasWords(sentence, one) || sentence.includes(one));
  return question.evidence.some(
    (evidence) =>
      agrees(sentence, evidence) ||
      (hasAnswer && hasEvidence(passage, evidence) && isPart(sentence, evidence)),
  );
}

/** Half of the words are equal, if they are many: short headings of one form are alike. */
function agrees(sentence: string, evidence: string): boolean {
  const expected = wordsOf(evidence);
  return (
    (expected.length >= LONG_EVIDENCE && wordF1(wordsOf(sentence), expected) >= 0.5) ||
    hasEvidence(sentence, evidence)
  );
}
const LONG_EVIDENCE = 12;

const isPart = (sentence: string, evidence: string): boolean =>
  wordsOf(sentence).length > 0 && hasEvidence(evidence, sentence);

/**
 * Whether a text has an evidence, with other marks and small gaps: its words in sequence, or four
 * of five of them in order within a window of three times as many words. One or two words are
 * compared by their characters without marks.
 */
export function hasEvidence(text: string, evidence: string): boolean {
  const expected = wordsOf(evidence);
  if (expected.length <= 2) return withoutMarks(text).includes(withoutMarks(evidence));
  const words = wordsOf(text);
  if (!findSequence(words, expected).next().done) return true;
  const enough = Math.ceil(0.8 * expected.length);
  const size = 3 * expected.length + 8;
  for (let first = 0; first < words.length; first += Math.floor(size / 4)) {
    if (wordsInOrder(expected, words.slice(first, first + size)) >= enough) return true;
  }
  return false;
}

/** The length of the longest common subsequence. */
function wordsInOrder(a: readonly string[], b: readonly string[]): number {
  let before = new Array<number>(b.length + 1).fill(0); // of the words of a so far and b[0, j)
  for (const word of a) {
    const row = [0];
    for (const [j, other] of b.entries())
      row.push(word === other ? before[j]! + 1 : Math.max(before[j + 1]!, row[j]!));
    before = row;
  }
  return before[b.length]!;
}

/** One answer contains the other, and F1 is at least a half. */
export function isInside(answer: string, accepted: string): boolean {
  const [a, b] = [normalized(answer), normalized(accepted)];
  // Marks alone, as `*`.
  if (a === "" || b === "") return answer.trim().toLowerCase() === accepted.trim().toLowerCase();
  return (hasWords(a, b) || hasWords(b, a)) && wordF1(a.split(" "), b.split(" ")) >= 0.5;
}

const hasWords = (text: string, part: string): boolean =>
  ` ${normalized(text)} `.includes(` ${normalized(part)} `);

function wordF1(a: readonly string[], b: readonly string[]): number {
  const unmatched = [...b];
  const common = a.filter((word) => {
    const at = unmatched.indexOf(word);
    if (at >= 0) unmatched.splice(at, 1);
    return at >= 0;
  });
  return (2 * common.length) / Math.max(1, a.length + b.length);
}

/** As SQuAD normalises answers, with the marks of Unicode. */
const normalized = (text: string): string =>
  plain(text)
    .replace(/[\p{P}\p{S}]/gu, "")
    .replace(/\b(?:a|an|the)\b/g, " ")
    .replace(/\s+/g, " ")
    .trim();

const wordsOf = (text: string): string[] => plain(text).match(/[\p{L}\p{N}]+/gu) ?? [];

/** Without white space and the marks of Markdown, reStructuredText and tables. */
const withoutMarks = (text: string): string =>
  plain(text).replace(/[\s*_`|#>"'’‘“”\\[\]()│]+/gu, "");

const plain = (text: string): string => text.normalize("NFKC").toLowerCase();
