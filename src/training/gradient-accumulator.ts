/** Computes losses and gradients of batches on onnxruntime, chunk by chunk (loss-graph.ts says why), and sums them up. */

import type { ModelConfig } from "../config.ts";
import { gradients } from "../tensor/gradients.ts";
import type { Tensor } from "../tensor/ops.ts";
import { type CompileOptions, compile, type Session } from "../tensor/session.ts";
import { type Graph, type Signature, type Tracer, trace, type Value } from "../tensor/trace.ts";
import { buildParameters } from "../weights/names.ts";
import { type Candidates, type Chunk, chunksOf, type TokenExample } from "./batch.ts";
import { dropoutPools, dropoutRows, tracedDropout } from "./dropout.ts";
import { divideCompetition, joinChunks } from "./exchange.ts";
import {
  chunkObjective,
  chunkVectors,
  competition,
  HEAD_WEIGHTS,
  LOG_SCALE,
  type TrainedParameters,
} from "./loss-graph.ts";
import type { ParameterState } from "./optimizer.ts";
import { cacheSignature, chunkSignature, competitionSignature, type ObjectiveOptions } from "./signatures.ts";

export interface AccumulatorOptions extends ObjectiveOptions {
  readonly candidates: Candidates;
  /** Share of numbers that dropout sets to 0. */
  readonly dropout: number;
  /** Names of the parameters that gradients are computed of. Default: all. */
  readonly trained?: ReadonlySet<string> | undefined;
}

/** Losses of a batch; what concerns retrieval is there if it is trained. */
export interface BatchLosses {
  /** Negative log likelihood of the answers, for each of their tokens. */
  readonly nll: number;
  /** What is minimised. */
  readonly loss: number;
  readonly retrieval?: {
    /** [questions][passages of the question's chunk], before `exp(logScale)` */
    readonly scores: readonly (readonly number[])[];
    /** [questions][passages of a question], log of the retrieval distribution */
    readonly ownLogProbabilities: readonly (readonly number[])[];
  };
  readonly distillation?: {
    readonly kl: number;
    /** [questions][passages of a question] */
    readonly target: readonly (readonly number[])[];
  };
}

type Key = readonly (number | string)[];

export interface GradientAccumulator extends AsyncDisposable {
  /**
   * Adds the gradients of a batch, computed in chunks of so many questions, to those in the parameters' states. All
   * examples have equally many passages. `key` determines the dropout.
   */
  add(examples: readonly TokenExample[], chunkQuestions: number, key: Key): Promise<BatchLosses>;
}

/** A compiled graph, and what it takes. */
interface Compiled {
  readonly graph: Graph;
  readonly session: Session;
}

/** Tensors by the names that a graph knows them by. */
type Tensors = Record<string, Tensor>;

/** For `parameters`, which are named as in the checkpoint, the objective's own among them. */
export function openGradientAccumulator(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: AccumulatorOptions,
  compileOptions: CompileOptions,
): GradientAccumulator {
  const compiled = new Map<string, Promise<Compiled>>();
  const compiledOnce = (name: string, build: () => Graph): Promise<Compiled> => {
    const known = compiled.get(name);
    if (known) return known;
    const graph = build();
    const made = compile(graph, compileOptions).then((session) => ({ graph, session }));
    compiled.set(name, made);
    return made;
  };
  const state = stateTensors(parameters);
  const trained = new Map([...parameters].filter(([name]) => options.trained?.has(name) ?? true));
  /** Runs a graph on what it takes of `tensors` and of the parameters; sums of gradients are updated in place. */
  const run = ({ graph, session }: Compiled, tensors: Tensors): Promise<Tensors> => {
    const taken = [...graph.inputs.keys(), ...graph.parameters.keys()];
    const feeds = taken.map((name) => [name, tensors[name] ?? state[name]!]);
    return session.run(Object.fromEntries(feeds), [...graph.outputs.keys()], state);
  };

  /** Steps 1 and 2 of the gradient cache: what the other chunks are to each chunk. */
  const compete = async (chunks: readonly Chunk[], randomness: readonly Tensors[]): Promise<Tensors[]> => {
    const vectors: Tensors[] = [];
    for (const [i, chunk] of chunks.entries()) {
      const graph = await compiledOnce(`vectors of ${chunk.questions}`, () =>
        traceVectors(config, options, chunk),
      );
      vectors.push(await run(graph, { ...chunk.tensors, ...randomness[i] }));
    }
    const graph = await compiledOnce("competition", () => traceCompetition(config, trained, options));
    return divideCompetition(chunks, await run(graph, joinChunks(chunks, vectors)));
  };

  return {
    async add(examples, chunkQuestions, key) {
      const chunks = chunksOf(config, examples, chunkQuestions, options.candidates);
      const shared =
        chunks.length > 1 && options.objective === "distillation" && options.candidates === "batch";
      const graphOf = (chunk: Chunk): Promise<Compiled> =>
        compiledOnce(`${chunk.questions} x ${chunk.passages}, shared ${shared}`, () =>
          traceChunk(config, trained, options, chunk, shared),
        );
      const pools = dropoutPools((await graphOf(chunks[0]!)).graph, options.dropout, key);
      const randomness: Tensors[] = [];
      for (const chunk of chunks)
        randomness.push({ ...pools, ...dropoutRows((await graphOf(chunk)).graph, chunk.sequences, key) });
      const caches = shared ? await compete(chunks, randomness) : [];
      const losses: Tensors[] = [];
      for (const [i, chunk] of chunks.entries())
        losses.push(await run(await graphOf(chunk), { ...chunk.tensors, ...randomness[i], ...caches[i] }));
      return sumLosses(losses, options);
    },
    async [Symbol.asyncDispose]() {
      for (const { session } of await Promise.all(compiled.values())) await session[Symbol.asyncDispose]();
    },
  };
}

