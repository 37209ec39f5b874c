/**
 * Which score could teach retrieval: how each ranks the candidates of a query.
 *
 *     node --import tsx benchmarks/teachers.ts --data DIR --split NAME [--queries 100]
 *     node --import tsx benchmarks/teachers.ts --data DIR --source crops [--queries 100]
 *
 * The candidates are the 8 best of BM25, read as in training. Queries without a relevant one among
 * them are left out. The table has nDCG@10 over the candidates, the share of the queries with a
 * relevant passage first, and the gain of nDCG@10 over the model and over hybrid search, each with
 * its standard error.
 */

import { parseArgs } from "node:util";
import { openBeir } from "../src/evaluation/beir.ts";
import { measureRanking } from "../src/evaluation/ranking.ts";
import { mean } from "../src/math/mean.ts";
import { createRandom } from "../src/math/random.ts";
import { ReAtt } from "../src/reatt.ts";
import { buildBm25 } from "../src/retrieval/bm25/bm25.ts";
import type { Passage } from "../src/text/passage.ts";
import { type Corpus, openCorpus } from "../src/training/examples/corpus.ts";
import { type Example, MASK, readAs } from "../src/training/examples/example.ts";
import { SOURCES } from "../src/training/examples/sources/list.ts";

const CANDIDATES = 8;
/** A removal can leave a passage empty. */
const SPARE = 4;
/** The first token says whether there is an answer. A limit of the input cuts a long passage. */
const FIRST_TOKEN = {
  maxPassageTokens: 192,
  maxInputTokens: 512,
  maxAnswerTokens: 1,
  minimumConfidence: 0,
};
/** What the log odds of the reader count for, beside the score of hybrid search. */
const WEIGHTS = [0.05, 0.1, 0.2, 0.4];
/** Queries that are made for each one that is used: most have a relevant candidate. */
const MADE = 5;
/** Queries between two tables. */
const REPORTED = 10;

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    data: { type: "string" },
    split: { type: "string" },
    source: { type: "string" },
    queries: { type: "string", default: "100" },
  },
});
const folder = values.data!;

/** Queries with labels as examples, or examples made of the corpus. */
async function readExamples(corpus: Corpus): Promise<Example[]> {
  const random = createRandom(0, "teachers");
  if (values.source !== undefined) {
    const made: Example[] = [];
    const sample = { wanted: MADE * Number(values.queries), seed: 0 };
    const source = SOURCES.find(({ name }) => name === values.source)!;
    for await (const one of source.examples(corpus, sample)) made.push(one);
    return random.shuffle(made);
  }
  const dataset = await openBeir(folder);
  const labelled = [...(await dataset.qrels(values.split!))].map(([id, labels]) => ({
    id,
    question: dataset.queries.get(id)!,
    answers: [],
    relevant: [...labels].flatMap(([passage, label]) => (label > 0 ? [passage] : [])),
  }));
  return random.shuffle(labelled);
}

interface Measured {
  readonly ndcg: number;
  readonly first: number;
}

const measured = new Map<string, Measured[]>();

await using model = await ReAtt.load(values.model);
await using corpus = await openCorpus((await openBeir(folder)).corpus);
const bm25 = await corpus.bm25();
let used = 0;
for (const example of await readExamples(corpus)) {
  if (used === Number(values.queries)) break;
  const passages = await candidatesOf(example);
  const relevant = passages.filter(({ id }) => example.relevant.includes(id));
  if (relevant.length === 0 || relevant.length === passages.length) continue;
  const labels = new Map(relevant.map(({ id }) => [id, 1]));
  const found = await readCandidates(example.question, passages);
  const hybrid = found.map(({ words, similarity }) => words + similarity);
  const read = found.map(({ reading }) => reading);
  const scores: Record<string, readonly number[]> = {
    model: found.map(({ similarity }) => similarity),
    words: found.map(({ words }) => words),
    hybrid,
    reading: read,
    ...Object.fromEntries(
      WEIGHTS.map((weight) => [
        `hybrid + ${weight} reading`,
        hybrid.map((score, i) => score + weight * read[i]!),
      ]),
    ),
  };
  for (const [name, own] of Object.entries(scores)) {
    const results = passages.map(({ id }, i) => ({ id, score: own[i]! }));
    const { "ndcg@10": ndcg, "p@1": first } = measureRanking(results, labels, [1, 10]);
    const each = measured.get(name) ?? [];
    measured.set(name, [...each, { ndcg: ndcg!, first: first! }]);
  }
  used++;
  if (used % REPORTED === 0) print();
}
print();

async function candidatesOf({ question, removal = {} }: Example) {
  const best = bm25.search(question.replace(MASK, " "), CANDIDATES + SPARE);
  const found = await corpus.pick(best.map(({ id }) => id));
  return best.flatMap(({ id }) => readAs(removal, found.get(id)!) ?? []).slice(0, CANDIDATES);
}

/**
 * The scores of passages that are read alone: BM25 over the terms of the question and lambda times
 * the retrieval score, which hybrid search adds up, and the log odds that there is an answer.
 */
async function readCandidates(question: string, passages: readonly Passage[]) {
  const { lambda, k1, b } = model.config.hybrid!;
  const text = question.replace(MASK, " ");
  const lexical = await buildBm25(passages, {}, bm25);
  const terms = Math.max(1, lexical.analyser.terms(text).length);
  const words = lexical.score(text, Uint32Array.from(passages.keys()), { k1, b });
  const alone = passages.map((passage) => [passage]);
  const scores: { words: number; similarity: number; reading: number }[] = [];
  for await (const { signals } of model.read(
    alone.map(() => question),
    alone,
    FIRST_TOKEN,
  ))
    scores.push({
      words: words[scores.length]! / terms,
      similarity: lambda * signals!.similarity!,
      reading: -signals!.emptiness!,
    });
  return scores;
}

function print(): void {
  console.log(`\n${folder}, ${values.split ?? values.source}: ${used} queries\n`);
  console.log("| score | nDCG@10 | first | over the model | over hybrid |");
  console.log("|---|---|---|---|---|");
  for (const [name, each] of measured) {
    const [ndcg, first] = [mean(each.map((one) => one.ndcg)), mean(each.map((one) => one.first))];
    const gains = ["model", "hybrid"].map((base) => gainOver(measured.get(base)!, each));
    console.log(`| ${[name, percent(ndcg), percent(first), ...gains].join(" | ")} |`);
  }
}

function percent(value: number): string {
  return (100 * value).toFixed(1);
}

function gainOver(base: readonly Measured[], each: readonly Measured[]): string {
  const gains = each.map(({ ndcg }, i) => ndcg - base[i]!.ndcg);
  const gain = mean(gains);
  const error = Math.sqrt(mean(gains.map((one) => (one - gain) ** 2)) / gains.length);
  return `${percent(gain)} ± ${percent(error)}`;
}
