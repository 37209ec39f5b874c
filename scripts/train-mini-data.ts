/**
 * What `scripts/train-mini` trains on: passages of Wikipedia and of SQuAD, SQuAD's training questions, and questions made from sentences
 * of Wikipedia (noisy clozes; Lewis et al., Unsupervised question answering by cloze translation, 2019).
 *
 *     npx tsx scripts/train-mini-data.ts --data ../shared/data --out DIR [--passages N] [--hold-out N]
 *
 * DIR/corpus.jsonl and DIR/questions.jsonl are to train on. DIR/squad has SQuAD alone: `train.jsonl` with the
 * paragraphs of its training articles, and to choose by `held-out.jsonl`, the questions about some of these, which nothing is trained on, and
 * `corpus.jsonl`, all paragraphs. Nothing is made of SQuAD's dev questions or of their articles.
 */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { replaceFile } from "../src/replace-file.ts";
import { buildBm25 } from "../src/retrieval/bm25/bm25.ts";
import { readPassages, readQuestions } from "../src/text/corpus.ts";
import type { Passage } from "../src/text/passage.ts";
import { createRandom, type Random } from "../src/training/random.ts";
import { loadTagger, MASK, maskedSentences, type Span, type Tagger } from "../src/training/salient-spans.ts";
import { readTrainingFile, type TrainingQuestion } from "../src/training/tasks/data.ts";
import { wikiPassages } from "./bench-index/corpus.ts";

const { values } = parseArgs({
  options: {
    data: { type: "string", default: "../shared/data" },
    out: { type: "string", default: "runs/reatt-mini/data" },
    passages: { type: "string", default: "60000" },
    "hold-out": { type: "string", default: "4" },
  },
});
const SEED = 1;
/** Words of a passage of Wikipedia. Short ones cost little, so that there can be many; SQuAD's are long. */
const PASSAGE_WORDS = 60;
const CLOZES_PER_PASSAGE = 2;
/** Real questions are few; each stands so often among the clozes. */
const TIMES_SQUAD = 3;

/** Words of a question on either side of what it asks for. */
const SIDE = 9;
/** The share of its words that a question leaves out, so that it is no copy of the sentence. */
const DROPPED = 0.25;
/** The share of questions that name the article: what a sentence is about, it often does not say. */
const TITLED = 0.5;
/** A question is kept if BM25 finds its passage among so many of all: others could be asked about any passage. */
const FINDABLE = 20;

const WH: Readonly<Record<string, readonly string[]>> = {
  person: ["who"],
  organisation: ["who", "which organization", "what"],
  date: ["when", "what year", "when"],
  time: ["when"],
  place: ["where", "what place"],
  location: ["where"],
  facility: ["where", "what building"],
  number: ["how many", "how much", "what number"],
  language: ["what language"],
  nationality: ["what nationality", "which"],
};
const OTHER = ["what", "which", "what"];

/** Names, dates, numbers, and what follows an article: as in SQuAD, most answers are no names. */
function answerTagger(names: Tagger): Tagger {
  return async (sentence) => {
    const spans: Span[] = [...(await names(sentence))];
    const add = (kind: string, start: number, text: string): void => {
      const end = start + text.length;
      if (spans.every((span) => span.end <= start || end <= span.start)) spans.push({ start, end, kind });
    };
    for (const { index, 0: number } of sentence.matchAll(/(?<![\p{L}\d.,])\d[\d,.]*\d(?![\p{L}\d])/gu))
      add("number", index, number);
    for (const { index, 0: all, 1: phrase } of sentence.matchAll(
      /\b(?:the|a|an|its|their|his|her) ((?:\p{Ll}{3,} ){0,2}\p{Ll}{4,})(?= (?:of|in|for|to|and|from|by|with|on|that|was|is)\b|[,.;])/gu,
    ))
      add("phrase", index + all.length - phrase!.length, phrase!);
    return spans.sort((a, b) => a.start - b.start);
  };
}

/** "The war ended in <extra_id_0> after a treaty.", "Franco-Dutch War" -> "when war ended in after treaty Franco-Dutch War?" */
function asQuestion(masked: string, kind: string, title: string, random: Random): string {
  const [left = "", right = ""] = masked.split(MASK);
  const words = (text: string): string[] => text.match(/[\p{L}\p{N}]+(?:['’.-][\p{L}\p{N}]+)*/gu) ?? [];
  const kept = (text: readonly string[]): string[] => text.filter(() => random.next() >= DROPPED);
  const before = kept(words(left).slice(-SIDE));
  const after = kept(words(right).slice(0, SIDE));
  const forms = WH[kind] ?? OTHER;
  const wh = forms[random.integer(forms.length)]!;
  const rest = random.next() < 0.5 ? [...before, ...after] : [...after, ...before];
  return `${[wh, ...rest, ...words(title)].join(" ")}?`;
}

async function clozes(passages: readonly Passage[]): Promise<TrainingQuestion[]> {
  const questions: TrainingQuestion[] = [];
  const titles = new Map(passages.map(({ id, title }) => [id, title]));
  const bm25 = await buildBm25(passages);
  const tagger = answerTagger(await loadTagger());
  const random = createRandom(SEED, "clozes");
  const options = { tagger, perPassage: CLOZES_PER_PASSAGE, seed: SEED };
  for await (const { question: masked, entity, kind, passageId } of maskedSentences(passages, options)) {
    const title = titles.get(passageId)!;
    const named = random.next() < TITLED && !title.includes(entity);
    const question = asQuestion(masked, kind, named ? title : "", random);
    if (bm25.search(question, FINDABLE).every(({ id }) => id !== passageId)) continue;
    questions.push({ id: `cloze-${questions.length}`, question, answers: [entity], passageId });
  }
  return questions;
}

const lines = (records: readonly object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");
const record = ({ id, title, text }: Passage): object => ({ _id: id, title, text });
const asRecord = ({ id, question, answers, passageId }: TrainingQuestion, copy = 0): object => ({
  id: copy ? `${id}-${copy}` : id,
  question,
  answers,
  passage_id: passageId,
});

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
  const isHeldOut = ({ passageId }: TrainingQuestion): boolean => heldOut.has(titles.get(passageId!)!);
  const devArticles = new Set(dev.map(({ passageId }) => titles.get(passageId!)));
  const wiki: Passage[] = [];
  const wikiFile = join(data, "wiki", "articles.jsonl.gz");
  for await (const passage of wikiPassages(wikiFile, Number(values.passages), PASSAGE_WORDS))
    wiki.push(passage);
  const own = paragraphs.filter(({ title }) => !devArticles.has(title));
  const asked = train.filter((question) => !isHeldOut(question));
  const files = {
    "corpus.jsonl": [...own, ...wiki].map(record),
    "questions.jsonl": [
      ...Array.from({ length: TIMES_SQUAD }, (_, copy) =>
        asked.map((question) => asRecord(question, copy)),
      ).flat(),
      ...(await clozes(wiki)).map((question) => asRecord(question)),
    ],
    "squad/corpus.jsonl": paragraphs.map(record),
    "squad/train-corpus.jsonl": own.map(record),
    "squad/train.jsonl": asked.map((question) => asRecord(question)),
    "squad/held-out.jsonl": train.filter(isHeldOut).map((question) => asRecord(question)),
  };
  await mkdir(join(out, "squad"), { recursive: true });
  for (const [name, records] of Object.entries(files)) {
    await replaceFile(join(out, name), (file) => file.writeFile(lines(records)));
    process.stdout.write(`${join(out, name)}: ${records.length}\n`);
  }
}

await main();