/** -> losses, and for each parameter `sum:NAME`, its sum of gradients with this chunk's added. */
export function traceChunk(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: AccumulatorOptions,
  { questions, passages }: Chunk,
  cached: boolean,
): Graph {
  return trace(chunkSignature(questions, passages), (tracer, input) => {
    const cache = cached ? inputsOf(tracer, cacheSignature(config, questions, options)) : undefined;
    const trained = trainedParameters(tracer, config, options);
    const scope = { ops: tracer, config, dropout: tracedDropout(tracer, options.dropout) };
    const { objective, nll, retrieval, distillation } = chunkObjective(scope, trained, input, options, cache);
    return { nll, ...retrieval, ...distillation, ...addedGradients(tracer, objective, parameters) };
  });
}

/** -> `queries`, `keys` */
export function traceVectors(
  config: ModelConfig,
  options: AccumulatorOptions,
  { questions, passages }: Chunk,
): Graph {
  return trace(chunkSignature(questions, passages), (tracer, input) => {
    const scope = { ops: tracer, config, dropout: tracedDropout(tracer, options.dropout) };
    return chunkVectors(scope, trainedParameters(tracer, config, options), input, options);
  });
}

/** -> `logNormaliser`, `queryGradient`, `keyGradient`, and the sums of the objective's own parameters. */
export function traceCompetition(
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  options: AccumulatorOptions,
): Graph {
  return trace(competitionSignature(config, options), (tracer, input) => {
    const trained = trainedParameters(tracer, config, options);
    const { logNormaliser, average } = competition(tracer, trained, input, options);
    const [queryGradient, keyGradient] = gradients(tracer, average, [input.queries, input.keys]);
    const weighted = tracer.multiply(average, tracer.scalar(options.alpha));
    const own = new Map([...parameters].filter(([name]) => name === HEAD_WEIGHTS || name === LOG_SCALE));
    return {
      logNormaliser,
      queryGradient: queryGradient!,
      keyGradient: keyGradient!,
      ...addedGradients(tracer, weighted, own),
    };
  });
}

function inputsOf<Name extends string>(
  tracer: Tracer,
  signature: Record<Name, Signature>,
): Record<Name, Value> {
  const inputs = {} as Record<Name, Value>;
  for (const [name, one] of Object.entries<Signature>(signature))
    inputs[name as Name] = tracer.input(name, one);
  return inputs;
}

function trainedParameters(
  tracer: Tracer,
  config: ModelConfig,
  { tau }: ObjectiveOptions,
): TrainedParameters<Value> {
  return {
    model: buildParameters(config, (name, shape) => tracer.parameter(name, shape)),
    headWeights: tau === undefined ? undefined : tracer.parameter(HEAD_WEIGHTS, [config.heads]),
    logScale: tracer.parameter(LOG_SCALE, []),
  };
}

function addedGradients(
  tracer: Tracer,
  objective: Value,
  parameters: ReadonlyMap<string, ParameterState>,
): Record<string, Value> {
  const names = [...parameters.keys()];
  const variables = names.map((name) => tracer.parameter(name, parameters.get(name)!.shape));
  const added = gradients(tracer, objective, variables).map((gradient, i) => {
    const sum = tracer.input(`sum:${names[i]}`, ["float32", ...parameters.get(names[i]!)!.shape]);
    return [`sum:${names[i]}`, tracer.add(sum, gradient)] as const;
  });
  return Object.fromEntries(added);
}

/** Parameters by their names, and the sums of their gradients as `sum:NAME`. */
function stateTensors(parameters: ReadonlyMap<string, ParameterState>): Tensors {
  const tensors: Tensors = {};
  for (const [name, { shape, value, gradient }] of parameters) {
    tensors[name] = { data: value, shape };
    tensors[`sum:${name}`] = { data: gradient, shape };
  }
  return tensors;
}

function sumLosses(chunks: readonly Tensors[], { objective, alpha }: ObjectiveOptions): BatchLosses {
  const total = (name: string): number => chunks.reduce((sum, chunk) => sum + chunk[name]!.data[0]!, 0);
  const rows = (name: string): number[][] => chunks.flatMap((chunk) => rowsOf(chunk[name]!));
  const nll = total("nll");
  if (objective === "qa") return { nll, loss: nll };
  const retrieval = { scores: rows("scores"), ownLogProbabilities: rows("ownLogProbabilities") };
  if (objective === "marginal") return { nll, loss: nll, retrieval };
  const kl = total("kl");
  return { nll, loss: nll + alpha * kl, retrieval, distillation: { kl, target: rows("target") } };
}

function rowsOf({ data, shape }: Tensor): number[][] {
  const [rows, columns] = shape as [number, number];
  return Array.from({ length: rows }, (_, row) => [...data.subarray(row * columns, (row + 1) * columns)]);
}
