/**
 * Batches of questions on several threads. Each thread takes the next question, searches it with an
 * engine of its own, and reads codes and lists through memory that all of them share. So a question
 * has the same result in a batch as alone.
 */

import { once } from "node:events";
import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, type Worker } from "node:worker_threads";
import { startWorker } from "../../io/worker.ts";
import type { Codebook } from "../codec/codec.ts";
import type { SharedMemory } from "../index/blocks/shared-blocks.ts";
import type { CompressedFiles } from "../index/format/segment.ts";
import type { Ranking } from "../scoring/top-k.ts";
import type { CentroidSearchOptions } from "./centroid-search.ts";
import { type CandidateEngine, type SearchAlso, type SearchRequest, searchesOf } from "./engine.ts";

/** A compressed index, as threads give it to each other. */
export interface SharedIndex {
  readonly shared: SharedMemory;
  readonly segments: readonly {
    readonly passages: number;
    readonly longestKey: number;
    readonly files: CompressedFiles;
  }[];
  readonly codebook: Codebook;
  readonly options: CentroidSearchOptions;
}

/** Questions for all threads. */
export interface SearchBatch {
  readonly questions: readonly Float32Array[];
  /** For each question, passages that its ranking has besides the best. */
  readonly also: readonly Uint32Array[];
  readonly topK: number;
  /** A bit for each passage. */
  readonly accepted: Uint8Array;
  /** [1]: the first question that no thread has taken. */
  readonly next: Int32Array;
}

/** A batch with the port that receives what a worker found, by question. */
export interface SearchTask extends SearchBatch {
  readonly found: MessagePort;
}

interface SearchWorker {
  readonly worker: Worker;
  /** Rejects with an error that the worker did not catch. */
  readonly ended: Promise<unknown>;
}

/** The most threads: more would wait for memory. */
const MAX_THREADS = 16;

/** Questions of a batch for which workers start, which takes as long as some questions. */
const STARTING_BATCH = 8;

/**
 * `engine` with batches on `threads` threads. Workers start with the first large batch and end with
 * the engine.
 */
export function parallelSearch(
  engine: CandidateEngine,
  index: SharedIndex,
  threads: number = availableParallelism(),
): CandidateEngine {
  const workers: SearchWorker[] = [];
  const ordinalCount = index.segments.reduce((sum, { passages }) => sum + passages, 0);
  const workersFor = (questions: number): SearchWorker[] => {
    const wanted = Math.min(threads, MAX_THREADS, questions) - 1;
    if (workers.length > 0 || questions >= STARTING_BATCH)
      while (workers.length < wanted) workers.push(start(index));
    return workers.slice(0, wanted);
  };
  const searchAlso: SearchAlso = async (questions, also, request) => {
    const serving = workersFor(questions.length);
    if (serving.length === 0) return engine.searchAlso(questions, also, request);
    return searchTogether(engine, serving, { questions, also }, request, ordinalCount);
  };
  return {
    ...searchesOf(searchAlso),
    keys: engine.keys,
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map(end));
      await engine[Symbol.asyncDispose]();
    },
  };
}

async function searchTogether(
  { searchAlso }: CandidateEngine,
  workers: readonly SearchWorker[],
  { questions, also }: Pick<SearchBatch, "questions" | "also">,
  request: SearchRequest,
  ordinalCount: number,
): Promise<Ranking[]> {
  const { topK, accept, signal } = request;
  const batch: SearchBatch = {
    questions,
    also,
    topK,
    accepted: acceptedBits(accept, ordinalCount),
    next: new Int32Array(new SharedArrayBuffer(4)),
  };
  const others = Promise.all(workers.map((worker) => searchIn(worker, batch)));
  others.catch(() => {}); // the await below throws it
  const found: Ranking[] = [];
  const searchHere = async (i: number): Promise<void> => {
    signal?.throwIfAborted();
    found[i] = (await searchAlso([questions[i]!], [also[i]!], request))[0]!;
  };
  try {
    for (const i of takeQuestions(questions.length, batch.next)) await searchHere(i);
  } finally {
    Atomics.store(batch.next, 0, questions.length); // after an error, workers take no more
    for (const part of await others)
      part.forEach((hits, i) => {
        found[i] = hits;
      });
  }
  // those that failed in a worker: the caller gets the error itself
  for (let i = 0; i < questions.length; i++) if (!found[i]) await searchHere(i);
  return found;
}

/** The numbers of the questions that this thread takes. */
export function* takeQuestions(count: number, next: Int32Array): Generator<number> {
  for (;;) {
    const i = Atomics.add(next, 0, 1);
    if (i >= count) return;
    yield i;
  }
}

function start(index: SharedIndex): SearchWorker {
  const worker = startWorker("./search-worker", import.meta.url, index);
  worker.unref();
  const ended = once(worker, "exit");
  ended.catch(() => {}); // the next batch throws it
  return { worker, ended };
}

async function end({ worker, ended }: SearchWorker): Promise<void> {
  worker.ref();
  worker.postMessage(undefined);
  await ended;
}

/** What a worker found of a batch, by question; not those that failed. */
async function searchIn({ worker, ended }: SearchWorker, batch: SearchBatch): Promise<Ranking[]> {
  const { port1, port2 } = new MessageChannel();
  try {
    const task: SearchTask = { ...batch, found: port2 };
    worker.postMessage(task, [port2]);
    const [found] = await Promise.race([once(port1, "message"), ended.then(() => [[]])]);
    return found;
  } finally {
    port1.close();
  }
}

function acceptedBits(accept: SearchRequest["accept"], ordinalCount: number): Uint8Array {
  const bits = new Uint8Array(new SharedArrayBuffer(Math.ceil(ordinalCount / 8)));
  for (let ordinal = 0; ordinal < ordinalCount; ordinal++)
    if (accept(ordinal)) bits[ordinal >>> 3]! |= 1 << (ordinal & 7);
  return bits;
}

export const isAccepted = (bits: Uint8Array, ordinal: number): boolean =>
  (bits[ordinal >>> 3]! & (1 << (ordinal & 7))) !== 0;
