/** `train` at several learning rates: a run each, from one start, and the best model is kept. */

import { existsSync } from "node:fs";
import { copyFile, readdir, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { createOutputDirectory } from "../io/create-directory.ts";
import { InputError } from "../io/errors.ts";
import { replaceFile } from "../io/replace-file.ts";
import { copyModel } from "../model/write-model.ts";
import { type Given, type Resolved, SIGNAL } from "../options/option.ts";
import { resolveOptions } from "../options/resolve.ts";
import { MEASURES } from "./measures/measure.ts";
import { SWEPT_RATES, TRAIN_OPTIONS, type TrainOptions } from "./options/train-options.ts";
import { checkFree, runFolder } from "./run/run-folder.ts";
import { divergedError, type TrainingEvent, type TrainResult, trial } from "./train.ts";
import { decide } from "./verdict/decision.ts";
import { type MeasuredModel, readMeasured } from "./verdict/measurements.ts";

const OPTIONS = { ...TRAIN_OPTIONS, ...SIGNAL, ...MEASURES, learningRate: SWEPT_RATES };

/** Options of `sweep`: those of `train`, with several learning rates. */
export interface SweepOptions extends Omit<TrainOptions, "learningRate" | "minutes"> {
  /** Peak learning rates: two or more, each another one. */
  readonly learningRate: readonly number[];
}

/** The run of a learning rate. */
export interface Trial {
  /** The peak of the run. */
  readonly learningRate: number;
  /** What `train` returns. With `diverged`, the run ended by a loss that is not finite. */
  readonly result: TrainResult;
}

/** What `sweep` returns. */
export interface SweepResult {
  /** Folder of the kept model. */
  readonly folder: string;
  /** The runs so far. After a dry run, the plan of the first one. */
  readonly trials: readonly Trial[];
  /** False if the sweep was stopped before its end; `resume` continues it. */
  readonly finished: boolean;
  /** The run whose model is in `folder`. Undefined if that is the given model, or none yet. */
  readonly best?: Trial | undefined;
}

/**
 * Trains at several learning rates, and keeps the best model by the rule of `train`: the given one,
 * if no other is better. Each run is in `out.run/learning-rate-X`, with its report. All have the
 * same start, examples and first candidates. A run whose loss is not finite takes no part.
 *
 * `{ ...options, resume: true }` with the options of the sweep continues it.
 *
 * @returns the runs, and which of them has the best model
 * @throws {InputError} as `train` does; if the runs measure nothing, so that none can be chosen;
 *   and if no loss is finite
 *
 * @example
 * ```ts no-run
 * import { sweep } from "reatt/training";
 *
 * const run = sweep({
 *   corpus: "data/squad/corpus.jsonl",
 *   data: "questions.jsonl",
 *   out: "runs/squad",
 *   learningRate: [1e-5, 2e-5, 5e-5],
 * });
 * for (let next = await run.next(); ; next = await run.next()) {
 *   if (next.done) {
 *     for (const { learningRate, result } of next.value.trials)
 *       console.log(learningRate, result.verdict);
 *     break;
 *   }
 * }
 * ```
 */
export async function* sweep(given: SweepOptions): AsyncGenerator<TrainingEvent, SweepResult> {
  const { learningRate: rates, out, dryRun, resume } = checkedOptions(given);
  if (!dryRun) await checkNew(out, resume);
  const trials: Trial[] = [];
  for (const [i, learningRate] of rates.entries()) {
    const name = `learning rate ${learningRate.toExponential()}, ${i + 1} of ${rates.length}`;
    yield { type: "stage", name };
    const own = { ...given, learningRate, out: trialFolder(out, learningRate), resume: !dryRun };
    if (trials[0]) await shareCandidates(trials[0].result.folder, own.out);
    const result = yield* ofMeasured(trial(own), rates);
    trials.push({ learningRate, result });
    if (dryRun || !result.finished) return { folder: out, trials, finished: false };
  }
  const { kept, best } = await choose(trials);
  await publish(kept.result.folder, out, rates);
  const swept = { folder: out, trials, finished: true, best };
  await replaceFile(join(runFolder(out), "sweep.json"), (handle) =>
    handle.writeFile(`${JSON.stringify(swept, undefined, 2)}\n`),
  );
  return swept;
}

const trialFolder = (out: string, rate: number): string =>
  join(runFolder(out), `learning-rate-${rate.toExponential()}`);

/** @throws {InputError} for options that `train` would refuse, or that do not let runs compare */
function checkedOptions(given: SweepOptions): Resolved<typeof OPTIONS> {
  const options = resolveOptions(OPTIONS, given as Given<typeof OPTIONS>);
  if (options.minutes === undefined) return options;
  throw new InputError({
    where: "minutes",
    expected: "one learning rate",
    got: `${options.learningRate.length}`,
    remedy: "give steps in place of minutes, so that the runs can be compared",
  });
}

/** @throws {InputError} if `out` has a model, or runs that are not to be resumed */
async function checkNew(out: string, resume: boolean): Promise<void> {
  await checkFree(out);
  if (resume || !existsSync(runFolder(out))) return;
  throw new InputError({
    code: "ERR_REATT_FOLDER_EXISTS",
    where: out,
    expected: "a folder without a run",
    got: runFolder(out),
    remedy: "go on with it (resume), or choose another folder",
  });
}

/** @throws {InputError} before anything is written, if the run is not measured */
async function* ofMeasured(
  run: AsyncGenerator<TrainingEvent, TrainResult>,
  { length }: readonly number[],
): AsyncGenerator<TrainingEvent, TrainResult> {
  try {
    for (;;) {
      const { done, value } = await run.next();
      if (done) return value;
      if (value.type === "plan" && !value.plan.measured)
        throw new InputError({
          where: "learningRate",
          expected: "one value, because nothing is measured",
          got: `${length}`,
          remedy: "give dev, or questions enough to hold some out",
        });
      yield value;
    }
  } finally {
    await run.return(undefined as never);
  }
}

/** Copies the first candidates, which do not depend on the learning rate. */
async function shareCandidates(from: string, to: string): Promise<void> {
  const [source, target] = [runFolder(from), runFolder(to)];
  await createOutputDirectory(target);
  for (const name of await readdir(source))
    if (/^candidates-.*-0\.jsonl$/.test(name) && !existsSync(join(target, name)))
      await copyFile(join(source, name), join(target, name));
}

/**
 * The trial whose model is kept, and whether that is another one than the given one.
 *
 * @throws {InputError} if all diverged
 */
async function choose(all: readonly Trial[]): Promise<{ kept: Trial; best: Trial | undefined }> {
  const trials = all.filter(({ result }) => result.diverged === undefined);
  const [first] = trials;
  if (!first) throw divergedError(all.at(-1)!.result);
  const models: MeasuredModel[][] = [];
  for (const { result } of trials)
    models.push(await readMeasured(runFolder(result.folder), result.step));
  const kept = models.map((ofTrial) => decide(ofTrial).kept);
  const trained = kept.filter(({ kind }) => kind !== "start");
  if (trained.length === 0) return { kept: first, best: undefined }; // all have the given model
  const best = trials[kept.indexOf(decide([models[0]![0]!, ...trained]).kept)]!;
  return { kept: best, best };
}

/** Copies the model of a trial, with its card. */
async function publish(from: string, out: string, rates: readonly number[]): Promise<void> {
  await createOutputDirectory(out);
  await copyModel(from, out);
  const card = await readFile(join(from, "README.md"), "utf8");
  const listed = rates.map((rate) => rate.toExponential()).join(", ");
  const note = `The best of ${rates.length} runs, with the learning rates ${listed}, by the same questions.`;
  const named = card
    .replaceAll(basename(from), basename(resolve(out)))
    .replace("\n## Use\n", `\n${note}\n\n## Use\n`);
  await replaceFile(join(out, "README.md"), (handle) => handle.writeFile(named));
}
