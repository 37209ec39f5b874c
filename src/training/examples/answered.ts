/** How many questions have an answer that a passage of the corpus contains. */

import { answerTokens, containsTokens } from "../../evaluation/answers.ts";
import type { Example, Passages } from "./example.ts";

/** Answers are found by their first words: a map of whole answers would miss longer ones. */
const KEY_WORDS = 3;

export interface AnsweredCount {
  /** Questions with an answer in the corpus. */
  readonly answered: number;
  /** Questions that have answers. */
  readonly questions: number;
}

/** Reads the passages until the answers of all questions are found. */
export async function countAnswered(
  corpus: Passages,
  examples: readonly Example[],
): Promise<AnsweredCount> {
  const asked = examples.filter(({ answers }) => answers.length > 0);
  const open = new Map<string, { tokens: readonly string[]; question: number }[]>(); // by key
  for (const [question, { answers }] of asked.entries())
    for (const tokens of answers.map(answerTokens)) {
      const key = tokens.slice(0, KEY_WORDS).join(" ");
      const list = open.get(key) ?? [];
      open.set(key, list);
      list.push({ tokens, question });
    }
  const answered = new Set<number>();
  for await (const { title, text } of corpus.passages()) {
    for (const tokens of [answerTokens(title), answerTokens(text)])
      for (const key of keysOf(tokens)) {
        const list = open.get(key)?.filter(({ question }) => !answered.has(question));
        for (const one of list ?? [])
          if (containsTokens(tokens, one.tokens)) answered.add(one.question);
        if (list) open.set(key, list);
      }
    if (answered.size === asked.length) break;
  }
  return { answered: answered.size, questions: asked.length };
}

/** The first one to three words at each place. */
function keysOf(tokens: readonly string[]): Set<string> {
  const keys = new Set<string>();
  for (let start = 0; start < tokens.length; start++)
    for (let length = 1; length <= KEY_WORDS; length++)
      keys.add(tokens.slice(start, start + length).join(" "));
  return keys;
}
