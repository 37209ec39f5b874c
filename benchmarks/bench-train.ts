/**
 * Measures training steps of the shipped model, and how close they come to the speed of their
 * matrix products.
 *
 *     npm run bench:train -- [--questions N] [--passages N] [--tokens N] [--steps N]
 *         [--objective NAME] [--dropout X] [--compare] [--json]
 *
 * A step is complete: dropout, gradient cache, gradients, clipping, AdamW. Its FLOPs are of all
 * matrix products that it computes, including the first pass of the gradient cache. N steps run
 * first, during which memory is recorded, then five more alternately with the products alone.
 *
 * `--compare` measures steps of `supervised` and of `retrieval` alternately instead, each with one
 * worker, as runs do by default, and with one for each core. `retrieval` is measured with all of
 * its layers and with the last one alone (`--layers 1`); for texts that it meets for the
 * first time, and for texts whose states it holds. The ratios of questions per second are those of
 * one worker. CPU time says more than the clock on a machine that others use.
 */

import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { ModelConfig } from "../src/model/config.ts";
import { readConfig } from "../src/model/config-file.ts";
import { loadWeights } from "../src/model/load-weights.ts";
import { parameterShapes } from "../src/model/parameter-names.ts";
import { readPassages } from "../src/text/read-passages.ts";
import { passageIds } from "../src/text/tokens/prompts.ts";
import { loadTokenizer } from "../src/text/tokens/tokenizer.ts";
import {
  type EngineSettings,
  type TrainingEngine,
  trainingEngine,
} from "../src/training/engine/engine.ts";
import { openHeldStates } from "../src/training/engine/held-states.ts";
import { openOnnxBackend } from "../src/training/engine/onnx-backend.ts";
import { traceChunk, traceKept } from "../src/training/engine/onnx-passes.ts";
import { type ParameterState, parameterState } from "../src/training/engine/optimizer.ts";
import { chunkQuestions } from "../src/training/gradient-cache/chunk-size.ts";
import { type Chunk, chunksOf } from "../src/training/gradient-cache/chunks.ts";
import { isRead } from "../src/training/objectives/forward.ts";
import { type ObjectiveName, objectivesOf } from "../src/training/objectives/index.ts";
import { needsOf, type Objective } from "../src/training/objectives/objective.ts";
import { acrossQuestions } from "../src/training/objectives/passes.ts";
import { type TokenExample, withDistinctPassages } from "../src/training/objectives/token-batch.ts";
import { LOG_SCALE } from "../src/training/objectives/trained-parameters.ts";
import { defaultPart, trainedParameters } from "../src/training/options/trained.ts";
import { flopsOf, openPlain, type Product, productsOf } from "./bench/matmul.ts";
import { median, Stopwatch } from "./bench/timing.ts";

const MODEL = "models/reatt-mini";
const CORPUS = "data/squad/corpus.jsonl";
const QUESTION_TOKENS = 16;
const ANSWER_TOKENS = 5;
const REPETITIONS = 5;
const LEARNING_RATE = 1e-5;

