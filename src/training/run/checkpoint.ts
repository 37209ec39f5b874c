/**
 * Checkpoints: the state from which a run continues as if it had not stopped.
 *
 *     DIRECTORY/
 *       checkpoint.json              identifies the run, its step and the file of the state, with
 *                                    the checksums of both
 *       state-000500.safetensors     for each parameter NAME: value:NAME, mean:NAME, square:NAME;
 *                                    pre-batch negatives, see ../gradient-cache/pre-batch.ts
 *
 * `mean` and `square` are AdamW's first and second moment. The state is written first, under a new
 * name; then checkpoint.json is replaced in one step. There is one complete checkpoint whenever the
 * process stops. Random draws are keyed by step, so there is no random state to save.
 */

import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { openSafetensors } from "../../checkpoints/safetensors.ts";
import { type TensorToWrite, writeSafetensors } from "../../checkpoints/write-safetensors.ts";
import { createOutputDirectory, syncName } from "../../io/create-directory.ts";
import { InputError, systemProblem } from "../../io/errors.ts";
import { fileChecksum } from "../../io/file-checksum.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import {
  type PreBatchQueue,
  preBatchTensors,
  restorePreBatch,
} from "../gradient-cache/pre-batch.ts";
import { runFolder } from "./run-folder.ts";
import type { ScheduleChange } from "./schedule.ts";

/** What must be equal for a run to continue: model, data, corpus and options, by name. */
export type RunPlan = Readonly<Record<string, string | number | boolean>>;

export interface RunCheckpoint {
  readonly format: "reatt-checkpoint";
  readonly version: 1;
  readonly plan: RunPlan;
  /** Steps done, of all iterations. */
  readonly step: number;
  /** Seconds of training so far. */
  readonly seconds: number;
  /** Changes of the schedule so far. Default: none. */
  readonly schedule?: readonly ScheduleChange[] | undefined;
  /** Name of the file of the state. */
  readonly state: string;
  /** CRC-32 of that file. */
  readonly stateChecksum: number;
}

const description: z.ZodType<RunCheckpoint> = z.strictObject({
  format: z.literal("reatt-checkpoint"),
  version: z.literal(1),
  plan: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  step: z.int().nonnegative(),
  seconds: z.number().nonnegative(),
  schedule: z
    .array(
      z.strictObject({
        step: z.int().nonnegative(),
        last: z.int().nonnegative(),
        monitorSteps: z.int().positive().optional(),
      }),
    )
    .optional(),
  state: z.string().regex(/^state-\d+\.safetensors$/),
  stateChecksum: z.int(),
});

/** Tensor name prefix on disk -> array of the parameter's state. */
const TENSORS = [
  ["value", "value"],
  ["mean", "firstMoment"],
  ["square", "secondMoment"],
] as const;

const fileOf = (directory: string): string => join(directory, "checkpoint.json");

/**
 * Writes a checkpoint and removes the previous one.
 *
 * @throws {InputError} if the disk refuses; the previous checkpoint then stays.
 */
export async function writeCheckpoint(
  directory: string,
  progress: Pick<RunCheckpoint, "plan" | "step" | "seconds" | "schedule">,
  parameters: ReadonlyMap<string, ParameterState>,
  queue?: PreBatchQueue,
): Promise<void> {
  await createOutputDirectory(directory);
  await syncName(directory);
  const state = `state-${String(progress.step).padStart(6, "0")}.safetensors`;
  const tensors = [...parameters].flatMap(([name, parameter]) =>
    TENSORS.map(([prefix, array]) => {
      const tensor = { shape: parameter.shape, values: parameter[array] };
      return [`${prefix}:${name}`, tensor] as const;
    }),
  );
  const all = new Map<string, TensorToWrite>([...tensors, ...preBatchTensors(queue)]);
  await writeSafetensors(join(directory, state), all, { dtype: "F32" });
  const stateChecksum = await fileChecksum(join(directory, state));
  const format = { format: "reatt-checkpoint", version: 1 } as const;
  const checkpoint: RunCheckpoint = { ...format, ...progress, state, stateChecksum };
  const signed = { ...checkpoint, checksum: checksumOf(checkpoint) };
  await replaceFile(fileOf(directory), (handle) =>
    handle.writeFile(`${JSON.stringify(signed, undefined, 2)}\n`),
  );
  await removeOtherStates(directory, state);
}

/** Of the text, which has the order of the fields that it was written in. */
const checksumOf = (checkpoint: object): number => crc32(JSON.stringify(checkpoint));

/** Removes earlier states, and what a killed process began to write. */
export async function removeOtherStates(directory: string, state: string): Promise<void> {
  for (const name of await readdir(directory))
    if (name.startsWith("state-") && name !== state) await rm(join(directory, name));
}

/**
 * Reads the checkpoint in `directory`, or returns undefined if there is none.
 *
 * @throws {InputError} if it is damaged.
 */
export async function findCheckpoint(directory: string): Promise<RunCheckpoint | undefined> {
  const file = fileOf(directory);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new InputError(
      {
        where: file,
        expected: "a checkpoint",
        got: systemProblem(error),
        remedy: "choose another folder",
      },
      { cause: error },
    );
  });
  if (text === undefined) return undefined;
  const value = parseJson(text);
  const { checksum, ...rest } = Object(value);
  const parsed = description.safeParse(value && rest);
  if (parsed.success && checksum === checksumOf(rest)) return parsed.data;
  if (parsed.success) throw damaged(file);
  const { path, message } = parsed.error.issues[0]!;
  throw new InputError({
    where: file,
    expected: "a checkpoint of this version",
    got: `${path.join(".") || "text"}: ${message}`,
    remedy: "start the run again in an empty folder",
  });
}

