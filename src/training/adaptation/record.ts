/** `adaptation.json` in the folder of a run: the record of an adaptation. */

import { relative } from "node:path";
import { InputError } from "../../io/errors.ts";
import type { CutText } from "../../retrieval/index/format/manifest.ts";
import { ADAPT_OPTIONS, type AdaptOptions, type AdaptRequest } from "../options/adapt-options.ts";
import type { TrainingPlan } from "../plan/plan.ts";
import type { TrainingResult } from "../run/events.ts";
import { checkFree, runFolder } from "../run/run-folder.ts";
import {
  locatedIn,
  type RunKind,
  readRunRecord,
  withRecord,
  writeRunRecord,
} from "../run/run-record.ts";

const ADAPTATION: RunKind = { name: "adaptation", options: ADAPT_OPTIONS };

/**
 * @param options with their defaults
 * @throws {InputError} if the disk refuses
 */
export async function writeRecord(options: AdaptRequest, result?: AdaptationResult): Promise<void> {
  const folder = runFolder(options.out);
  const seen = result && withPaths(result, (path) => relative(folder, path));
  await writeRunRecord(ADAPTATION, options, seen);
}

function withPaths(result: AdaptationResult, change: (path: string) => string): AdaptationResult {
  const { training, index } = result;
  return {
    ...result,
    ...(training && {
      training: { ...training, folder: change(training.folder), report: change(training.report) },
    }),
    ...(index !== undefined && { index: change(index) }),
  };
}

/**
 * The options of a run: those that were given, and those of its record if it is resumed.
 *
 * @throws {InputError} if there is a complete run that is not resumed, or a model without its run
 */
export async function recordedOptions(
  given: AdaptOptions,
): Promise<{ given: AdaptOptions; result?: AdaptationResult | undefined }> {
  if (typeof given?.out !== "string" || given.dryRun) return { given };
  await checkFree(given.out);
  const record = await readRunRecord(ADAPTATION, given.out);
  if (!record) return { given };
  const result = record.result as AdaptationResult | undefined;
  if (given.resume) {
    const located = locatedIn(runFolder(given.out));
    return { given: withRecord(given, record), result: result && withPaths(result, located) };
  }
  if (!result) return { given }; // findRun refuses it if there is a checkpoint
  throw new InputError({
    code: "ERR_REATT_FOLDER_EXISTS",
    where: given.out,
    expected: "a folder without a run",
    got: "an adapted model",
    remedy: "choose another folder",
  });
}

export interface AdaptationResult {
  /** What the run decided before it began. */
  readonly plan: TrainingPlan;
  /** Undefined after a dry run. */
  readonly training?: TrainingResult | undefined;
  /**
   * Folder of the index of the adapted model. Undefined without the option `index`, if an index of
   * the original model remains valid, after a dry run, and if training was stopped before its end.
   */
  readonly index?: string | undefined;
  /** The text over the limit of the index, which cannot be found. Undefined if there is none. */
  readonly cut?: CutText | undefined;
  /** What the adaptation brought, in a line. Undefined while the run is not complete. */
  readonly verdict?: string | undefined;
  /** What everything took. The plan has the estimate. Undefined while the run is not complete. */
  readonly seconds?: number | undefined;
}
