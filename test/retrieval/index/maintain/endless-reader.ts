/**
 * A process for readers.test.ts. It opens the newest generation of the index in the directory of
 * its argument, searches it and compares the results with the content of that generation, until it
 * is told to stop. Then it sends a report.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { openIndex } from "../../../../src/retrieval/open-index.ts";
import type { TokenIndex } from "../../../../src/retrieval/search/token-index.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import { encodeText, naiveSearch } from "../../support.ts";
import { FIRST_STATE, nextState } from "./small-changes.ts";

export interface Report {
  /** Generations that it opened. */
  readonly states: number;
  readonly searches: number;
  /** Searches with a wrong result. */
  readonly wrong: readonly string[];
}

const QUESTIONS = ["w1 w2 w3", "w4", "w7 w8 w9 w10"];
const [directory, bits] = process.argv.slice(2) as [string, string];

let stopped = false;
process.once("message", () => {
  stopped = true;
});

const scores = new Map<string, number>();

/** By loops; for compressed keys, the score of the first search that found the passage. */
function scoreOf(question: string, text: string, found: number): number {
  const key = `${question}: ${text}`;
  if (!scores.has(key))
    scores.set(
      key,
      bits ? found : naiveSearch(encodeText(question), [encodeText(text)], 1)[0]!.score,
    );
  return scores.get(key)!;
}

type Found = Passage & { readonly score: number };

async function search(index: TokenIndex, question: string, topK: number): Promise<Found[]> {
  const hits = await index.search(encodeText(question), { topK });
  const passages = await index.passages(hits.map(({ ordinal }) => ordinal));
  return hits.map(({ score }, i) => ({ ...passages[i]!, score }));
}

/** Whether a search for more passages than there are finds all of `contents`, best first. */
async function isRight(
  index: TokenIndex,
  contents: readonly Passage[],
  question: string,
): Promise<boolean> {
  const all = await search(index, question, 1000);
  const found = new Map(all.map(({ id, score }) => [id, score]));
  const expected = contents
    .map((passage) => ({
      ...passage,
      score: scoreOf(question, passage.text, found.get(passage.id) ?? Number.NaN),
    }))
    .sort((a, b) => b.score - a.score);
  return isDeepStrictEqual(all, expected);
}

const states = new Set<number>();
const wrong: string[] = [];
let searches = 0;
let generation = 1;
let contents: readonly Passage[] = FIRST_STATE;

async function look(index: TokenIndex, expected: readonly Passage[]): Promise<void> {
  const question = QUESTIONS[searches++ % QUESTIONS.length]!;
  if (!(await isRight(index, expected, question)))
    wrong.push(`generation ${index.generation}: ${question}`);
}

await using first = await openIndex(directory, { memoryLimit: 0 });
process.send!("searching");
while (!stopped) {
  await using index = await openIndex(directory);
  while (generation < index.generation) contents = nextState(contents, ++generation);
  states.add(generation);
  for (let i = 0; i < 4; i++) await look(index, contents);
  await look(first, FIRST_STATE);
  await sleep(20);
}
process.send!({ states: states.size, searches, wrong } satisfies Report, () =>
  process.disconnect(),
);
