/**
 * Makes the training data of `recipes/reatt-mini/train`: passages of Wikipedia, SQuAD's training
 * questions with excerpts of its paragraphs, and questions generated from sentences of Wikipedia.
 *
 *     npx tsx recipes/reatt-mini/make-data.ts --data DIR --out DIR [--passages N] [--hold-out N]
 *
 * OUT/corpus.jsonl and OUT/questions.jsonl are for the stage `read`. OUT/squad has SQuAD alone:
 * `train.jsonl` and `train-corpus.jsonl`, and for choices `held-out.jsonl` (questions of some
 * training articles, which nothing is trained on) and `corpus.jsonl` (all paragraphs). SQuAD's dev
 * questions and their articles are not used.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "../../src/math/random.ts";
import { buildBm25 } from "../../src/retrieval/bm25/bm25.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages, readQuestions } from "../../src/text/read-passages.ts";
import { sentences } from "../../src/text/sentences.ts";
import {
  readTrainingFile,
  type TrainingQuestion,
} from "../../src/training/data/training-questions.ts";
import {
  loadTagger,
  maskedSentences,
  type SalientSpan,
  type Tagger,
} from "../../src/training/salient-spans/index.ts";
import { excerpt } from "./data/excerpt.ts";
import { ask, wordsOf } from "./data/make-question.ts";
import { passageRecord, questionRecord, writeRecords } from "./data/write-records.ts";

const { values } = parseArgs({
  options: {
    data: { type: "string", default: "../shared/data" },
    out: { type: "string", default: "runs/reatt-mini/data" },
    passages: { type: "string", default: "40000" },
    "hold-out": { type: "string", default: "4" },
  },
});
const SEED = 1;
/** Least words of a passage of Wikipedia. Short ones cost little, so there can be many. */
const PASSAGE_WORDS = 30;
/** The least number of words of an excerpt is drawn between these. */
const EXCERPT_WORDS = { least: 20, most: 50 };
const MADE_UP_PER_PASSAGE = 2;
/** Real questions are few: each is repeated this often, with a different excerpt. */
const TIMES_SQUAD = 8;
/**
 * Most words of an answer of SQuAD. All answers of a step are padded to its longest, and each
 * position costs a distribution over the vocabulary.
 */
const ANSWER_WORDS = 7;

/** Share of questions that name the article, which a sentence often does not. */
const TITLED = 0.5;
const LEAST_WORDS = 5;
/** A question is kept if BM25 finds its passage among this many. Others fit any passage. */
const FINDABLE = 20;

/** Names, dates, numbers and noun phrases: as in SQuAD, most answers are not names. */
function answerTagger(names: Tagger): Tagger {
  return async (sentence) => {
    const spans: SalientSpan[] = [...(await names(sentence))];
    const add = (kind: string, start: number, text: string): void => {
      const end = start + text.length;
      if (spans.every((span) => span.end <= start || end <= span.start))
        spans.push({ start, end, kind });
    };
    for (const { index, 0: number } of sentence.matchAll(
      /(?<![\p{L}\d.,])\d[\d,.]*\d(?![\p{L}\d])/gu,
    ))
      add("number", index, number);
    for (const { index, 0: all, 1: phrase } of sentence.matchAll(
      /\b(?:the|a|an|its|their|his|her) ((?:\p{Ll}{3,} ){0,2}\p{Ll}{4,})(?= (?:of|in|for|to|and|from|by|with|on|that|was|is)\b|[,.;])/gu,
    ))
      add("phrase", index + all.length - phrase!.length, phrase!);
    return spans.sort((a, b) => a.start - b.start);
  };
}

/** The first `limit` passages of whole sentences of the articles in `file`. */
async function wikiPassages(file: string, limit: number): Promise<Passage[]> {
  const passages: Passage[] = [];
  for await (const { id, title, text } of readPassages(file)) {
    let start = 0;
    for (const { end } of sentences(text)) {
      if (wordsOf(text.slice(start, end)).length < PASSAGE_WORDS && end < text.length) continue;
      passages.push({ id: `${id}-${start}`, title, text: text.slice(start, end).trim() });
      start = end;
      if (passages.length === limit) return passages;
    }
  }
  return passages;
}

