/**
 * The retrievers of one model on a dataset, nothing trained: words (BM25), one vector for each
 * passage, token vectors, and combinations.
 *
 *     node --import tsx benchmarks/bench-retrievers.ts [--model DIR] [--data DIR] [--split NAME]
 *         [--max-passage-tokens N] [--every N]
 *
 * `--data` is the folder of a BEIR dataset, or of questions with a `passage_id`. `--every N` asks
 * every Nth question only. The model needs a backbone: the mean of its states is the vector of a
 * text, which is what MiniLM was trained for. All rows are computed in float32, one question at a
 * time, on one thread; indexes have 4 bits a value. Prints a row for each retriever.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openBeir } from "../src/evaluation/beir.ts";
import { evaluateRun, type Qrels } from "../src/evaluation/ranking.ts";
import { type ModelConfig, readConfig } from "../src/model/config.ts";
import { loadWeights } from "../src/model/load-weights.ts";
import { TOKEN_WEIGHTS } from "../src/model/parameter-names.ts";
import { ReAtt } from "../src/reatt.ts";
import type { ScoredId } from "../src/retrieval/bm25/bm25.ts";
import { openLexicalIndex } from "../src/retrieval/bm25/lexical-index.ts";
import { indexInfo } from "../src/retrieval/index/maintain/info.ts";
import type { TokenIndex } from "../src/retrieval/search/token-index.ts";
import type { Passage } from "../src/text/passage.ts";
import { loadTokenizer } from "../src/text/tokenizer.ts";
import { countTokenWeights } from "../src/training/adaptation/token-weights.ts";
import { writeModel } from "../src/training/run/save-model.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    data: { type: "string", default: "../shared/data/squad" },
    split: { type: "string", default: "dev" },
    "max-passage-tokens": { type: "string", default: "256" },
    every: { type: "string", default: "1" },
  },
});
const MAX_PASSAGE_TOKENS = Number(values["max-passage-tokens"]);
const DEPTH = 100;
/** Passages that vectors choose for tokens to rank. */
const CHOSEN = 1000;
const CUTOFFS = [1, 5, 10, 20];

/** Returns the best passages of a question. */
type Search = (question: string) => Promise<readonly ScoredId[]>;

interface Retriever {
  readonly name: string;
  readonly search: Search;
  /** Of the index, and the seconds of its build. */
  readonly index?: { readonly bytes: number; readonly seconds: number };
}

const folder = await mkdtemp(join(tmpdir(), "reatt-retrievers-"));
try {
  await compare();
} finally {
  await rm(folder, { recursive: true });
}

async function compare(): Promise<void> {
  const dataset = await openBeir(values.data);
  const passages: Passage[] = [];
  for await (const passage of dataset.passages()) passages.push(passage);
  const judged = [...(await dataset.qrels(values.split))];
  const qrels: Qrels = new Map(judged.filter((_, i) => i % Number(values.every) === 0));
  await writeModels({ size: passages.length, passages: () => dataset.passages() });
  const [tokens, weighed, vectors] = await Promise.all(
    ["tokens", "weighed", "vectors"].map((name) => ReAtt.load(join(folder, name), { threads: 1 })),
  );
  const tokenIndex = await build(tokens!, "token-index", passages);
  const vectorIndex = await build(vectors!, "vector-index", passages);
  const { k1, b } = tokens!.config.hybrid!;
  const lexical = await openLexicalIndex(tokenIndex.opened, { k1, b });
  const hybrid = { ...tokens!.config.hybrid!, lexical };
  const dense =
    (model: ReAtt, { opened }: typeof tokenIndex, isHybrid = false): Search =>
    (question) =>
      model.retrieve(question, opened, { topK: DEPTH, hybrid: isHybrid && hybrid });
  const twoStages: Search = async (question) => {
    const chosen = await vectors!.retrieve(question, vectorIndex.opened, { topK: CHOSEN });
    const filter = new Set(chosen.map(({ id }) => id));
    return tokens!.retrieve(question, tokenIndex.opened, { topK: DEPTH, filter });
  };
  const retrievers: Retriever[] = [
    { name: "words (BM25)", search: async (text) => lexical.search(text, { topK: DEPTH }) },
    { name: "vectors", search: dense(vectors!, vectorIndex), index: vectorIndex },
    { name: "tokens", search: dense(tokens!, tokenIndex), index: tokenIndex },
    { name: "tokens, weighed", search: dense(weighed!, tokenIndex), index: tokenIndex },
    { name: "vectors, then tokens", search: twoStages },
    { name: "tokens and words", search: dense(tokens!, tokenIndex, true), index: tokenIndex },
    { name: "weighed tokens and words", search: dense(weighed!, tokenIndex, true) },
  ];
  console.log(
    `${values.data}, ${values.split}: ${qrels.size} questions, ${passages.length} passages`,
  );
  for (const retriever of retrievers)
    console.log(await row(retriever, qrels, dataset.queries, passages.length));
  for (const opened of [tokenIndex.opened, vectorIndex.opened, tokens!, weighed!, vectors!])
    await opened.close();
}

