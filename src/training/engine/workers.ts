/**
 * Workers: threads that compute the chunks of a batch at the same time, each on one thread of
 * onnxruntime. Where products share the cores badly, W workers are faster than one session of W
 * threads; on two cores they are slower (docs/experiments/speed.md).
 *
 * A run of an onnxruntime session blocks the thread of Node that calls it, and takes no shared
 * memory. So each worker has its own copy of the parameters and its own sums of gradients. Chunk i
 * belongs to worker i mod W, and the sums are added in the order of the workers: the result depends
 * on W, but not on which worker is faster. The main thread traces the graphs and sends them, so a
 * worker knows neither the model nor the objectives.
 */

import { startWorker } from "../../io/worker.ts";
import type { ModelConfig } from "../../model/config.ts";
import type { Graph } from "../../tensor/trace.ts";
import type { ChunkPasses, Tensors } from "../gradient-cache/passes.ts";
import type { StepSettings } from "../objectives/passes.ts";
import { selectTrained } from "../objectives/trained-parameters.ts";
import type { GraphRunner } from "./graph-runner.ts";
import { onnxChunkPasses } from "./onnx-passes.ts";
import type { ParameterState } from "./optimizer.ts";

type Parameters = ReadonlyMap<string, ParameterState>;

/** What a worker is started with. */
export interface WorkerData {
  /** The parameters that training leaves as they are. */
  readonly fixed: ReadonlyMap<string, Pick<ParameterState, "shape" | "value">>;
  /** The others, with their places in the shared arrays. */
  readonly trained: readonly TrainedPlace[];
  /** Shared memory: what `begin` reads. */
  readonly values: Float32Array;
  /** Shared memory: what `end` writes. */
  readonly gradients: Float32Array;
}

interface TrainedPlace {
  readonly name: string;
  readonly shape: readonly number[];
  readonly first: number;
  readonly length: number;
}

export type WorkerRequest =
  /** Takes the values of the parameters, and sets the sums of gradients to 0. */
  | { readonly type: "begin" }
  /** Runs a graph, which the first request with its name brings. */
  | {
      readonly type: "run";
      readonly name: string;
      readonly graph: Graph | undefined;
      readonly tensors: Tensors;
    }
  /** Gives the sums of gradients. */
  | { readonly type: "end" };

export interface WorkerReply {
  readonly tensors?: Tensors;
  readonly error?: string;
}

/** A thread of Node. */
const THREAD_BYTES = 100_000_000;

/**
 * What a worker takes: a chunk, two copies of the model (values and gradients), the same shared
 * with the main thread, and new sums of gradients.
 */
export const workerBytes = (modelBytes: number, chunkBytes: number): number =>
  THREAD_BYTES + 5 * modelBytes + chunkBytes;

export interface Workers extends AsyncDisposable {
  /** Runs `work` on the current parameters, and adds the gradients to those of `parameters`. */
  run<T>(work: (workers: readonly ChunkPasses[]) => Promise<T>): Promise<T>;
}

/** The threads start at the first use: a run whose steps are one chunk needs none. */
export function openWorkers(
  count: number,
  config: ModelConfig,
  parameters: Parameters,
  settings: StepSettings,
): Workers {
  const selected = selectTrained(settings.trained, parameters);
  const trained = placesOf(selected);
  const length = trained.reduce((sum, place) => sum + place.length, 0);
  const fixed = new Map(
    [...parameters]
      .filter(([name]) => !selected.has(name))
      .map(([name, { shape, value }]) => [name, { shape, value }] as const),
  );
  const values = sharedArray(length);
  const graphs = new Map<string, Graph>();
  let threads: readonly Thread[] | undefined;
  const start = (): Thread[] =>
    Array.from({ length: count }, () =>
      startThread({ fixed, trained, values, gradients: sharedArray(length) }, graphs),
    );
  return {
    async run(work) {
      threads ??= start();
      for (const { name, first } of trained) values.set(parameters.get(name)!.value, first);
      await Promise.all(threads.map((thread) => thread.call({ type: "begin" })));
      const passes = threads.map((thread) => onnxChunkPasses(config, parameters, settings, thread));
      const result = await work(passes);
      await Promise.all(threads.map((thread) => thread.call({ type: "end" })));
      for (const { gradients } of threads)
        for (const { name, first, length } of trained)
          addTo(parameters.get(name)!.gradient, gradients.subarray(first, first + length));
      return result;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all((threads ?? []).map((thread) => thread[Symbol.asyncDispose]()));
    },
  };
}

function placesOf(parameters: Parameters): TrainedPlace[] {
  let first = 0;
  return [...parameters].map(([name, { shape, value }]) => {
    const place = { name, shape, first, length: value.length };
    first += value.length;
    return place;
  });
}

const sharedArray = (length: number): Float32Array =>
  new Float32Array(new SharedArrayBuffer(Float32Array.BYTES_PER_ELEMENT * length));

function addTo(sum: Float32Array, part: Float32Array): void {
  for (let i = 0; i < sum.length; i++) sum[i]! += part[i]!;
}

interface Thread extends GraphRunner {
  readonly gradients: Float32Array;
  /** One call at a time. */
  call(request: WorkerRequest): Promise<WorkerReply>;
}

/** @param graphs the traced graphs of all threads, by name */
function startThread(data: WorkerData, graphs: Map<string, Graph>): Thread {
  const worker = startWorker("./chunk-worker", import.meta.url, data);
  worker.unref(); // a caller that forgets to dispose of the engine can end
  const sent = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();
  const call = (request: WorkerRequest): Promise<WorkerReply> => {
    const reply = new Promise<WorkerReply>((resolve, reject) => {
      worker.ref();
      const settle = (finish: () => void): void => {
        worker.off("message", onReply).off("error", onError);
        worker.unref();
        finish();
      };
      const onError = (error: unknown): void => settle(() => reject(error));
      const onReply = (reply: WorkerReply): void =>
        settle(() => (reply.error ? reject(new Error(reply.error)) : resolve(reply)));
      worker.on("message", onReply).on("error", onError);
      worker.postMessage(request);
    });
    last = reply.catch(() => {});
    return reply;
  };
  return {
    gradients: data.gradients,
    call,
    async run(name, build, tensors) {
      const traced = graphs.get(name) ?? build();
      graphs.set(name, traced);
      const graph = sent.has(name) ? undefined : traced;
      sent.add(name);
      return (await call({ type: "run", name, graph, tensors })).tensors!;
    },
    async [Symbol.asyncDispose]() {
      await last; // onnxruntime aborts the process if its thread ends during a run
      await worker.terminate();
    },
  };
}
