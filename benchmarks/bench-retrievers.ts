/**
 * The retrievers of one model on a dataset: words (BM25), one vector for each passage, token
 * vectors, phrases, and combinations.
 *
 *     node --import tsx benchmarks/bench-retrievers.ts [--model DIR] [--vectors DIR]
 *         [--phrases DIR] [--data DIR] [--split NAME] [--max-passage-tokens N] [--every N]
 *
 * `--data` is the folder of a BEIR dataset, or of questions with a `passage_id`. `--every N` asks
 * every Nth question only. `--vectors` is a model that was trained with `--pooling`; without it,
 * the vector of a text is the mean of the states of the backbone, which is what MiniLM was trained
 * for. `--phrases` is a model with phrase queries (`reatt train --phrase-loss`); without it, there
 * is no row of phrases. `--write-vectors DIR` writes the vector model that training starts from.
 *
 * All rows are computed in float32, one question at a time, on one thread. Indexes have 4 bits a
 * value, are built on all cores and are searched as a user's are. Prints a row for each retriever.
 * "read" is exact match of the reader of `--model` on the best passage, "quoted" that of the best
 * phrase; both only for questions with answers.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openBeir } from "../src/evaluation/beir.ts";
import { evaluateAnswers } from "../src/evaluation/predictions.ts";
import { evaluateRun, type Qrels } from "../src/evaluation/ranking.ts";
import { ReAtt } from "../src/reatt.ts";
import type { ScoredId } from "../src/retrieval/bm25/bm25.ts";
import { openLexicalIndex } from "../src/retrieval/lexical-index.ts";
import { indexInfo } from "../src/retrieval/maintain.ts";
import type { TokenIndex } from "../src/retrieval/search/token-index.ts";
import type { Passage } from "../src/text/passage.ts";
import { type Question, readQuestions } from "../src/text/read-passages.ts";
import { writeTokenModel, writeVectorModel, writeWeighedModel } from "./bench-retrievers/models.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    vectors: { type: "string" },
    phrases: { type: "string" },
    data: { type: "string", default: "../shared/data/squad" },
    split: { type: "string", default: "dev" },
    "max-passage-tokens": { type: "string", default: "256" },
    every: { type: "string", default: "1" },
    "write-vectors": { type: "string" },
  },
});
const MAX_PASSAGE_TOKENS = Number(values["max-passage-tokens"]);
const DEPTH = 100;
/** Passages that vectors choose for tokens to rank. */
const CHOSEN = 1000;
const CUTOFFS = [1, 5, 10, 20];

/** The best passages of a question, and the answer that was found with them. */
interface Found {
  readonly hits: readonly ScoredId[];
  readonly quoted?: string | undefined;
}

interface Retriever {
  readonly name: string;
  readonly search: (question: string) => Promise<Found>;
  /** Of the index, and the seconds of its build on all cores. */
  readonly index?: { readonly bytes: number; readonly seconds: number };
}

interface Asked {
  readonly qrels: Qrels;
  readonly questions: ReadonlyMap<string, string>;
  readonly passages: ReadonlyMap<string, Passage>;
  /** The same questions with their answers, if they have any. */
  readonly answered: readonly Question[];
  readonly reader: ReAtt;
}

/** What the reader answered, by question and passage: retrievers often find the same one first. */
const readAnswers = new Map<string, string>();

