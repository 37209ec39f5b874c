/**
 * Writes the reading data of the recipe as token ids, for train.py:
 *
 *     npx tsx recipes/reatt-mini/torch/tokens.ts --reading DIR --model DIR --out DIR
 *
 * `--reading` is what make-reading-data.ts makes. Writes `train`, `new-wiki` and `squad`, each a
 * file of passages, one list of ids a line, and a file of questions: ids, the passage, and of each
 * answer the first and last token of each place where it stands. Questions whose answers stand
 * nowhere are left out of `train`. `similar` has the best passages of BM25 without an answer.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { containsAnswer } from "../../../src/evaluation/answers.ts";
import { type Bm25, buildBm25 } from "../../../src/retrieval/bm25/bm25.ts";
import { findAnswerSpan } from "../../../src/text/answer-span.ts";
import type { Passage } from "../../../src/text/passage.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import {
  passageIds,
  passagePrompt,
  readingQuestionIds,
  retrievalQuestionIds,
} from "../../../src/text/tokens/prompts.ts";
import { tokenSpans } from "../../../src/text/tokens/token-spans.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";
import { readTrainingFile } from "../../../src/training/examples/training-questions.ts";

const { values } = parseArgs({
  options: {
    reading: { type: "string", default: "runs/reatt-mini/reading" },
    model: { type: "string", default: "models/reatt-mini" },
    out: { type: "string", default: "runs/reatt-mini/tokens" },
  },
});
const PASSAGE_TOKENS = 352;
const PLACES = 8; // of one answer; more do not help
const SIMILAR = 4; // passages of a question
const SETS = {
  train: ["all/corpus.jsonl", "all/questions.jsonl"],
  "new-wiki": ["held-out/new-wiki-corpus.jsonl", "held-out/new-wiki.jsonl"],
  squad: ["held-out/squad-corpus.jsonl", "held-out/squad.jsonl"],
} as const;

const tokenizer = await loadTokenizer(join(values.model, "spiece.model"));

/** First and last token of each place of `answer` in the text of a passage. */
function placesOf(answer: string, passage: Passage, ids: readonly number[]): [number, number][] {
  const prompt = passagePrompt(passage);
  const spans = tokenSpans(tokenizer, prompt, ids.slice(0, -1));
  const places: [number, number][] = [];
  let from = passagePrompt({ ...passage, text: "" }).length;
  while (places.length < PLACES) {
    const found = findAnswerSpan(answer, prompt.slice(from));
    if (!found) break;
    const [start, end] = [from + found.start, from + found.end];
    const touches = (span: (typeof spans)[number]) => span && span.start < end && span.end > start;
    const first = spans.findIndex(touches);
    const last = spans.findLastIndex(touches);
    if (first >= 0) places.push([first, last]);
    from = end;
  }
  return places;
}

/** The best passages of BM25 without an answer, by their positions. */
function similarPassages(
  bm25: Bm25,
  question: string,
  answers: readonly string[],
  passages: readonly { passage: Passage }[],
): number[] {
  const { ordinals } = bm25.rank(question, 2 * SIMILAR);
  const without = Array.from(ordinals).filter(
    (i) => !containsAnswer(passages[i]!.passage.text, answers),
  );
  return without.slice(0, SIMILAR);
}

await mkdir(values.out, { recursive: true });
for (const [name, [corpus, questions]] of Object.entries(SETS)) {
  const passages: { passage: Passage; ids: number[] }[] = [];
  for await (const passage of readPassages(join(values.reading, corpus)))
    passages.push({ passage, ids: passageIds(tokenizer, passage, PASSAGE_TOKENS) });
  const positions = new Map(passages.map(({ passage }, i) => [passage.id, i]));
  const bm25 = await buildBm25(passages.map(({ passage }) => passage));
  const lines: string[] = [];
  for (const { question, answers, passageId } of await readTrainingFile(
    join(values.reading, questions),
  )) {
    const position = positions.get(passageId!)!;
    const { passage, ids } = passages[position]!;
    const places = answers
      .map((answer) => placesOf(answer, passage, ids))
      .filter((found) => found.length > 0);
    if (places.length === 0 && name === "train") continue;
    const questionIds = readingQuestionIds(retrievalQuestionIds(tokenizer, question));
    const similar = similarPassages(bm25, question, answers, passages);
    lines.push(JSON.stringify({ ids: questionIds, passage: position, places, answers, similar }));
  }
  const rows = passages.map(({ ids }) => JSON.stringify(ids));
  await writeFile(join(values.out, `${name}.passages.jsonl`), `${rows.join("\n")}\n`);
  await writeFile(join(values.out, `${name}.questions.jsonl`), `${lines.join("\n")}\n`);
  console.log(`${name}: ${passages.length} passages, ${lines.length} questions`);
}
