/** All that a run leaves to be read: metrics.jsonl, TensorBoard's event files, report.html. */

import { mkdir, readFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Measures } from "../../evaluation/measures.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { TrainingQuestion } from "../data/training-questions.ts";
import type { StepLosses } from "../engine/engine.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { type MetricsRecord, openMetricsLog } from "../report/metrics-log.ts";
import { type Baseline, type Sample, type SampleReply, writeReport } from "../report/report.ts";
import { openTensorBoard } from "../report/tensorboard.ts";
import type { Checkpoint } from "./checkpoint.ts";
import type { DevResult } from "./evaluate.ts";

/** Questions shown in the report. */
const SAMPLES = 20;

export interface StepRecord {
  readonly step: number;
  readonly losses: StepLosses;
  readonly learningRate: number;
  readonly questionsPerSecond: number;
  /** exp(s) */
  readonly scale: number;
  /** Steps since the model was as it was when it found the close passages, where a model did. */
  readonly staleness: number | undefined;
  /** Shares of the heads, where they are learned. */
  readonly headWeights: readonly number[] | undefined;
}

/** What was measured on dev after so many steps. */
export interface Evaluation {
  readonly step: number;
  readonly measures: Measures;
}

/** What decides which model is kept; each where those before it are equal. Answers can be right though nothing is found. */
const CRITERIA = ["exactMatch", "recall@1", "f1"] as const;

export function atLeastAsGood(measures: Measures, others: Measures): boolean {
  const decisive = CRITERIA.find((name) => measures[name] !== others[name]);
  return decisive === undefined || measures[decisive]! > others[decisive]!;
}

/** The evaluation of the model that is kept: the best after step `start`, the last of equal ones. */
export function bestEvaluation(
  evaluations: readonly Evaluation[],
  start: number,
): Evaluation | undefined {
  return evaluations
    .filter(({ step }) => step > start)
    .reduce<Evaluation | undefined>(
      (best, next) => (!best || atLeastAsGood(next.measures, best.measures) ? next : best),
      undefined,
    );
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
  /** Those on dev, in the order of steps, of this run and before it was resumed. */
  evaluations(): readonly Evaluation[];
  /** Makes what was logged durable. */
  sync(): Promise<void>;
  /** Writes the report anew, and returns where it lies. */
  report(status: string): Promise<string>;
}

export async function openRunLog(
  options: ResolvedOptions,
  checkpoint: Checkpoint | undefined,
  baseline: Baseline | undefined,
): Promise<RunLog> {
  const start = performance.now();
  const started = new Date().toISOString();
  const before = checkpoint?.seconds ?? 0;
  const seconds = (): number => before + (performance.now() - start) / 1000;
  await mkdir(join(options.out, "checkpoint"), { recursive: true });
  const metrics = await openMetricsLog(join(options.out, "metrics.jsonl"), checkpoint?.step);
  const board = await openTensorBoard(options.out, checkpoint?.step);
  const evaluations = (): Evaluation[] =>
    metrics.records
      .filter((record) => "exactMatch" in record)
      .map(({ step, seconds: _, ...measures }) => ({ step, measures: measures as Measures }));
  let best: number | undefined = bestEvaluation(evaluations(), options.unsupervisedSteps)?.step;
  const samplesFile = join(options.out, "checkpoint", "samples.json");
  let samples: readonly Sample[] = checkpoint ? await readSamples(samplesFile) : [];

  const append = async (record: MetricsRecord): Promise<void> => {
    await metrics.append({ ...record, seconds: seconds() });
    await board.scalars(record.step, scalarsOf(record));
  };
  const report = async (status: string): Promise<string> => {
    const file = join(options.out, "report.html");
    await writeReport(file, {
      title: `Training ${options.model}`,
      status,
      options: { ...shown(options), machine: machine(), started, seconds: Math.round(seconds()) },
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
    step: ({ step, losses, staleness, headWeights, ...rest }) =>
      append({
        ...{ step, ...rest, ...lossRecord(losses) },
        ...(staleness === undefined ? {} : { staleness }),
        ...(headWeights ? { headWeights } : {}),
      }),
    async evaluation(step, result, questions, bestStep) {
      best = bestStep;
      samples = samplesOf(
        questions,
        result.replies,
        step > options.unsupervisedSteps ? "after" : "before",
        samples,
      );
      await replaceFile(samplesFile, (handle) => handle.writeFile(JSON.stringify(samples)));
      await append({ step, ...result.measures });
      await report(`Evaluated after step ${step}.`);
    },
    evaluations,
    sync: () => metrics.sync(),
    report,
    async [Symbol.asyncDispose]() {
      await metrics[Symbol.asyncDispose]();
      await board[Symbol.asyncDispose]();
    },
  };
}

/** Some questions of all parts of the set, with what the model said to them now and, if it was asked, before. */
function samplesOf(
  questions: readonly TrainingQuestion[],
  replies: readonly SampleReply[],
  when: "before" | "after",
  known: readonly Sample[],
): Sample[] {
  const count = Math.min(SAMPLES, questions.length);
  return Array.from({ length: count }, (_, i) => {
    const place = Math.floor((i * questions.length) / count);
    const { question, answers } = questions[place]!;
    return { question, gold: answers, before: known[i]?.before, [when]: replies[place]! };
  });
}

async function readSamples(file: string): Promise<Sample[]> {
  const text = await readFile(file, "utf8").catch(() => "[]"); // a run without dev has none
  return JSON.parse(text);
}

/** What a person wants to see of a run's options, in this order. */
function shown({ signal, resume, ...options }: ResolvedOptions): Record<string, string | number> {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "number" ? value : String(value)]),
  );
}

/** The numbers of a record by the tags of TensorBoard; those of a list as `name/0`, `name/1`, … */
function scalarsOf({ step, ...metrics }: MetricsRecord): Record<string, number> {
  const entries = Object.entries(metrics).flatMap(([name, value]): [string, unknown][] =>
    Array.isArray(value) ? value.map((part, i) => [`${name}/${i}`, part]) : [[name, value]],
  );
  return Object.fromEntries(
    entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
  );
}

function lossRecord({
  nll,
  copyAttention,
  loss,
  gradientNorm,
  retrieval,
  distillation,
}: StepLosses): Record<string, number> {
  return {
    nll,
    ...(copyAttention === undefined ? {} : { pointer: copyAttention }), // its key in metrics.jsonl
    loss,
    gradientNorm,
    ...(retrieval ? { ownProbability: average(retrieval.logProbabilities.map(probability)) } : {}),
    ...(distillation ? { kl: distillation.kl } : {}),
    ...(distillation && retrieval
      ? { ownKl: ownDivergence(distillation.target, retrieval.logProbabilities) }
      : {}),
  };
}

const probability = (logs: readonly number[]): number =>
  logs.reduce((sum, log) => sum + Math.exp(log), 0);

/** KL over a question's own passages alone, the retrieval distribution normalised over them. */
function ownDivergence(
  target: readonly (readonly number[])[],
  logs: readonly (readonly number[])[],
): number {
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
