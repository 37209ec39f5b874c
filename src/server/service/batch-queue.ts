/**
 * Shared batches: requests that arrive while others run wait in a bounded queue, and those that
 * can run together do. One batch runs at a time, because a batch uses all cores.
 */

import { setTimeout } from "node:timers/promises";
import { ApiError } from "./api-error.ts";

/** What a batch can use while it runs. */
export interface BatchContext {
  /** Aborts when nobody waits for the batch any more. */
  readonly signal: AbortSignal;
  /** Passes a piece of text to the requests of an input. Undefined if none of them wants text. */
  readonly onText: ((text: string, input: number) => void) | undefined;
}

/** Computes one output for each input. */
export type BatchWork<Input, Output> = (
  inputs: readonly Input[],
  context: BatchContext,
) => Promise<readonly Output[]>;

export interface BatchRequest<Input, Output> {
  /** Requests of one group can run together: they have the same kind of work and options. */
  readonly group: string | symbol;
  /** Requests of a batch with identical inputs, such as equal text, are computed once. */
  readonly input: Input;
  readonly work: BatchWork<Input, Output>;
  /** Takes the request out of the queue, or out of the batch that runs. */
  readonly signal: AbortSignal;
  readonly onText?: ((text: string) => void) | undefined;
}

export interface BatchLimits {
  /** Requests that wait. Further ones are refused. */
  readonly waiting: number;
  /** Requests of one batch. */
  readonly batch: number;
}

/**
 * Clients that were just answered need some milliseconds to ask again. Without this pause, a batch
 * of one would run between two large ones.
 */
const GATHER_MS = 4;

/** A request with its promise. The types of input and output are those of its group. */
interface Job extends BatchRequest<unknown, unknown> {
  readonly resolve: (output: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** Whether the caller has its result, an error or has gone. */
  settled: boolean;
  hasText: boolean;
  /** Called when the job is settled from outside. */
  onSettled: () => void;
}

export class BatchQueue {
  readonly #limits: BatchLimits;
  readonly #onBatch: (size: number) => void;
  #waiting: Job[] = [];
  #running: Promise<void> | undefined;

  /** @param onBatch receives the size of each batch that starts */
  constructor(limits: BatchLimits, onBatch: (size: number) => void = () => {}) {
    this.#limits = limits;
    this.#onBatch = onBatch;
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Puts a request in the queue and returns its output.
   *
   * @throws {ApiError} `overloaded` if the queue is full
   * @throws the reason of the request's signal
   */
  submit<Input, Output>(request: BatchRequest<Input, Output>): Promise<Output> {
    const { signal } = request;
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#waiting.length >= this.#limits.waiting)
      return Promise.reject(
        new ApiError("overloaded", `${this.#limits.waiting} requests are waiting; try again later`),
      );
    return new Promise<unknown>((resolve, reject) => {
      const job = createJob(request as BatchRequest<unknown, unknown>, resolve, reject);
      job.onSettled = () => {
        this.#waiting = this.#waiting.filter((other) => other !== job);
      };
      this.#waiting.push(job);
      this.#running ??= this.#run();
    }) as Promise<Output>;
  }

  /** Resolves when no request waits or runs. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // requests that are submitted together start together
    while (this.#waiting.length > 0) {
      const jobs = this.#next();
      this.#onBatch(jobs.length);
      await runJobs(jobs);
      if (jobs.length + this.#waiting.length > 1) await setTimeout(GATHER_MS);
    }
    this.#running = undefined;
  }

  /** Takes the oldest request and all that can run with it out of the queue. */
  #next(): Job[] {
    const [{ group }] = this.#waiting as [Job, ...Job[]];
    const jobs = this.#waiting.filter((job) => job.group === group).slice(0, this.#limits.batch);
    this.#waiting = this.#waiting.filter((job) => !jobs.includes(job));
    return jobs;
  }
}

function createJob(
  request: BatchRequest<unknown, unknown>,
  resolve: (output: unknown) => void,
  reject: (reason: unknown) => void,
): Job {
  const { signal } = request;
  const settle =
    <T>(how: (value: T) => void) =>
    (value: T): void => {
      if (job.settled) return;
      job.settled = true;
      signal.removeEventListener("abort", onAbort);
      how(value);
      job.onSettled();
    };
  const job: Job = {
    ...request,
    resolve: settle(resolve),
    reject: settle(reject),
    settled: false,
    hasText: false,
    onSettled: () => {},
  };
  const onAbort = (): void => job.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return job;
}

/** Runs a batch. Its fault is the fault of all only if each fails alone too. */
async function runJobs(jobs: readonly Job[]): Promise<void> {
  try {
    await runBatch(jobs);
  } catch (error) {
    for (const job of jobs)
      if (jobs.length === 1 || job.hasText) job.reject(error);
      else if (!job.settled) await runJobs([job]);
  }
}

async function runBatch(jobs: readonly Job[]): Promise<void> {
  const abort = new AbortController();
  for (const job of jobs)
    job.onSettled = () => {
      if (jobs.every(({ settled }) => settled)) abort.abort();
    };
  const inputs = [...new Set(jobs.map(({ input }) => input))];
  const jobsOf = inputs.map((input) => jobs.filter((job) => job.input === input));
  const onText = (text: string, input: number): void => {
    for (const job of jobsOf[input]!) {
      if (job.settled || !job.onText) continue;
      job.hasText = true;
      job.onText(text);
    }
  };
  const outputs = await jobs[0]!.work(inputs, {
    signal: abort.signal,
    onText: jobs.some((job) => job.onText) ? onText : undefined,
  });
  for (const [i, output] of outputs.entries()) for (const job of jobsOf[i]!) job.resolve(output);
}
