/** The log of a run: metrics.jsonl, metrics.csv and report.html. */

import { readFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Measures } from "../../evaluation/measures.ts";
import { modelTitle } from "../../hub/model-title.ts";
import { createOutputDirectory } from "../../io/create-directory.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { HybridWeights } from "../../model/config.ts";
import type { StepLosses } from "../engine/engine.ts";
import { MASK } from "../examples/example.ts";
import type { ExampleCounts, MonitorQuestion } from "../examples/training-data.ts";
import { objectivesOf } from "../objectives/index.ts";
import { termsOf } from "../objectives/objective.ts";
import { type MetricsRecord, openMetricsLog } from "../report/metrics-log.ts";
import { metricsTable } from "../report/metrics-table.ts";
import {
  type Baseline,
  type ReportSample,
  type SampleReply,
  type Selection,
  writeReport,
} from "../report/report.ts";
import type { RunCheckpoint } from "./checkpoint.ts";
import { decisionsOf, type Run } from "./run.ts";

/** Questions shown in the report. */
const SAMPLES = 20;

export interface StepRecord {
  readonly step: number;
  readonly losses: StepLosses;
  readonly learningRate: number;
  readonly questionsPerSecond: number;
  /** exp(s) */
  readonly scale: number;
  /** Steps since the snapshot whose model found the candidates, if a model did. */
  readonly staleness: number | undefined;
  /** Shares of the heads, if they are learned. */
  readonly headWeights: readonly number[] | undefined;
}

/** Hybrid search with the weights that fit the model. */
export interface HybridMeasures {
  /** The weights that were measured. */
  readonly weights: HybridWeights;
  /** What they reach. */
  readonly measures: Measures;
}

/** An evaluation of the model alone, and by hybrid search. */
export interface Evaluation {
  readonly measures: Measures;
  readonly hybrid: HybridMeasures;
  /** The answers to the questions that the report can show. */
  readonly replies: readonly SampleReply[];
}

/** What the report says about the run. */
export interface RunDescription {
  /** The kind of the run, in a sentence. */
  readonly kind: string;
  /** How the kept model is chosen; undefined if it is the last one. */
  readonly selection?: Selection | undefined;
  readonly baseline?: Baseline | undefined;
  readonly examples?: ExampleCounts | undefined;
  /** The step of the best model so far, of a resumed run. */
  readonly keptStep?: number | undefined;
}

/** What a complete run brought. */
export interface RunEnd {
  /** Undefined if nothing was measured. */
  readonly verdict: string | undefined;
  /** The step of the saved model, if one was chosen. */
  readonly keptStep: number | undefined;
  /** What else changed with the weights, in sentences. */
  readonly notes: readonly string[];
}

export interface RunLog extends AsyncDisposable {
  /** Seconds of training, with those before the run was resumed. */
  seconds(): number;
  step(record: StepRecord): Promise<void>;
  evaluation(
    step: number,
    evaluation: Evaluation,
    questions: readonly MonitorQuestion[],
    bestStep: number,
  ): Promise<void>;
  /**
   * The questions that the report shows.
   *
   * @param keptStep of the saved model: what the given one answered is said once
   */
  samples(keptStep?: number): readonly ReportSample[];
  /** Flushes the log to the disk. */
  sync(): Promise<void>;
  /** Writes the report again and returns its path. */
  report(status: string, end?: RunEnd): Promise<string>;
}

