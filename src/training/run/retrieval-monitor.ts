/**
 * The retrieval monitor measures retrieval during a run and detects a collapse. In the paper, a RAG
 * model trained end to end fell to an nDCG@10 of 0 on BioASQ (ReAtt, section 6).
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Measures } from "../../evaluation/measures.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { mean } from "../../math/mean.ts";
import type { ModelConfig } from "../../model/config.ts";
import { ReAtt } from "../../reatt.ts";
import type { MonitorSet } from "../data/training-data.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { saveModel } from "./save-model.ts";

/** Passages retrieved for each question. */
const DEPTH = 100;
const CUTOFFS: readonly number[] = [1, 5, 20];

/** The share of the first mean reciprocal rank that a run may lose. */
const TOLERATED_LOSS = 0.1;
/** A smaller loss, in standard errors of the mean difference between questions, may be chance. */
const SIGNIFICANT_ERRORS = 2;

export interface MonitorRecord {
  readonly step: number;
  /** For each question, 1 / rank of the first relevant passage; 0 if none was retrieved. */
  readonly reciprocalRanks: readonly number[];
}

export interface MonitorOutcome {
  readonly before: Measures;
  /** Of the saved model, which is that of `step`. */
  readonly after: Measures;
  readonly step: number;
  /** Whether the run stopped because retrieval collapsed. */
  readonly collapsed: boolean;
}

/** The reciprocal ranks of `parameters`, as a model with an index of the monitor's passages. */
export async function* measureRetrieval(
  options: ResolvedOptions,
  config: ModelConfig,
  parameters: ReadonlyMap<string, ParameterState>,
  { questions, passages }: MonitorSet,
): AsyncGenerator<ProgressEvent, number[]> {
  yield { type: "stage", name: "measuring retrieval" };
  const folder = join(options.out, "checkpoint", "probe");
  await saveModel(folder, config, parameters, options.model);
  await using model = await ReAtt.load(folder, { provider: options.provider });
  const { maxPassageTokens } = options;
  const directory = join(folder, "index");
  await using index = await model.index(passages, { directory, maxPassageTokens });
  const retrieved = await model.retrieve(
    questions.map(({ question }) => question),
    index,
    { topK: Math.min(DEPTH, passages.length) },
  );
  return questions.map(({ relevant }, i) => {
    const rank = retrieved[i]!.findIndex(({ id }) => relevant.includes(id));
    return rank === -1 ? 0 : 1 / (rank + 1);
  });
}

/** `mrr`, and `recall@k`: the share of questions with a relevant passage among the first k. */
export function measuresOf({ reciprocalRanks }: MonitorRecord): Measures {
  const recall = CUTOFFS.map((k) => [
    `recall@${k}`,
    mean(reciprocalRanks.map((value) => Number(value >= 1 / k))),
  ]);
  return { mrr: mean(reciprocalRanks), ...Object.fromEntries(recall) };
}

/** The record of highest mean reciprocal rank; of equal ones the last. */
export function bestOf(records: readonly MonitorRecord[]): MonitorRecord {
  return records.reduce((best, record) => (mrr(record) >= mrr(best) ? record : best));
}

/**
 * Whether retrieval has collapsed: the last record is clearly below the first. With d_i the loss of
 * question i,
 *
 *     mean(d) > 0.1 mrr(first)   and   mean(d) > 2 sd(d) / sqrt(n)
 */
export function hasCollapsed(records: readonly MonitorRecord[]): boolean {
  const [first, last] = [records[0], records.at(-1)];
  if (!first || !last) return false;
  const losses = first.reciprocalRanks.map((value, i) => value - last.reciprocalRanks[i]!);
  const loss = mean(losses);
  const variance =
    losses.reduce((sum, value) => sum + (value - loss) ** 2, 0) / (losses.length - 1);
  const standardError = Math.sqrt(variance / losses.length);
  return loss > TOLERATED_LOSS * mrr(first) && loss > SIGNIFICANT_ERRORS * standardError;
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

/** Saves the records for a resumed run. */
export async function writeMonitorRecords(
  out: string,
  records: readonly MonitorRecord[],
): Promise<void> {
  await replaceFile(recordsFile(out), (handle) => handle.writeFile(JSON.stringify(records)));
}

/** The records up to `step`, from which the run is resumed. */
export async function readMonitorRecords(out: string, step: number): Promise<MonitorRecord[]> {
  const records = description.parse(JSON.parse(await readFile(recordsFile(out), "utf8")));
  return records.filter((record) => record.step <= step);
}

const mrr = ({ reciprocalRanks }: MonitorRecord): number => mean(reciprocalRanks);