/** The model in float32: as it is, with token weights counted in the passages, and with vectors. */
async function writeModels(corpus: Parameters<typeof countTokenWeights>[0]): Promise<void> {
  const config = await readConfig(values.model);
  const weights = await loadWeights(values.model, config);
  const write = (name: string, changes: Partial<ModelConfig>, changed: typeof weights) =>
    writeModel(
      join(folder, name),
      { ...config, pruning: undefined, ...changes },
      (key) => changed.get(key) ?? weights.get(key)!,
      { original: values.model, dtype: "F32" },
    );
  await write("tokens", {}, new Map());
  const tokenizer = await loadTokenizer(join(values.model, "spiece.model"));
  const counted = await countTokenWeights(corpus, tokenizer, config, MAX_PASSAGE_TOKENS);
  await write("weighed", { tokenWeights: true }, new Map([[TOKEN_WEIGHTS, counted]]));
  await write(
    "vectors",
    { pooling: "mean", retrievalHeads: 1, hybrid: undefined },
    means(config, weights),
  );
}

/** Projections with which the vector of a text is the mean of the states of the backbone. */
function means(
  { retrievalLayer, heads, headSize, modelSize }: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
): Map<string, Float32Array> {
  const layer = `encoder.block.${retrievalLayer}.layer.0`;
  const norm = weights.get(`${layer}.layer_norm.weight`)!;
  const identity = new Float32Array(heads * headSize * modelSize);
  for (let d = 0; d < modelSize; d++) identity[d * modelSize + d] = 1 / norm[d]!;
  return new Map(["q", "k"].map((part) => [`${layer}.SelfAttention.${part}.weight`, identity]));
}

async function build(
  model: ReAtt,
  name: string,
  passages: readonly Passage[],
): Promise<{ opened: TokenIndex; bytes: number; seconds: number }> {
  const directory = join(folder, name);
  const start = performance.now();
  const options = { directory, bits: 4, maxPassageTokens: MAX_PASSAGE_TOKENS } as const;
  await (await model.index(passages, options)).close();
  const seconds = (performance.now() - start) / 1000;
  const opened = await model.openIndex(directory, { preset: "exact", threads: 1 });
  const { bytes } = await indexInfo(directory);
  return { opened, bytes, seconds };
}

async function row(
  { name, search, index }: Retriever,
  qrels: Qrels,
  questions: ReadonlyMap<string, string>,
  passages: number,
): Promise<string> {
  await search(questions.get([...qrels.keys()][0]!)!); // warm-up
  const run = new Map<string, readonly ScoredId[]>();
  const before = process.cpuUsage();
  for (const id of qrels.keys())
    run.set(
      id,
      (await search(questions.get(id)!)).filter((hit) => hit.id !== id),
    );
  const { user, system } = process.cpuUsage(before);
  const { measures } = evaluateRun(run, qrels, CUTOFFS);
  const percent = (measure: string) => (100 * measures[measure]!).toFixed(1);
  return [
    `| ${name}`,
    ...["recall@1", "recall@5", "recall@20", "mrr@20", "ndcg@10"].map(percent),
    index ? (index.bytes / passages).toFixed(0) : "",
    ((user + system) / 1000 / qrels.size).toFixed(1),
    `${index ? index.seconds.toFixed(0) : ""} |`,
  ].join(" | ");
}