if (values["write-vectors"]) {
  await writeVectorModel(values.model, values["write-vectors"]);
} else {
  const folder = await mkdtemp(join(tmpdir(), "reatt-retrievers-"));
  try {
    await compare(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function compare(folder: string): Promise<void> {
  const dataset = await openBeir(values.data);
  const passages = new Map<string, Passage>();
  for await (const passage of dataset.passages()) passages.set(passage.id, passage);
  const corpus = { size: passages.size, passages: () => dataset.passages() };
  const at = (name: string): string => join(folder, name);
  await writeTokenModel(values.model, at("tokens"));
  await writeWeighedModel(values.model, at("weighed"), corpus, MAX_PASSAGE_TOKENS);
  if (!values.vectors) await writeVectorModel(values.model, at("vectors"));
  if (values.phrases) await writeTokenModel(values.phrases, at("phrases"));
  const load = (model: string) => ReAtt.load(model, { threads: 1 });
  await using tokens = await load(at("tokens"));
  await using weighed = await load(at("weighed"));
  await using vectors = await load(values.vectors ?? at("vectors"));
  await using phrases = values.phrases ? await load(at("phrases")) : undefined;
  const tokenIndex = await build(tokens, at("token-index"), passages);
  const vectorIndex = await build(vectors, at("vector-index"), passages);
  const phraseIndex = phrases && (await build(phrases, at("phrase-index"), passages));
  const asked = await openQuestions(dataset, passages, tokens);
  console.log(
    `${values.data}, ${values.split}: ${asked.qrels.size} questions, ${passages.size} passages`,
  );
  const ofPhrases = phrases && { model: phrases, index: phraseIndex! };
  const opened = { tokens, weighed, vectors, tokenIndex, vectorIndex, phrases: ofPhrases };
  for (const retriever of await retrievers(opened)) console.log(await row(retriever, asked));
  for (const index of [tokenIndex, vectorIndex, phraseIndex]) await index?.opened.close();
}

async function openQuestions(
  { qrels, queries }: Awaited<ReturnType<typeof openBeir>>,
  passages: ReadonlyMap<string, Passage>,
  reader: ReAtt,
): Promise<Asked> {
  const judged = [...(await qrels(values.split))];
  const chosen: Qrels = new Map(judged.filter((_, i) => i % Number(values.every) === 0));
  const file = join(values.data, `${values.split}.jsonl`);
  const all = await readQuestions(file).catch(() => []); // a BEIR dataset has no such file
  const answered = all.filter(({ id, answers }) => chosen.has(id) && answers);
  return { qrels: chosen, questions: queries, passages, answered, reader };
}

interface Opened {
  readonly tokens: ReAtt;
  readonly weighed: ReAtt;
  readonly vectors: ReAtt;
  readonly tokenIndex: Built;
  readonly vectorIndex: Built;
  readonly phrases?: { readonly model: ReAtt; readonly index: Built } | undefined;
}

async function retrievers(opened: Opened): Promise<Retriever[]> {
  const { tokens, weighed, vectors, tokenIndex, vectorIndex } = opened;
  const { k1, b } = tokens.config.hybrid!;
  const lexical = await openLexicalIndex(tokenIndex.opened, { k1, b });
  const hybrid = { ...tokens.config.hybrid!, lexical };
  const dense = (model: ReAtt, index: Built, isHybrid = false) => ({
    index,
    search: async (question: string): Promise<Found> => ({
      hits: await model.retrieve(question, index.opened, {
        topK: DEPTH,
        hybrid: isHybrid && hybrid,
      }),
    }),
  });
  const twoStages = async (question: string): Promise<Found> => {
    const chosen = await vectors.retrieve(question, vectorIndex.opened, {
      topK: CHOSEN,
      hybrid: false,
    });
    const filter = new Set(chosen.map(({ id }) => id));
    return {
      hits: await tokens.retrieve(question, tokenIndex.opened, {
        topK: DEPTH,
        filter,
        hybrid: false,
      }),
    };
  };
  const phrases = opened.phrases && phraseRow(opened.phrases);
  const words = async (question: string): Promise<Found> => ({
    hits: lexical.search(question, { topK: DEPTH }),
  });
  return [
    { name: "words (BM25)", search: words },
    { name: "vectors", ...dense(vectors, vectorIndex) },
    { name: "tokens", ...dense(tokens, tokenIndex) },
    { name: "tokens, weighed", ...dense(weighed, tokenIndex) },
    { name: "vectors, then tokens", search: twoStages },
    ...(phrases ? [phrases] : []),
    { name: "tokens and words", ...dense(tokens, tokenIndex, true) },
    { name: "weighed tokens and words", ...dense(weighed, tokenIndex, true) },
  ];
}

/** Passages by their best phrase. */
function phraseRow({ model, index }: NonNullable<Opened["phrases"]>): Retriever {
  const options = { topK: DEPTH, granularity: "passage" } as const;
  const search = async (question: string): Promise<Found> => {
    const hits = await model.phrases(question, index.opened, options);
    return { hits, quoted: hits[0]?.answer };
  };
  return { name: "phrases", search, index };
}

interface Built {
  readonly opened: TokenIndex;
  readonly bytes: number;
  readonly seconds: number;
}

async function build(
  model: ReAtt,
  directory: string,
  passages: ReadonlyMap<string, Passage>,
): Promise<Built> {
  const start = performance.now();
  const options = { directory, bits: 4, maxPassageTokens: MAX_PASSAGE_TOKENS } as const;
  await using builder = await ReAtt.load(model.folder);
  await (await builder.index(passages.values(), options)).close();
  const seconds = (performance.now() - start) / 1000;
  const opened = await model.openIndex(directory, { threads: 1 });
  const { bytes } = await indexInfo(directory);
  return { opened, bytes, seconds };
}

async function row({ name, search, index }: Retriever, asked: Asked): Promise<string> {
  const { qrels, questions, passages } = asked;
  await search(questions.get([...qrels.keys()][0]!)!); // warm-up
  const found = new Map<string, Found>();
  const before = process.cpuUsage();
  for (const id of qrels.keys()) found.set(id, await search(questions.get(id)!));
  const { user, system } = process.cpuUsage(before);
  const run = new Map(
    [...found].map(([id, { hits }]) => [id, hits.filter((hit) => hit.id !== id)] as const),
  );
  const { measures } = evaluateRun(run, qrels, CUTOFFS);
  const percent = (measure: string) => (100 * measures[measure]!).toFixed(1);
  return [
    `| ${name}`,
    ...["recall@1", "recall@5", "recall@20", "mrr@20", "ndcg@10"].map(percent),
    ...(await answerCells(found, asked)),
    index ? (index.bytes / passages.size).toFixed(0) : "",
    ((user + system) / 1000 / qrels.size).toFixed(1),
    `${index ? index.seconds.toFixed(0) : ""} |`,
  ].join(" | ");
}

/** P@20 by answer, exact match of the reader on the best passage, and of the best phrase. */
async function answerCells(
  found: ReadonlyMap<string, Found>,
  { answered, passages, reader }: Asked,
): Promise<string[]> {
  if (answered.length === 0) return ["", "", ""];
  const texts = (hits: readonly ScoredId[]) => hits.map(({ id }) => passages.get(id)!.text);
  const read = new Map<string, { answer: string; passages: string[] }>();
  const quoted = new Map<string, { answer: string; passages: string[] }>();
  for (const { id, question } of answered) {
    const { hits, quoted: answer } = found.get(id)!;
    const key = `${id} ${hits[0]?.id}`;
    if (hits[0] && !readAnswers.has(key)) {
      const reply = await reader.read(question, [passages.get(hits[0].id)!], {
        minimumConfidence: 0,
      });
      readAnswers.set(key, reply.answer ?? "");
    }
    read.set(id, { answer: readAnswers.get(key) ?? "", passages: texts(hits.slice(0, 20)) });
    if (answer !== undefined) quoted.set(id, { answer, passages: [] });
  }
  const { measures } = evaluateAnswers(read, answered, [20]);
  const exact = evaluateAnswers(quoted, answered, []).measures.exactMatch!;
  return [
    (100 * measures["p@20"]!).toFixed(1),
    (100 * measures.exactMatch!).toFixed(1),
    quoted.size > 0 ? (100 * exact).toFixed(1) : "",
  ];
}