/** Each question `TIMES_SQUAD` times, and their passages. */
function withExcerpts(
  questions: readonly TrainingQuestion[],
  paragraphs: readonly Passage[],
): { questions: TrainingQuestion[]; excerpts: Passage[] } {
  const { least, most } = EXCERPT_WORDS;
  const byId = new Map(paragraphs.map((paragraph) => [paragraph.id, paragraph]));
  const excerpts = new Map<string, Passage>();
  const random = createRandom(SEED, "excerpts");
  const copies = Array.from({ length: TIMES_SQUAD }, (_, copy) =>
    questions.map((question) => {
      const words = least + random.integer(most - least + 1);
      const found = excerpt(byId.get(question.passageId!)!, { ...question, words }, random);
      excerpts.set(found.id, found);
      return { ...question, id: `${question.id}-${copy}`, passageId: found.id };
    }),
  );
  return { questions: copies.flat(), excerpts: [...excerpts.values()] };
}

async function madeUp(passages: readonly Passage[]): Promise<TrainingQuestion[]> {
  const questions: TrainingQuestion[] = [];
  const titles = new Map(passages.map(({ id, title }) => [id, title]));
  const bm25 = await buildBm25(passages);
  const tagger = answerTagger(await loadTagger());
  const random = createRandom(SEED, "made up");
  const options = { tagger, perPassage: MADE_UP_PER_PASSAGE, seed: SEED };
  for await (const { question: masked, entity, kind, passageId } of maskedSentences(
    passages,
    options,
  )) {
    const title = titles.get(passageId)!;
    const named = random.next() < TITLED && !title.includes(entity);
    const question = ask({ masked, answer: entity, kind, title: named ? title : "" }, random);
    if (wordsOf(question).length < LEAST_WORDS) continue;
    if (bm25.search(question, FINDABLE).every(({ id }) => id !== passageId)) continue;
    questions.push({ id: `made-up-${questions.length}`, question, answers: [entity], passageId });
  }
  return questions;
}

async function main(): Promise<void> {
  const { data, out } = values;
  const squad = join(data, "squad");
  const paragraphs: Passage[] = [];
  for await (const passage of readPassages(join(squad, "corpus.jsonl"))) paragraphs.push(passage);
  const titles = new Map(paragraphs.map(({ id, title }) => [id, title]));
  const train = await readTrainingFile(join(squad, "train.jsonl"));
  const dev = await readQuestions(join(squad, "dev.jsonl"));
  const articles = [...new Set(train.map(({ passageId }) => titles.get(passageId!)!))];
  const heldOut = new Set(
    createRandom(SEED, "hold out").shuffle(articles).slice(0, Number(values["hold-out"])),
  );
  const isHeldOut = ({ passageId }: TrainingQuestion): boolean =>
    heldOut.has(titles.get(passageId!)!);
  const devArticles = new Set(dev.map(({ passageId }) => titles.get(passageId!)));
  const wiki = await wikiPassages(join(data, "wiki", "articles.jsonl.gz"), Number(values.passages));
  const own = paragraphs.filter(({ title }) => !devArticles.has(title));
  const asked = train.filter((question) => !isHeldOut(question));
  const short = asked.filter(({ answers }) =>
    answers.every((answer) => wordsOf(answer).length <= ANSWER_WORDS),
  );
  const { questions: real, excerpts } = withExcerpts(short, own);
  const files = {
    "corpus.jsonl": [...excerpts, ...wiki].map(passageRecord),
    "questions.jsonl": [...real, ...(await madeUp(wiki))].map(questionRecord),
    "squad/corpus.jsonl": paragraphs.map(passageRecord),
    "squad/train-corpus.jsonl": own.map(passageRecord),
    "squad/train.jsonl": asked.map(questionRecord),
    "squad/held-out.jsonl": train.filter(isHeldOut).map(questionRecord),
  };
  await writeRecords(out, files);
}

await main();
