/**
 * Checkpoints: all that a run needs to go on as if it had not stopped.
 *
 *     DIRECTORY/
 *       checkpoint.json                what the run is, where it stands, and which file holds the numbers
 *       state-000500.safetensors       of every parameter NAME: `value:NAME`, `mean:NAME`, `square:NAME` (AdamW's averages)
 *
 * The numbers are written first, under a name of their own, and checkpoint.json is replaced in one step: whenever the
 * writing stops, there is one whole checkpoint. All randomness is keyed by step, so there is no random state to keep.
 */

import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { openSafetensors } from "../../checkpoints/safetensors.ts";
import { writeSafetensors } from "../../checkpoints/write-safetensors.ts";
import { createDirectory, syncName } from "../../io/create-directory.ts";
import { InputError, systemProblem, writeErrorFrom } from "../../io/errors.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { ParameterState } from "../engine/optimizer.ts";

export interface Checkpoint {
  readonly format: "reatt-checkpoint";
  readonly version: 1;
  /** All that must be the same for a run to go on: model, data, corpus, options. */
  readonly plan: Readonly<Record<string, string | number>>;
  /** Steps done, of all stages. */
  readonly step: number;
  /** Seconds of training so far. */
  readonly seconds: number;
  /** Name of the file with the numbers. */
  readonly state: string;
}

const description: z.ZodType<Checkpoint> = z.strictObject({
  format: z.literal("reatt-checkpoint"),
  version: z.literal(1),
  plan: z.record(z.string(), z.union([z.string(), z.number()])),
  step: z.int().nonnegative(),
  seconds: z.number().nonnegative(),
  state: z.string().regex(/^state-\d+\.safetensors$/),
});

/** The names of a state's arrays in the file, and in `ParameterState`. */
const ARRAYS = [
  ["value", "value"],
  ["mean", "firstMoment"],
  ["square", "secondMoment"],
] as const;

const fileOf = (directory: string): string => join(directory, "checkpoint.json");

/** Writes a checkpoint and removes the one before. @throws {InputError} where the disk refuses; the one before then stays. */
export async function writeCheckpoint(
  directory: string,
  progress: Pick<Checkpoint, "plan" | "step" | "seconds">,
  parameters: ReadonlyMap<string, ParameterState>,
): Promise<void> {
  await createDirectory(directory).catch((error: unknown) => {
    throw writeErrorFrom(error, directory);
  });
  await syncName(directory);
  const state = `state-${String(progress.step).padStart(6, "0")}.safetensors`;
  const tensors = [...parameters].flatMap(([name, { shape, ...values }]) =>
    ARRAYS.map(
      ([stored, array]) => [`${stored}:${name}`, { shape, values: values[array] }] as const,
    ),
  );
  await writeSafetensors(join(directory, state), new Map(tensors), { dtype: "F32" });
  const checkpoint: Checkpoint = { format: "reatt-checkpoint", version: 1, ...progress, state };
  await replaceFile(fileOf(directory), (handle) =>
    handle.writeFile(`${JSON.stringify(checkpoint, undefined, 2)}\n`),
  );
  for (const name of await readdir(directory))
    if (name.startsWith("state-") && name !== state) await rm(join(directory, name));
}

/** What the checkpoint in `directory` says, or undefined where there is none. @throws {InputError} where it is damaged. */
export async function findCheckpoint(directory: string): Promise<Checkpoint | undefined> {
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
  const parsed = description.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new InputError({
    where: file,
    expected: "a checkpoint of this version",
    got: `${path.join(".") || "text"}: ${message}`,
    remedy: "start the run again in an empty folder",
  });
}

/** The checkpoint of the run in a folder. @throws {InputError} where there is one, but the run is not to be resumed. */
export async function findRun(out: string, resume: boolean): Promise<Checkpoint | undefined> {
  const checkpoint = await findCheckpoint(join(out, "checkpoint"));
  if (!checkpoint || resume) return checkpoint;
  throw new InputError({
    where: out,
    expected: "a folder without a run",
    got: `one that stopped after step ${checkpoint.step}`,
    remedy: "go on with it (resume), or choose another folder",
  });
}

/** Puts a checkpoint's numbers into `parameters`. @throws {InputError} where they do not fit. */
export async function restoreCheckpoint(
  directory: string,
  checkpoint: Checkpoint,
  parameters: ReadonlyMap<string, ParameterState>,
): Promise<void> {
  const file = join(directory, checkpoint.state);
  await using tensors = await openSafetensors(file);
  for (const [name, state] of parameters) {
    for (const [stored, array] of ARRAYS) {
      const numbers = tensors.tensors.has(`${stored}:${name}`)
        ? await tensors.read(`${stored}:${name}`)
        : [];
      if (numbers.length !== state[array].length)
        throw new InputError({
          where: `${file}, ${stored}:${name}`,
          expected: `${state[array].length} numbers`,
          got: `${numbers.length}`,
          remedy: "resume with the model and objective that the run began with",
        });
      state[array].set(numbers);
    }
  }
}

/** What a plan has the digest of: another one says nothing to a person. */
const DIGESTED: Readonly<Record<string, string>> = {
  model: "model",
  data: "training data",
  corpus: "corpus",
};

/** @throws {InputError} naming the first thing that is not as it was when the run began. */
export function checkPlan(
  directory: string,
  checkpoint: Checkpoint,
  plan: Checkpoint["plan"],
): void {
  for (const name of new Set([...Object.keys(checkpoint.plan), ...Object.keys(plan)])) {
    if (checkpoint.plan[name] === plan[name]) continue;
    const digested = DIGESTED[name];
    throw new InputError({
      ...(digested
        ? { where: directory, expected: `the ${digested} that the run began with`, got: "another" }
        : {
            where: `${directory}, ${name}`,
            expected: `${checkpoint.plan[name] ?? "none"}, as the run began with`,
            got: `${plan[name] ?? "none"}`,
          }),
      remedy: "resume with what the run began with, or start a new run in another folder",
    });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
