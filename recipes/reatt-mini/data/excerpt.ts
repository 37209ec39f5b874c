/**
 * Shorter passages from long ones. They are cheaper to read, and a question that is asked again has
 * other words around its answer.
 */

import type { Random } from "../../../src/math/random.ts";
import type { Passage } from "../../../src/text/passage.ts";
import { sentences } from "../../../src/text/sentences.ts";

export const wordsOf = (text: string): string[] =>
  text.match(/[\p{L}\p{N}]+(?:['’.,-][\p{L}\p{N}]+)*/gu) ?? [];

/**
 * Neighbouring sentences of `passage`, together `words` words or more if it has them, around the
 * sentence that answers the question: of those that contain an answer, the one that shares most
 * words with the question. The whole passage if no sentence contains an answer.
 */
export function excerpt(
  passage: Passage,
  { question, answers, words }: { question: string; answers: readonly string[]; words: number },
  random: Random,
): Passage {
  const extents = sentences(passage.text);
  const asked = new Set(wordsOf(question.toLowerCase()));
  const shared = extents.map(({ start, end }) => {
    const text = passage.text.slice(start, end);
    const answered = answers.some((answer) => text.includes(answer));
    return answered
      ? new Set(wordsOf(text.toLowerCase()).filter((word) => asked.has(word))).size
      : -1;
  });
  const most = Math.max(...shared);
  if (most < 0) return passage;
  let first = shared.indexOf(most);
  let last = first;
  const text = (): string => passage.text.slice(extents[first]!.start, extents[last]!.end);
  while (wordsOf(text()).length < words && last - first < extents.length - 1) {
    const earlier = first > 0 && (last === extents.length - 1 || random.next() < 0.5);
    if (earlier) first -= 1;
    else last += 1;
  }
  return { id: `${passage.id}/${first}-${last}`, title: passage.title, text: text() };
}