const { values } = parseArgs({
  options: {
    questions: { type: "string", default: "16" },
    passages: { type: "string", default: "8" },
    tokens: { type: "string", default: "128" },
    steps: { type: "string", default: "12" },
    objective: { type: "string", default: "distillation" },
    dropout: { type: "string" }, // default: the model's
    compare: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

/** Examples of the requested sizes, cut from the corpus. Time does not depend on the tokens. */
async function cutExamples(
  questions: number,
  passages: number,
  tokens: number,
): Promise<TokenExample[]> {
  const tokenizer = await loadTokenizer(`${MODEL}/spiece.model`);
  const ids: number[] = [];
  const wanted = questions * (QUESTION_TOKENS + ANSWER_TOKENS + passages * tokens);
  for await (const passage of readPassages(CORPUS)) {
    if (ids.length >= wanted) break;
    ids.push(...passageIds(tokenizer, passage, 512).slice(0, -1));
  }
  let start = 0;
  const cut = (length: number): number[] => {
    start += length - 1;
    return [...ids.slice(start - length + 1, start), tokenizer.eosId];
  };
  return Array.from({ length: questions }, () => ({
    question: cut(QUESTION_TOKENS),
    answer: cut(ANSWER_TOKENS),
    passages: Array.from({ length: passages }, () => cut(tokens)),
  }));
}

async function openParameters(config: ModelConfig): Promise<Map<string, ParameterState>> {
  const weights = await loadWeights(MODEL, config);
  const parameters = new Map<string, ParameterState>();
  for (const [name, shape] of parameterShapes(config))
    parameters.set(name, parameterState(shape, weights.get(name)!.slice()));
  parameters.set(LOG_SCALE, parameterState([], Float32Array.of(Math.log(config.retrievalScale))));
  return parameters;
}

/** The matrix products of the chunks of a step. Those of pass 2 are few. */
function productsOfStep(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  settings: EngineSettings,
  objectives: readonly Objective[],
  examples: readonly TokenExample[],
): { chunks: number; products: Product[] } {
  const size = chunkQuestions(examples, isRead(needsOf(objectives)));
  const distinct = examples.map(withDistinctPassages);
  const plan = { objectives };
  const isCached = size < examples.length && acrossQuestions(plan).length > 0;
  const own = objectives.filter((objective) => !isCached || !objective.acrossQuestions);
  const chunks = chunksOf(config, distinct, size, plan, own);
  const [{ batch, tensors }] = chunks as [Chunk, ...Chunk[]];
  const { n, m } = batch.sizes;
  const graphs = [
    ...(isCached ? [traceKept(config, settings, plan, tensors)] : []),
    traceChunk(config, parameters, settings, plan, tensors, isCached),
  ];
  // weights change with every step, so onnxruntime cannot pack them in advance
  const products = graphs.flatMap((graph) =>
    productsOf(graph, { ...batch.sizes, "n+m": n + m }).map((product) => ({
      ...product,
      weight: false,
    })),
  );
  return { chunks: chunks.length, products };
}

interface Report {
  readonly questions: number;
  readonly passages: number;
  readonly tokens: number;
  readonly chunks: number;
  readonly load: readonly number[];
  /** Seconds, median. */
  readonly step: number;
  readonly questionsPerSecond: number;
  /** Of questions and passages; a question counts once for each of its passages. */
  readonly tokensPerSecond: number;
  readonly gigaflops: number;
  readonly plainGigaflops: number;
  /** Time of the products alone divided by the time of a step. */
  readonly ratio: number;
  /** Megabytes of the process: the peak, and after a tenth and after all of the steps. */
  readonly memory: { readonly peak: number; readonly early: number; readonly late: number };
}

async function measure(): Promise<Report> {
  const [questions, passages, tokens, steps] = [
    ...[values.questions, values.passages, values.tokens, values.steps].map(Number),
  ] as [number, number, number, number];
  const load = [loadavg()[0]!];
  const config = await readConfig(MODEL);
  const parameters = await openParameters(config);
  const examples = await cutExamples(questions, passages, tokens);
  const objective = values.objective as ObjectiveName;
  const dropout = values.dropout === undefined ? config.dropoutRate : Number(values.dropout);
  const settings = {
    trained: trainedParameters(config, { part: defaultPart(objective), objective }),
    dropout,
  };
  const objectives = objectivesOf(objective);
  const { chunks, products } = productsOfStep(config, parameters, settings, objectives, examples);
  const backend = await openOnnxBackend(config, parameters, settings, {});
  await using engine = trainingEngine(config, parameters, settings, backend);
  const take = (step: number): Promise<unknown> =>
    engine.step({ examples, objectives, step, learningRate: LEARNING_RATE, key: "bench" });
  await take(1); // compiles the graphs and allocates their memory
  const memory = { peak: 0, early: 0, late: 0 };
  for (let step = 1; step <= steps; step++) {
    await take(step + 1);
    const megabytes = process.memoryUsage.rss() / 2 ** 20;
    if (step === Math.ceil(steps / 10)) memory.early = megabytes;
    memory.late = megabytes;
    if (step % 50 === 0)
      process.stderr.write(`step ${step} of ${steps}: ${megabytes.toFixed(0)} MB\n`);
  }
  memory.peak = process.resourceUsage().maxRSS / 2 ** 10;

  const watch = new Stopwatch();
  await using plainChunk = await openPlain(products);
  const plain = async (): Promise<void> => {
    for (let i = 0; i < chunks; i++) await plainChunk.run();
  };
  await plain();
  for (let i = 0; i < REPETITIONS; i++) {
    await watch.time("step", () => take(steps + i + 2));
    await watch.time("plain", plain);
  }
  const [ofSteps, ofPlain] = [watch.times.get("step")!, watch.times.get("plain")!];
  const gigaflop = (chunks * products.reduce((sum, product) => sum + flopsOf(product), 0)) / 1e9;
  const seconds = median(ofSteps) / 1000;
  return {
    ...{ questions, passages, tokens, chunks, memory },
    load: [...load, loadavg()[0]!],
    step: seconds,
    questionsPerSecond: questions / seconds,
    tokensPerSecond: (questions * passages * (QUESTION_TOKENS + tokens)) / seconds,
    gigaflops: gigaflop / seconds,
    plainGigaflops: gigaflop / (median(ofPlain) / 1000),
    ratio: median(ofSteps.map((time, i) => ofPlain[i]! / time)),
  };
}

function format(report: Report): string {
  const { questions, passages, tokens, chunks, load, memory } = report;
  const rows: [name: string, value: string][] = [
    [
      "processor",
      `${cpus()[0]!.model}, ${cpus().length} cores, load ${load.map((one) => one.toFixed(1)).join(" to ")}`,
    ],
    [
      "step",
      `${questions} questions x ${passages} passages x ${tokens} tokens in ${chunks} chunks`,
    ],
    [
      "  time",
      `${report.step.toFixed(2)} s: ${report.questionsPerSecond.toFixed(2)} questions/s, ` +
        `${report.tokensPerSecond.toFixed(0)} tokens/s`,
    ],
    [
      "  products",
      `${report.gigaflops.toFixed(0)} GFLOP/s, ${report.ratio.toFixed(2)} of plain MatMul ` +
        `(${report.plainGigaflops.toFixed(0)} GFLOP/s)`,
    ],
    [
      "memory",
      `${memory.peak.toFixed(0)} MB at most, ${memory.early.toFixed(0)} MB after ${Math.ceil(Number(values.steps) / 10)} steps, ` +
        `${memory.late.toFixed(0)} MB after ${values.steps}`,
    ],
  ];
  return rows.map(([name, value]) => `${name.padEnd(12)}${value}`).join("\n");
}

/** Steps of one objective. */
interface Measured {
  readonly objective: ObjectiveName;
  /** Retrieval layers that are trained; undefined for all. */
  readonly trainedLayers?: number | undefined;
  /** Whether the states of the texts are held. */
  readonly held: boolean;
  readonly chunks: number;
  readonly questionsPerSecond: number;
  /** Seconds of all processors for a step: the median, and the least. */
  readonly cpu: number;
  readonly leastCpu: number;
}

interface Comparison {
  readonly load: readonly number[];
  readonly steps: readonly Measured[];
  /** Of each way to train `retrieval`. */
  readonly ratios: readonly Ratio[];
}

/** Time of `supervised` divided by that of `retrieval`: medians over pairs of steps. */
interface Ratio {
  readonly way: string;
  readonly clock: number;
  readonly cpu: number;
}

type Way = Pick<Measured, "objective" | "trainedLayers" | "held">;

/** Steps of `supervised` and of `retrieval` on the same examples. */
async function compare(): Promise<Comparison> {
  const [questions, passages, tokens] = [values.questions, values.passages, values.tokens].map(
    Number,
  ) as [number, number, number];
  const load = [loadavg()[0]!];
  const config = await readConfig(MODEL);
  const cut = await cutExamples(questions, passages, tokens);
  const examples = cut.map((example) => ({ ...example, positives: [0] }));
  const ways: Way[] = [
    { objective: "supervised", held: false },
    ...[undefined, 1].flatMap((trainedLayers) =>
      [false, true].map((held): Way => ({ objective: "retrieval", trainedLayers, held })),
    ),
  ];
  const [watch, cpu] = [new Stopwatch(), new Map<string, number[]>()];
  for (let round = 0; round <= REPETITIONS; round++)
    for (const way of ways) {
      const name = nameOf(way);
      // One engine at a time: together they do not fit into the memory of a small machine.
      await using engine = await openEngineOf(config, way);
      const take = (step: number): Promise<unknown> =>
        engine.step({ ...{ examples, step }, objectives: objectivesOf(way.objective), ...STEP });
      await take(1); // compiles the graphs and allocates their memory
      if (round === 0) continue;
      const start = process.cpuUsage();
      await watch.time(name, () => take(2));
      const { user, system } = process.cpuUsage(start);
      cpu.set(name, [...(cpu.get(name) ?? []), (user + system) / 1e6]);
    }
  const steps = ways.map((way): Measured => {
    const [times, ofCpu] = [watch.times, cpu].map((all) => all.get(nameOf(way))!);
    return {
      ...way,
      chunks: questions / chunkQuestions(examples, way.objective !== "retrieval"),
      questionsPerSecond: (1000 * questions) / median(times!),
      ...{ cpu: median(ofCpu!), leastCpu: Math.min(...ofCpu!) },
    };
  });
  const ratios = ways
    .filter(({ objective }) => objective === "retrieval")
    .map((way): Ratio => {
      const [clock, ofCpu] = [watch.times, cpu].map((all) => {
        const whole = all.get(nameOf({ objective: "supervised", held: false }))!;
        return median(all.get(nameOf(way))!.map((time, i) => whole[i]! / time));
      });
      return { way: nameOf(way), clock: clock!, cpu: ofCpu! };
    });
  return { load: [...load, loadavg()[0]!], steps, ratios };
}

const nameOf = ({ objective, trainedLayers, held }: Way): string =>
  `${objective}${trainedLayers ? ", last layer" : ""}${held ? ", states held" : ""}`;

const STEP = { learningRate: LEARNING_RATE, key: "bench" };

async function openEngineOf(
  config: ModelConfig,
  { objective, trainedLayers, held }: Way,
): Promise<TrainingEngine> {
  const settings = {
    trained: trainedParameters(config, {
      part: defaultPart(objective),
      objective,
      layers: trainedLayers,
    }),
    dropout: values.dropout === undefined ? config.dropoutRate : Number(values.dropout),
  };
  const parameters = await openParameters(config);
  const backend = await openOnnxBackend(config, parameters, settings, {});
  const heldStates = held ? openHeldStates(config, parameters, settings.trained) : undefined;
  return trainingEngine(config, parameters, settings, backend, { heldStates });
}

const formatRatio = ({ way, clock, cpu }: Ratio): string =>
  `ratio, ${way}: ${clock.toFixed(1)} by the clock, ${cpu.toFixed(1)} by CPU time`;

const formatComparison = ({ load, steps, ratios }: Comparison): string =>
  [
    `load ${load.map((one) => one.toFixed(1)).join(" to ")}`,
    ...steps.map(
      (step) =>
        `${nameOf(step).padEnd(48)}${step.chunks} chunks: ` +
        `${step.questionsPerSecond.toFixed(1)} questions/s, CPU ${step.cpu.toFixed(2)} s a step ` +
        `(least ${step.leastCpu.toFixed(2)} s)`,
    ),
    ...ratios.map(formatRatio),
  ].join("\n");

if (values.compare) {
  const comparison = await compare();
  process.stdout.write(
    `${values.json ? JSON.stringify(comparison) : formatComparison(comparison)}\n`,
  );
} else {
  const report = await measure();
  process.stdout.write(`${values.json ? JSON.stringify(report) : format(report)}\n`);
}
