/**
 * Writes made-up tables with questions as token ids, for `train.py --tables`:
 *
 *     npx tsx recipes/reatt-mini/torch/table-tokens.ts --reading DIR --model DIR --out DIR
 *
 * Some tables have a paragraph of the reading data before or after them. Some questions are about
 * that paragraph. `similar` has tables of the same subject without what the question names, so
 * these have no answer.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "../../../src/math/random.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import {
  passageIds,
  readingQuestionIds,
  retrievalQuestionIds,
} from "../../../src/text/tokens/prompts.ts";
import { tokenPlaces } from "../../../src/text/tokens/token-places.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";
import { readTrainingFile } from "../../../src/training/examples/training-questions.ts";
import { makeTable, parseSubjects, type TableQuestion } from "../data/tables.ts";

const { values } = parseArgs({
  options: {
    reading: { type: "string", default: "runs/reatt-mini/reading" },
    model: { type: "string", default: "models/reatt-mini" },
    out: { type: "string", default: "runs/reatt-mini/tokens" },
    each: { type: "string", default: "100" }, // tables of each subject
    seed: { type: "string", default: "31" },
  },
});
const PASSAGE_TOKENS = 256;
/** Share of the tables that have a paragraph beside them, of at most so many words. */
const WITH_PARAGRAPH = 0.4;
const PARAGRAPH_WORDS = 80;
const SIMILAR = 4;
const LOWER_CASE = 0.2;

interface Made {
  readonly title: string;
  readonly text: string;
  readonly questions: readonly TableQuestion[];
}

const tokenizer = await loadTokenizer(join(values.model, "spiece.model"));
const subjects = parseSubjects(
  await readFile(new URL("../data/table-subjects.txt", import.meta.url), "utf8"),
);
const paragraphs = await shortParagraphs();
const made = Array.from({ length: subjects.length * Number(values.each) }, (_, i) => make(i));
const rows = made.map(({ title, text }) => passageIds(tokenizer, { title, text }, PASSAGE_TOKENS));
const questions = made.flatMap((one, i) => one.questions.flatMap((asked) => lineOf(asked, i)));
await writeFile(join(values.out, "tables.passages.jsonl"), lines(rows));
await writeFile(join(values.out, "tables.questions.jsonl"), lines(questions));
console.log(`${rows.length} tables, ${questions.length} questions`);

function lines(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

/** Paragraphs of few words, with their questions. */
async function shortParagraphs() {
  const all = new Map<string, { text: string; questions: TableQuestion[] }>();
  for await (const { id, text } of readPassages(join(values.reading, "all/corpus.jsonl")))
    if (text.split(/\s+/).length <= PARAGRAPH_WORDS) all.set(id, { text, questions: [] });
  for (const { question, answers, passageId } of await readTrainingFile(
    join(values.reading, "all/questions.jsonl"),
  )) {
    const paragraph = all.get(passageId!);
    const start = paragraph?.text.indexOf(answers[0]!) ?? -1;
    if (!paragraph || start < 0) continue;
    paragraph.questions.push({ question, start, end: start + answers[0]!.length, about: question });
  }
  return [...all.values()].filter(({ questions }) => questions.length > 0);
}

function make(i: number): Made {
  const random = createRandom(Number(values.seed), "table", i);
  const table = makeTable(subjects[i % subjects.length]!, random);
  if (random.next() >= WITH_PARAGRAPH) return table;
  const { title } = table;
  const paragraph = paragraphs[random.integer(paragraphs.length)]!;
  const [first, second] = random.next() < 0.5 ? [table, paragraph] : [paragraph, table];
  const after = first.text.length + 2;
  const questions = [
    ...first.questions.slice(0, 3),
    ...second.questions.slice(0, 3).map((asked) => ({
      ...asked,
      start: asked.start + after,
      end: asked.end + after,
    })),
  ];
  return { title, text: `${first.text}\n\n${second.text}`, questions };
}

/** None if the answer is beyond the tokens of the passage. */
function lineOf({ question, start, end, about }: TableQuestion, i: number) {
  const { title, text } = made[i]!;
  const places = tokenPlaces(tokenizer, { title, text }, rows[i]!.slice(0, -1));
  const touches = (place: (typeof places)[number]) =>
    place?.field === "text" && place.span.start < end && place.span.end > start;
  const [first, last] = [places.findIndex(touches), places.findLastIndex(touches)];
  if (first < 0 || places[last]!.span.end < end) return [];
  const random = createRandom(Number(values.seed), "question", i, start);
  const asked = random.next() < LOWER_CASE ? question.toLowerCase() : question;
  const answer = text.slice(start, end);
  const isOther = ({ text }: Made): boolean =>
    ![about, answer].some((part) => text.toLowerCase().includes(part.toLowerCase()));
  const similar: number[] = [];
  for (let at = subjects.length; at < made.length; at += subjects.length) {
    const other = (i + at) % made.length;
    if (similar.length < SIMILAR && isOther(made[other]!)) similar.push(other);
  }
  const ids = readingQuestionIds(retrievalQuestionIds(tokenizer, asked));
  return [{ ids, passage: i, places: [[[first, last]]], answers: [answer], similar }];
}
