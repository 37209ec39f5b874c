/**
 * Makes the training data: all real questions that have a paragraph.
 *
 *     npx tsx recipes/reatt-mini/make-reading-data.ts --data DIR --out DIR
 *
 * - `excerpts/`: each question with an excerpt of its paragraph, short and cheap to read
 * - `paragraphs/`: the same questions with whole paragraphs
 * - `all/`: also those with long answers or paragraphs, and those of SQuAD that have the
 *   sentence of the answer alone
 * - `held-out/`: for choices; nothing is trained on its articles. `squad.jsonl` has questions of
 *   four articles of SQuAD's training split, `new-wiki.jsonl` those of
 *   every tenth article of SQuADShifts
 *
 * SQuAD's dev questions and articles, Reddit and policy questions are not used.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { createRandom, type Random } from "../../src/math/random.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages, readQuestions } from "../../src/text/read-passages.ts";
import {
  readTrainingFile,
  type TrainingQuestion,
} from "../../src/training/examples/training-questions.ts";
import { excerpt, wordsOf } from "./data/excerpt.ts";
import { asKeywords } from "./data/keywords.ts";
import { passageRecord, questionRecord, writeRecords } from "./data/write-records.ts";

const { values } = parseArgs({
  options: {
    data: { type: "string", default: "../shared/data" },
    out: { type: "string", default: "runs/reatt-mini/reading" },
  },
});
const SEED = 1;
/** The least number of words of an excerpt is drawn between these. */
const EXCERPT_WORDS = { least: 25, most: 60 };
/** Words at most. All answers of a step are padded to its longest. */
interface Limits {
  readonly answer: number;
  readonly paragraph: number;
}
const SHORT: Limits = { answer: 8, paragraph: 170 };
const ALL: Limits = { answer: 16, paragraph: 260 };
/** Shares of questions that become lower case, and of those that are shortened to keywords. */
const LOWER_CASE = 0.2;
const KEYWORDS = 0.1;
/** Several questions of QAMR ask for each word of a sentence: some are enough. */
const PER_SENTENCE = 8;
const HELD_OUT_ARTICLES = 4;

interface Source {
  readonly passages: readonly Passage[];
  readonly questions: readonly TrainingQuestion[];
}

async function readSource(folder: string, corpus: string, questions: string): Promise<Source> {
  const passages: Passage[] = [];
  for await (const passage of readPassages(join(folder, corpus))) passages.push(passage);
  return { passages, questions: await readTrainingFile(join(folder, questions)) };
}

/** Splits off the questions on passages with one of the titles. */
function holdOut({ passages, questions }: Source, titles: ReadonlySet<string>) {
  const title = new Map(passages.map((passage) => [passage.id, passage.title]));
  const isHeldOut = ({ passageId }: TrainingQuestion) => titles.has(title.get(passageId!)!);
  return {
    kept: {
      passages: passages.filter((passage) => !titles.has(passage.title)),
      questions: questions.filter((question) => !isHeldOut(question)),
    },
    heldOut: questions.filter(isHeldOut),
  };
}

async function squad(folder: string) {
  const source = await readSource(folder, "corpus.jsonl", "train.jsonl");
  const title = new Map(source.passages.map((passage) => [passage.id, passage.title]));
  const titlesOf = (questions: readonly { passageId?: string | undefined }[]) => [
    ...new Set(questions.map(({ passageId }) => title.get(passageId!)!)),
  ];
  const random = createRandom(SEED, "hold out");
  const out = random.shuffle(titlesOf(source.questions)).slice(0, HELD_OUT_ARTICLES);
  const { kept, heldOut } = holdOut(source, new Set(out));
  const dev = new Set(titlesOf(await readQuestions(join(folder, "dev.jsonl"))));
  const passages = kept.passages.filter((passage) => !dev.has(passage.title));
  return { source: { ...kept, passages }, heldOut, all: source.passages };
}

const withinLimits = (
  byId: ReadonlyMap<string, Passage>,
  { answers, passageId }: TrainingQuestion,
  limits: Limits,
) =>
  answers.some((answer) => wordsOf(answer).length <= limits.answer) &&
  answers.some((answer) => byId.get(passageId!)!.text.includes(answer)) &&
  wordsOf(byId.get(passageId!)!.text).length <= limits.paragraph;

const short = (question: TrainingQuestion, limits: Limits): TrainingQuestion => ({
  ...question,
  answers: question.answers.filter((answer) => wordsOf(answer).length <= limits.answer),
});

