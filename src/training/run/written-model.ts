/** What a person should know of the model that a run wrote: its size, and what else changed. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isWeightFile } from "../../checkpoints/open.ts";
import { type ModelConfig, retrievalHead } from "../../model/config.ts";
import { readConfig } from "../../model/config-file.ts";
import { formatNumber } from "../report/format.ts";
import type { Run } from "./run.ts";

/** The size of a trained model, and what was fitted to the model that training began with. */
export interface WrittenModel {
  /** Bytes of its weights. */
  readonly bytes: number;
  /** Bytes of the weights of the given model; 0 if it had none. */
  readonly bytesBefore: number;
  /** Whether indexes of the given model stay valid. */
  readonly keepsIndexes: boolean;
  /** What it has that was fitted to the given model, and what it lost, in sentences. */
  readonly notes: readonly string[];
}

/** What a run did to the model that it wrote. */
interface Writing {
  /** Whether the run kept another model than the given one. */
  readonly isTrained: boolean;
  /** What became of its calibrations, if its reader was trained. */
  readonly calibrated: string | undefined;
  /** The shares of the heads at the end, if they were learned. */
  readonly headWeights: readonly number[] | undefined;
}

export async function describeWritten(
  run: Run,
  { isTrained, calibrated, headWeights = [] }: Writing,
): Promise<WrittenModel> {
  const before = await readConfig(run.model);
  const after = await readConfig(run.out);
  return {
    bytes: await weightBytes(run.out),
    bytesBefore: await weightBytes(run.model),
    keepsIndexes: run.keepsIndex || !isTrained,
    notes: [
      ...(calibrated ? [calibrated] : []),
      ...(isTrained ? [...pruningNotes(before, after), ...headNotes(after, headWeights)] : []),
    ],
  };
}

const weightBytes = async (folder: string): Promise<number> =>
  bytesOf((await readdir(folder)).filter(isWeightFile).map((name) => join(folder, name)));

/** The size of all files of a folder and its folders. */
export async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return bytesOf(files.map(({ parentPath, name }) => join(parentPath, name)));
}

async function bytesOf(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const pruningNotes = (before: ModelConfig, after: ModelConfig): string[] =>
  before.pruning && !after.pruning
    ? [
        "the pruning layer of the given model was fitted to other keys and is gone: " +
          "reatt train pruning makes one for this model",
      ]
    : [];

/** Below it, what retrieves is not what was trained. */
const SURE_SHARE = 0.9;

/** The model keeps one head, and training mixed them (ReAtt, section 2.2). */
function headNotes(after: ModelConfig, shares: readonly number[]): string[] {
  const head = retrievalHead(after);
  const share = shares[head];
  if (share === undefined || share >= SURE_SHARE) return [];
  return [
    `head ${head} retrieves alone, with ${formatNumber(share, "share")} of the learned weight: ` +
      "the others had a part in training, so train longer, or with a smaller tau",
  ];
}
