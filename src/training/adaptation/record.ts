/**
 * `adaptation.json` in the folder of a run: the options, so that the run can be resumed by its
 * folder alone, and its result when it is complete.
 */

import { readFile } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { CutText } from "../../retrieval/index/format/manifest.ts";
import { ADAPT_OPTIONS, type AdaptOptions, type AdaptRequest } from "../options/adapt-options.ts";
import { FILE_OPTIONS } from "../options/run-options.ts";
import type { TrainingResult } from "../run/events.ts";
import { checkFree, runFolder } from "../run/run-folder.ts";
import type { AdaptationPlan } from "./plan.ts";

export interface AdaptationRecord {
  readonly options: Readonly<Record<string, unknown>>;
  /** Undefined while the run is not complete. */
  readonly result?: AdaptationResult | undefined;
}

/** Options that say how to go on, and not what the run is. */
const UNRECORDED: ReadonlySet<string> = new Set(["out", "resume", "dryRun"]);
const fileOf = (folder: string): string => join(folder, "adaptation.json");

const description = z.object({
  format: z.literal("reatt-adaptation"),
  version: z.literal(1),
  options: z.record(z.string(), z.unknown()),
  result: z.custom<AdaptationResult>().optional(),
});

/**
 * @param options with their defaults: those that depend on the speed of the machine are recorded
 * @throws {InputError} if the disk refuses
 */
export async function writeRecord(options: AdaptRequest, result?: AdaptationResult): Promise<void> {
  const values = Object.entries({ ...options }).filter(
    ([name, value]) => name in ADAPT_OPTIONS && !UNRECORDED.has(name) && value !== undefined,
  );
  const folder = runFolder(options.out);
  const record = {
    format: "reatt-adaptation",
    version: 1,
    options: withFiles(Object.fromEntries(values), (file) => relative(folder, file)),
    result: result && withPaths(result, (path) => relative(folder, path)),
  };
  await replaceFile(fileOf(folder), (handle) =>
    handle.writeFile(`${JSON.stringify(record, undefined, 2)}\n`),
  );
}

/** Paths are recorded as seen from the folder of the run. */
const withFiles = (
  options: Readonly<Record<string, unknown>>,
  change: (file: string) => string,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      FILE_OPTIONS.has(name) ? change(String(value)) : value,
    ]),
  );

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
 * @param out folder of the adapted model
 * @throws {InputError} if the record is damaged
 */
export async function readRecord(out: string): Promise<AdaptationRecord | undefined> {
  const folder = runFolder(out);
  const file = fileOf(folder);
  const located = (path: string): string => (isAbsolute(path) ? path : join(folder, path));
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const { options, result } = description.parse(JSON.parse(text));
    return { options: withFiles(options, located), result: result && withPaths(result, located) };
  } catch (cause) {
    const problem = { where: file, expected: "the record of an adaptation", got: "another text" };
    throw new InputError({ ...problem, remedy: "adapt into another folder" }, { cause });
  }
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
  const record = await readRecord(given.out);
  if (!record) return { given };
  if (given.resume) {
    const named = Object.entries(given).filter(([, value]) => value !== undefined);
    const merged = { ...record.options, ...Object.fromEntries(named) } as AdaptOptions;
    return { given: merged, result: record.result };
  }
  if (!record.result) return { given }; // findRun refuses it if there is a checkpoint
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
  readonly plan: AdaptationPlan;
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