export async function openRunLog(
  run: Run,
  checkpoint: RunCheckpoint | undefined,
  { kind, selection, baseline, examples, keptStep }: RunDescription,
): Promise<RunLog> {
  const start = performance.now();
  const started = new Date().toISOString();
  const before = checkpoint?.seconds ?? 0;
  const seconds = (): number => before + (performance.now() - start) / 1000;
  await createOutputDirectory(join(run.folder, "checkpoint"));
  const metrics = await openMetricsLog(join(run.folder, "metrics.jsonl"), checkpoint?.step);
  let best = keptStep;
  const samples = await openSamples(run, checkpoint !== undefined);

  const append = (record: MetricsRecord): Promise<void> =>
    metrics.append({ ...record, seconds: seconds() });
  const shownSamples = (kept: number | undefined): readonly ReportSample[] =>
    kept === 0 ? samples.current().map(({ after, ...before }) => before) : samples.current();
  const report = async (status: string, end?: RunEnd): Promise<string> => {
    const file = join(run.folder, "report.html");
    await replaceFile(join(run.folder, "metrics.csv"), (handle) =>
      handle.writeFile(metricsTable(metrics.records)),
    );
    await writeReport(file, {
      title: kind,
      status,
      verdict: end?.verdict,
      notes: end?.notes,
      selection,
      options: { ...shown(run), machine: machine(), started, seconds: Math.round(seconds()) },
      records: metrics.records,
      terms: termsOf(objectivesOf(run.objective.objective, run.objective)),
      baseline,
      examples,
      keptStep: end?.keptStep ?? best,
      samples: shownSamples(end?.keptStep),
    });
    return file;
  };
  return {
    seconds,
    step: ({ step, losses, staleness, headWeights, ...rest }) =>
      append({
        step,
        ...rest,
        ...lossRecord(losses),
        ...(staleness === undefined ? {} : { staleness }),
        ...(headWeights ? { headWeights } : {}),
      }),
    async evaluation(step, { measures, hybrid, replies }, questions, bestStep) {
      best = bestStep;
      if (questions.length > 0) await samples.update(step, questions, replies);
      await append({ step, ...measures, ...hybridRecord(hybrid) });
      await report(`Evaluated after step ${step}.`);
    },
    samples: shownSamples,
    sync: () => metrics.sync(),
    report,
    [Symbol.asyncDispose]: () => metrics[Symbol.asyncDispose](),
  };
}

interface Samples {
  current(): readonly ReportSample[];
  /** Takes the answers of an evaluation into the samples, and saves them. */
  update(
    step: number,
    questions: readonly MonitorQuestion[],
    replies: readonly SampleReply[],
  ): Promise<void>;
}

/** The questions that the report shows with their answers, saved for a resumed run. */
async function openSamples({ folder }: Run, resumed: boolean): Promise<Samples> {
  const file = join(folder, "checkpoint", "samples.json");
  let samples = resumed ? await readSamples(file) : [];
  return {
    current: () => samples,
    async update(step, questions, replies) {
      const when = step > 0 ? "after" : "before";
      samples = samplesOf(questions, replies, when, samples);
      await replaceFile(file, (handle) => handle.writeFile(JSON.stringify(samples)));
    },
  };
}

/** Questions from all parts of the set, with the model's answers now and, if known, before. */
function samplesOf(
  questions: readonly MonitorQuestion[],
  replies: readonly SampleReply[],
  when: "before" | "after",
  known: readonly ReportSample[],
): ReportSample[] {
  const count = Math.min(SAMPLES, questions.length);
  return Array.from({ length: count }, (_, i) => {
    const place = Math.floor((i * questions.length) / count);
    const { question, answers = [], relevant } = questions[place]!;
    const before = known[i]?.before;
    const shown = question.replace(MASK, "____");
    return { question: shown, gold: answers, relevant, before, [when]: replies[place]! };
  });
}

async function readSamples(file: string): Promise<ReportSample[]> {
  const text = await readFile(file, "utf8").catch(() => "[]"); // a run without dev has no file
  return JSON.parse(text);
}

/** The decisions that the report shows. */
const shown = (run: Run): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries<unknown>({ model: modelTitle(run.model), ...decisionsOf(run) }).map(
      ([name, value]) => [
        name,
        typeof value === "number" ? Number(value.toPrecision(6)) : String(value),
      ],
    ),
  );

const lossRecord = ({ terms, ...rest }: StepLosses): Record<string, number> => ({
  ...terms,
  ...rest,
});

const HYBRID_PREFIX = "hybrid/";

/** The keys of metrics.jsonl for hybrid search: `hybrid/lambda`, `hybrid/recall@1` and so on. */
function hybridRecord({ weights, measures }: HybridMeasures): Record<string, number> {
  const entries = Object.entries({ lambda: weights.lambda, ...measures });
  return Object.fromEntries(entries.map(([name, value]) => [`${HYBRID_PREFIX}${name}`, value]));
}

/** Processors and runtime, for reports and cards. */
export const machine = (): string =>
  `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, Node ${process.versions.node}`;
