/**
 * Watches retrieval while a run goes on: adaptation must not collapse. A bi-encoder trained end to end the way REALM is
 * fell to an nDCG of 0 on BioASQ (ReAtt, section 6).
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Measures } from "../../evaluation/measures.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { ModelConfig } from "../../model/config.ts";
import { ReAtt } from "../../reatt.ts";
import type { RetrievalMonitor } from "../data/task.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import type { TrainingEvent } from "./events.ts";
import { saveModel } from "./save-model.ts";

/** How far down a relevant passage is looked for. */
const DEPTH = 100;
const CUTOFFS: readonly number[] = [1, 5, 20];

/** Retrieval has fallen away when it lost more than this share of what it was at the start, and no chance explains it. */
const TOLERATED_LOSS = 0.1;
/** Standard errors of the mean difference between questions that chance may explain. */
const CHANCE = 2;

/** One measurement: for each question, 1 / the rank of the first relevant passage; 0 if there is none. */
export interface MonitorRecord {
  readonly step: number;
  readonly reciprocalRanks: readonly number[];
}

/** What the monitor said of a run. */
export interface MonitorOutcome {
  readonly before: Measures;
  /** Of the model that was kept, which is that of `step`. */
  readonly after: Measures;
  readonly step: number;
  /** Whether the run was stopped because retrieval fell away. */
  readonly collapsed: boolean;
}

/** Measures `parameters`, as a model with an index of the probe's passages. */
export async function* measureRetrieval(
  options: ResolvedOptions,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  { questions, passages }: RetrievalMonitor,
): AsyncGenerator<TrainingEvent, number[]> {
  yield { type: "stage", name: "measuring retrieval" };
  const folder = join(options.out, "checkpoint", "probe");
  await saveModel(folder, config, parameters, options.model);
  await using model = await ReAtt.load(folder, { provider: options.provider });
  const { maxPassageTokens } = options;
  await using index = await model.index(passages, {
    directory: join(folder, "index"),
    maxPassageTokens,
  });
  const found = await model.retrieve(
    questions.map(({ question }) => question),
    index,
    { topK: Math.min(DEPTH, passages.length) },
  );
  return questions.map(({ relevant }, i) => {
    const first = found[i]!.findIndex(({ id }) => relevant.includes(id));
    return first === -1 ? 0 : 1 / (first + 1);
  });
}

/** `mrr`, and `recall@k`: the share of questions with a relevant passage among the first k. */
export function measuresOf({ reciprocalRanks }: MonitorRecord): Measures {
  const recall = CUTOFFS.map((k) => [
    `recall@${k}`,
    average(reciprocalRanks.map((value) => Number(value >= 1 / k))),
  ]);
  return { mrr: average(reciprocalRanks), ...Object.fromEntries(recall) };
}

/** The measurement of highest mean reciprocal rank; the later of two equal ones. */
export function bestOf(records: readonly MonitorRecord[]): MonitorRecord {
  return records.reduce((best, record) => (mrr(record) >= mrr(best) ? record : best));
}

/**
 * Whether the last measurement is clearly below the first: with d_i the loss of question i,
 *
 *     mean(d) > 0.1 mrr(first)   and   mean(d) > 2 sd(d) / sqrt(n)
 */
export function hasCollapsed(records: readonly MonitorRecord[]): boolean {
  const [first, last] = [records[0], records.at(-1)];
  if (!first || !last) return false;
  const losses = first.reciprocalRanks.map((value, i) => value - last.reciprocalRanks[i]!);
  const loss = average(losses);
  const variance =
    losses.reduce((sum, value) => sum + (value - loss) ** 2, 0) / (losses.length - 1);
  const chance = CHANCE * Math.sqrt(variance / losses.length);
  return loss > TOLERATED_LOSS * mrr(first) && loss > chance;
}

export function outcomeOf(records: readonly MonitorRecord[]): MonitorOutcome {
  const best = bestOf(records);
  return {
    before: measuresOf(records[0]!),
    after: measuresOf(best),
    step: best.step,
    collapsed: hasCollapsed(records),
  };
}

const recordsFile = (out: string): string => join(out, "checkpoint", "probe.json");
const description = z.array(z.object({ step: z.int(), reciprocalRanks: z.array(z.number()) }));

/** Keeps the measurements for a run that is resumed. */
export async function writeMonitorRecords(
  out: string,
  records: readonly MonitorRecord[],
): Promise<void> {
  await replaceFile(recordsFile(out), (handle) => handle.writeFile(JSON.stringify(records)));
}

/** Those up to the step that the run goes on from. */
export async function readMonitorRecords(out: string, step: number): Promise<MonitorRecord[]> {
  const records = description.parse(JSON.parse(await readFile(recordsFile(out), "utf8")));
  return records.filter((record) => record.step <= step);
}

const mrr = ({ reciprocalRanks }: MonitorRecord): number => average(reciprocalRanks);

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