/** The questions of `sources` within `limits`, some retyped. */
function chosen(
  sources: readonly Source[],
  byId: ReadonlyMap<string, Passage>,
  limits: Limits,
): TrainingQuestion[] {
  const random = createRandom(SEED, "retyped");
  return sources
    .flatMap((source) => atMostPerPassage(source.questions, PER_SENTENCE))
    .filter((question) => withinLimits(byId, question, limits))
    .map((question) => retyped(short(question, limits), random));
}

/** Questions of SQuAD's training set of which only the sentence of the answer is at hand. */
async function sentences(path: string): Promise<Source> {
  const passages: Passage[] = [];
  const questions: TrainingQuestion[] = [];
  for (const line of gunzipSync(await readFile(path))
    .toString()
    .trim()
    .split("\n")) {
    const { question, answers, sentence } = JSON.parse(line);
    const id = `sentence-${passages.length}`;
    passages.push({ id, title: "", text: sentence });
    questions.push({ id, question, answers, passageId: id });
  }
  return { passages, questions };
}

function atMostPerPassage(
  questions: readonly TrainingQuestion[],
  most: number,
): TrainingQuestion[] {
  const counts = new Map<string, number>();
  return questions.filter(({ passageId }) => {
    const count = counts.get(passageId!) ?? 0;
    counts.set(passageId!, count + 1);
    return count < most;
  });
}

/** The way people type: some in lower case, some only keywords. */
function retyped(question: TrainingQuestion, random: Random): TrainingQuestion {
  const draw = random.next();
  if (draw < KEYWORDS) return { ...question, question: asKeywords(question.question) };
  if (draw < KEYWORDS + LOWER_CASE)
    return { ...question, question: question.question.toLowerCase().replace(/\?\s*$/, "") };
  return question;
}

function excerpts(questions: readonly TrainingQuestion[], byId: ReadonlyMap<string, Passage>) {
  const random = createRandom(SEED, "excerpts");
  const passages = new Map<string, Passage>();
  const asked = questions.map((question) => {
    const words =
      EXCERPT_WORDS.least + random.integer(EXCERPT_WORDS.most - EXCERPT_WORDS.least + 1);
    const found = excerpt(byId.get(question.passageId!)!, { ...question, words }, random);
    passages.set(found.id, found);
    return { ...question, passageId: found.id };
  });
  return { questions: asked, passages: [...passages.values()] };
}

async function main(): Promise<void> {
  const { data, out } = values;
  const first = await squad(join(data, "squad"));
  const read = (name: string) =>
    readSource(join(data, "qa", name), "corpus.jsonl.gz", "questions.jsonl.gz");
  const newWiki = await read("new-wiki");
  const titles = [...new Set(newWiki.passages.map(({ title }) => title))];
  const second = holdOut(newWiki, new Set(titles.filter((_, i) => i % 10 === 0)));
  const others = await Promise.all(["squad-train", "qamr", "cmu", "fairytale"].map(read));
  const sources: Source[] = [first.source, second.kept, ...others];
  const alone = await sentences(join(data, "qa/no-passage/squad-train-sentences.jsonl.gz"));
  const passages = [...sources, alone].flatMap((source) => source.passages);
  const byId = new Map(passages.map((p) => [p.id, p]));
  const questions = chosen(sources, byId, SHORT);
  const all = chosen([...sources, alone], byId, ALL);
  const cut = excerpts(questions, byId);
  const corpusOf = (asked: readonly TrainingQuestion[]) =>
    [...new Set(asked.map(({ passageId }) => passageId!))].map((id) =>
      passageRecord(byId.get(id)!),
    );
  const files = {
    "excerpts/corpus.jsonl": cut.passages.map(passageRecord),
    "excerpts/questions.jsonl": cut.questions.map(questionRecord),
    "paragraphs/corpus.jsonl": corpusOf(questions),
    "paragraphs/questions.jsonl": questions.map(questionRecord),
    "all/corpus.jsonl": corpusOf(all),
    "all/questions.jsonl": all.map(questionRecord),
    "held-out/squad-corpus.jsonl": first.all.map(passageRecord),
    "held-out/squad.jsonl": first.heldOut.map(questionRecord),
    "held-out/new-wiki-corpus.jsonl": newWiki.passages.map(passageRecord),
    "held-out/new-wiki.jsonl": second.heldOut.map(questionRecord),
  };
  await writeRecords(out, files);
}

await main();
