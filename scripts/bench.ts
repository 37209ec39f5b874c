/**
 * How fast indexing and answering are on this machine: `npm run bench [-- --json]`.
 *
 * Indexes data/squad with models/reatt-mini and answers questions from five passages. Every figure is measured in this
 * run, the plain matrix products that the encoder is compared with included; times are medians. Give the machine to it:
 * another busy process makes all of them worse.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type ModelConfig, readConfig } from "../src/config.ts";
import { openReader } from "../src/decoder/session.ts";
import { encodeSequences, openEncoder, TOKENS_AT_ONCE } from "../src/encoder/session.ts";
import { ReAtt } from "../src/reatt.ts";
import type { TokenIndex } from "../src/retrieval/token-index.ts";
import { compile } from "../src/tensor/session.ts";
import { trace, type Value } from "../src/tensor/trace.ts";
import { readPassages } from "../src/text/corpus.ts";
import type { Passage } from "../src/text/passage.ts";
import { passageIds, readingQuestionIds, retrievalQuestionIds } from "../src/text/prompts.ts";
import { loadWeights } from "../src/weights/load.ts";

const MODEL = "models/reatt-mini";
const CORPUS = "data/squad/corpus.jsonl";
const QUESTIONS = [
  "Who patented a steam engine in 1781?",
  "What is civil disobedience?",
  "When did the oil crisis begin?",
  "What is the largest city of Poland?",
  "Which gas do plants take in?",
];
const PASSAGES_READ = 5;
const ROUNDS = 5;

type Figures = Record<string, number>;

const figures: Figures = { ...(await benchAnswering()), loadAverage: loadavg()[0]! };
if (process.argv.includes("--json")) console.log(JSON.stringify(figures));
else {
  console.log(`${cpus().length} x ${cpus()[0]?.model}, Node ${process.versions.node}`);
  for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(36)} ${format(value)}`);
}

async function benchAnswering(): Promise<Figures> {
  const directory = await mkdtemp(join(tmpdir(), "reatt-bench-"));
  const start = performance.now();
  await using model = await ReAtt.load(MODEL);
  const load = performance.now() - start;
  const passages = await collect(readPassages(CORPUS));
  try {
    const building = performance.now();
    await using index = await model.index(passages, { directory });
    const build = performance.now() - building;
    return {
      "load, ms": load,
      "index build, passages/s": (1000 * passages.length) / build,
      "index build, tokens/s": (1000 * index.tokenCount) / build,
      ...(await benchStages(model, index, passages)),
      ...(await benchReplies(model, index)),
    };
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** What a user waits for: a question at a time, with everything loaded. */
async function benchReplies(model: ReAtt, index: TokenIndex): Promise<Figures> {
  const answer = (question: string) => model.answer(question, index, { topK: PASSAGES_READ });
  for (const question of QUESTIONS) await answer(question);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++)
    for (const question of QUESTIONS) times.push(await time(() => answer(question)));
  return { "answer from 5 passages, ms": median(times), "slowest of them, ms": Math.max(...times) };
}

