/** All that a run leaves to be read: metrics.jsonl, TensorBoard's event files, report.html. */

import { cpus } from "node:os";
import { join } from "node:path";
import type { Checkpoint } from "./checkpoint.ts";
import type { TrainingQuestion } from "./data.ts";
import type { StepLosses } from "./engine.ts";
import type { DevResult } from "./evaluate.ts";
import { type MetricsRecord, openMetricsLog } from "./metrics-log.ts";
import type { ResolvedOptions } from "./options.ts";
import { type Baseline, type Sample, type SampleReply, writeReport } from "./report.ts";
import { openTensorBoard } from "./tensorboard.ts";

/** Questions shown in the report. */
const SAMPLES = 20;

export interface StepRecord {
  readonly step: number;
  readonly losses: StepLosses;
  readonly learningRate: number;
  readonly questionsPerSecond: number;
  /** exp(s) */
  readonly scale: number;
  /** Shares of the heads, where they are learned. */
  readonly headWeights: readonly number[] | undefined;
}

export interface RunLog extends AsyncDisposable {
  /** Seconds of this run, with those before it was resumed. */
  seconds(): number;
  step(record: StepRecord): Promise<void>;
  evaluation(
    step: number,
    result: DevResult,
    questions: readonly TrainingQuestion[],
    bestStep?: number,
  ): Promise<void>;
  /** Makes what was logged durable. */
  sync(): Promise<void>;
  /** Writes the report anew, and returns where it lies. */
  report(status: string): Promise<string>;
}

export async function openRunLog(
  options: ResolvedOptions,
  plan: Checkpoint["plan"],
  checkpoint: Checkpoint | undefined,
  baseline: Baseline | undefined,
): Promise<RunLog> {
  const start = performance.now();
  const before = checkpoint?.seconds ?? 0;
  const seconds = (): number => before + (performance.now() - start) / 1000;
  const metrics = await openMetricsLog(join(options.out, "metrics.jsonl"), checkpoint?.step);
  const board = await openTensorBoard(options.out, checkpoint?.step);
  let best: number | undefined = checkpoint?.best?.step;
  const replies: Record<"before" | "after", readonly SampleReply[]> = { before: [], after: [] };
  let asked: readonly TrainingQuestion[] = [];

  const append = async (record: MetricsRecord): Promise<void> => {
    await metrics.append({ ...record, seconds: seconds() });
    const numbers = Object.entries(record).filter((entry): entry is [string, number] =>
      Number.isFinite(entry[1]),
    );
    await board.scalars(record.step, Object.fromEntries(numbers.filter(([name]) => name !== "step")));
  };
  const report = async (status: string): Promise<string> => {
    const file = join(options.out, "report.html");
    const samples = asked.slice(0, SAMPLES).map(({ question, answers }, i): Sample => {
      return { question, gold: answers, before: replies.before[i], after: replies.after[i] };
    });
    await writeReport(file, {
      title: `Training ${options.model}`,
      status,
      options: { ...plan, machine: machine(), seconds: Math.round(seconds()) },
      records: metrics.records,
      baseline,
      best: best === undefined ? undefined : { step: best, path: options.out },
      samples,
      notes: [],
    });
    return file;
  };
  return {
    seconds,
    step: ({ step, losses, headWeights, ...rest }) =>
      append({ step, ...rest, ...lossRecord(losses), ...(headWeights ? { headWeights } : {}) }),
    async evaluation(step, result, questions, bestStep) {
      best = bestStep;
      asked = questions;
      replies[step === 0 ? "before" : "after"] = result.replies;
      await append({ step, ...result.measures });
      await report(`Evaluated after step ${step}.`);
    },
    sync: () => metrics.sync(),
    report,
    async [Symbol.asyncDispose]() {
      await metrics[Symbol.asyncDispose]();
      await board[Symbol.asyncDispose]();
    },
  };
}

function lossRecord({
  nll,
  loss,
  gradientNorm,
  retrieval,
  distillation,
}: StepLosses): Record<string, number> {
  return {
    nll,
    loss,
    gradientNorm,
    ...(retrieval ? { ownProbability: average(retrieval.ownLogProbabilities.map(probability)) } : {}),
    ...(distillation ? { kl: distillation.kl } : {}),
    ...(distillation && retrieval
      ? { ownKl: ownDivergence(distillation.target, retrieval.ownLogProbabilities) }
      : {}),
  };
}

const probability = (logs: readonly number[]): number => logs.reduce((sum, log) => sum + Math.exp(log), 0);

/** KL over a question's own passages alone, the retrieval distribution normalised over them. */
function ownDivergence(target: readonly (readonly number[])[], logs: readonly (readonly number[])[]): number {
  return average(
    target.map((shares, i) => {
      const own = Math.log(probability(logs[i]!));
      return shares.reduce(
        (sum, share, k) => sum + (share > 0 ? share * (Math.log(share) - logs[i]![k]! + own) : 0),
        0,
      );
    }),
  );
}

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const machine = (): string =>
  `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, Node ${process.versions.node}`;