/**
 * Finds the checkpoint of the run.
 *
 * @param out folder of its model
 * @throws {InputError} if there is one and the run is not to be resumed.
 */
export async function findRun(out: string, resume: boolean): Promise<RunCheckpoint | undefined> {
  const checkpoint = await findCheckpoint(join(runFolder(out), "checkpoint"));
  if (!checkpoint || resume) return checkpoint;
  throw new InputError({
    code: "ERR_REATT_FOLDER_EXISTS",
    where: out,
    expected: "a folder without a run",
    got: `one that stopped after step ${checkpoint.step}`,
    remedy: "go on with it (resume), or choose another folder",
  });
}

/**
 * Copies a checkpoint's state into `parameters`, and its pre-batch negatives into `queue`.
 *
 * @throws {InputError} if it does not fit
 */
export async function restoreCheckpoint(
  directory: string,
  checkpoint: RunCheckpoint,
  parameters: ReadonlyMap<string, ParameterState>,
  queue?: PreBatchQueue,
): Promise<void> {
  const file = join(directory, checkpoint.state);
  if ((await fileChecksum(file)) !== checkpoint.stateChecksum) throw damaged(file);
  await using tensors = await openSafetensors(file);
  for (const [name, parameter] of parameters) {
    for (const [prefix, array] of TENSORS) {
      const tensor = `${prefix}:${name}`;
      const values = tensors.tensors.has(tensor) ? await tensors.read(tensor) : [];
      if (values.length !== parameter[array].length)
        throw new InputError({
          where: `${file}, ${tensor}`,
          expected: `${parameter[array].length} values`,
          got: `${values.length}`,
          remedy: "resume with the model and objective that the run began with",
        });
      parameter[array].set(values);
    }
  }
  if (queue) await restorePreBatch(tensors, queue);
}

const damaged = (where: string): InputError =>
  new InputError({
    where,
    expected: "the contents that the run wrote",
    got: "others, by their checksum",
    remedy: "restore the file from a copy, or start the run again in an empty folder",
  });

/**
 * Removes the checkpoint of a finished run.
 *
 * @param folder of the run
 */
export async function removeCheckpoint(folder: string): Promise<void> {
  await rm(join(folder, "checkpoint"), { recursive: true, force: true });
}

/** Entries of a plan that are digests: their values mean nothing to a person. */
const DIGESTS: Readonly<Record<string, string>> = {
  model: "model",
  data: "training data",
  corpus: "corpus",
};
/** The entry of a plan that is the digest of the examples of a source. */
export const partEntry = (source: string): string => `data of ${source}`;

const isDigest = (name: string): boolean => name in DIGESTS || name.startsWith(partEntry(""));

/**
 * The checkpoint as one of a longer run, if the plan is one: with another rise and fall of the
 * learning rate, or in one iteration with more steps. From here on the rate is then that of a run
 * of so many steps. A refresh in the background has recorded its steps, so its run stays as it is.
 */
export function lengthened(checkpoint: RunCheckpoint, plan: RunPlan): RunCheckpoint {
  const { iterations, steps } = plan as Record<string, number>;
  const began = checkpoint.plan as Record<string, number>;
  const isLonger =
    iterations! > began.iterations!
      ? steps === began.steps
      : iterations === 1 && began.iterations === 1 && steps! > began.steps!;
  if (!isLonger || plan.refresh === "background") return checkpoint;
  const longer = { ...checkpoint.plan, iterations: iterations!, steps: steps! };
  return { ...checkpoint, plan: longer, schedule: undefined };
}

/**
 * @param files where the contents of entries come from, by their names
 * @throws {InputError} if entries are not as they were when the run began. It names all options
 * that differ, or else the first file.
 */
export function checkPlan(
  directory: string,
  { plan: began }: RunCheckpoint,
  plan: RunPlan,
  files: Readonly<Record<string, string>> = {},
): void {
  const names = [...new Set([...Object.keys(began), ...Object.keys(plan)])];
  const different = names.filter((name) => began[name] !== plan[name]);
  const [first] = different;
  if (first === undefined) return;
  const remedy = "resume with what the run began with, or start a new run in another folder";
  const options = different.filter((name) => !isDigest(name));
  if (options.length === 0)
    throw new InputError({
      where: files[first] ?? directory,
      expected: `the ${DIGESTS[first] ?? "training data"} that the run began with`,
      got: "another",
      remedy,
    });
  const valuesOf = (of: RunPlan) =>
    options.length === 1
      ? `${of[options[0]!] ?? "none"}`
      : options.map((name) => `${name} ${of[name] ?? "none"}`).join(", ");
  throw new InputError({
    where: options.length === 1 ? `${directory}, ${options[0]}` : directory,
    expected: `${valuesOf(began)}, as the run began with`,
    got: valuesOf(plan),
    remedy,
  });
}

/**
 * Compares the decisions of a run, before its data are read and a head is selected.
 *
 * @throws {InputError} as `checkPlan` does
 */
export function checkDecisions(directory: string, checkpoint: RunCheckpoint, plan: RunPlan): void {
  const later = Object.entries(checkpoint.plan).filter(
    ([name]) => isDigest(name) || name === "retrievalHead",
  );
  checkPlan(directory, checkpoint, { ...plan, ...Object.fromEntries(later) });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