/** The parts of that, and how near the encoder is to plain products of its own shapes. */
async function benchStages(model: ReAtt, index: TokenIndex, passages: readonly Passage[]): Promise<Figures> {
  const config = await readConfig(MODEL);
  const weights = await loadWeights(MODEL, config);
  await using encoder = await openEncoder(config, { weights });
  await using reader = await openReader(config, { weights });
  const { tokenizer } = model;
  const some = passages.slice(0, 256).map((passage) => passageIds(tokenizer, passage, 512));
  const encode = await medianTime(() => encodeSequences(encoder, config, some, "keys"));
  const encoderRate = some.reduce((sum, { length }) => sum + lowerFlops(config, length), 0) / encode / 1e6;
  const plainRate = await plainProducts(config);

  const question = retrievalQuestionIds(tokenizer, QUESTIONS[0]!);
  const [query] = await encodeSequences(encoder, config, [question], "queries");
  const hits = await index.search(query!, { topK: PASSAGES_READ });
  const found = await index.passages(hits.map(({ ordinal }) => ordinal));
  const read = found.map((passage) => passageIds(tokenizer, passage, 512));
  const states = await encodeSequences(encoder, config, read, "states");
  const [questionStates] = await encodeSequences(encoder, config, [readingQuestionIds(question)], "states");
  const readingStates = [{ question: questionStates!, passages: states }];
  const fused = await reader.fuse(readingStates);
  const rows = {
    ids: { data: Int32Array.of(config.decoderStartId), shape: [1, 1] },
    parents: { data: Int32Array.of(0), shape: [1] },
    past: reader.start(1),
  };
  return {
    "encoding, passages/s": (1000 * some.length) / encode,
    "encoding, GFLOP/s": encoderRate,
    "plain products, GFLOP/s": plainRate,
    "encoding / plain products": encoderRate / plainRate,
    "question encoding, ms": await medianTime(() => encodeSequences(encoder, config, [question], "queries")),
    "search, ms": await medianTime(() => index.search(query!, { topK: PASSAGES_READ })),
    "lower layers of 5 passages, ms": await medianTime(() =>
      encodeSequences(encoder, config, read, "states"),
    ),
    "upper layers of 5 passages, ms": await medianTime(() => reader.fuse(readingStates)),
    "decoder step, ms": await medianTime(() => reader.step(fused, rows)),
  };
}

/**
 * Multiplications and additions of the lower layers for a passage of `length` tokens: of each block 4 projections, 2 or 3
 * products of the feed-forward layer, and the products of queries with keys and of weights with values.
 */
function lowerFlops(config: ModelConfig, length: number): number {
  const { modelSize, feedForwardSize, retrievalLayer } = config;
  const inner = config.heads * config.headSize;
  const feedForward = (config.feedForward === "relu" ? 2 : 3) * modelSize * feedForwardSize;
  return 2 * length * retrievalLayer * (4 * modelSize * inner + feedForward + 2 * length * inner);
}

/** GFLOP/s of onnxruntime's MatMul alone, on the projections and the feed-forward layer of as many tokens as the encoder takes at once. */
async function plainProducts({ modelSize, feedForwardSize, heads, headSize }: ModelConfig): Promise<number> {
  const shapes = [
    ...Array.from({ length: 4 }, () => [modelSize, heads * headSize] as const),
    [modelSize, feedForwardSize] as const,
    [modelSize, feedForwardSize] as const,
    [feedForwardSize, modelSize] as const,
  ];
  const graph = trace(
    { narrow: ["float32", TOKENS_AT_ONCE, modelSize], wide: ["float32", TOKENS_AT_ONCE, feedForwardSize] },
    (ops, { narrow, wide }) => {
      const outputs: Record<string, Value> = {};
      for (const [i, shape] of shapes.entries()) {
        const product = ops.matmul(shape[0] === modelSize ? narrow : wide, ops.parameter(`w${i}`, shape));
        outputs[`y${i}`] = ops.slice(product, 0, 0, 1); // little to hand over
      }
      return outputs;
    },
  );
  const random = (size: number): Float32Array =>
    Float32Array.from({ length: size }, () => Math.random() - 0.5);
  const weights = new Map(shapes.map((shape, i) => [`w${i}`, random(shape[0] * shape[1])]));
  await using session = await compile(graph, { weights });
  const tensor = (size: number) => ({ data: random(TOKENS_AT_ONCE * size), shape: [TOKENS_AT_ONCE, size] });
  const feeds = { narrow: tensor(modelSize), wide: tensor(feedForwardSize) };
  const flops = shapes.reduce((sum, [rows, columns]) => sum + 2 * TOKENS_AT_ONCE * rows * columns, 0);
  return flops / (await medianTime(() => session.run(feeds), 50)) / 1e6;
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function medianTime(work: () => Promise<unknown>, rounds = 9): Promise<number> {
  await work();
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) times.push(await time(work));
  return median(times);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

function format(value: number): string {
  return value < 10 ? value.toFixed(2) : value.toFixed(0);
}
