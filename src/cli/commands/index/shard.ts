/**
 * The shard of a corpus that a process builds, from `--shard` or `--part`, or from the scheduler.
 *
 * Slurm gives a task of a job array its id, the lowest id, the step of the ids and their number.
 * Kubernetes gives a pod of an indexed job its index, from 0, but not the number of pods.
 * Sources: https://slurm.schedmd.com/job_array.html,
 * https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode
 */

import { InputError } from "../../../io/errors.ts";
import type { ShardRecord } from "../../../retrieval/index/format/manifest.ts";
import { UsageError } from "../../shared/usage-error.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads "2/8", the second of eight, "auto" or "auto/8". The index in the result starts at 0. */
export function parseShard(given: string, environment: Environment, flag = "--shard"): ShardRecord {
  const match = /^(\d+|auto)(?:\/(\d+))?$/.exec(given);
  const number = match?.[1];
  const total = match?.[2] === undefined ? undefined : Number(match[2]);
  if (number === "auto") return scheduled(environment, total, flag);
  if (number === undefined || total === undefined)
    throw new UsageError(`${flag}: expected I/N, auto or auto/N, got "${given}"`);
  return checked({ index: Number(number) - 1, count: total }, flag);
}

function scheduled(environment: Environment, total: number | undefined, flag: string): ShardRecord {
  const id = environment.SLURM_ARRAY_TASK_ID;
  if (id !== undefined) {
    const first = Number(environment.SLURM_ARRAY_TASK_MIN ?? 0);
    const step = Number(environment.SLURM_ARRAY_TASK_STEP ?? 1);
    const count = total ?? Number(environment.SLURM_ARRAY_TASK_COUNT);
    return checked(
      { index: (Number(id) - first) / step, count },
      "SLURM_ARRAY_TASK_ID, _MIN, _STEP, _COUNT",
    );
  }
  const index = environment.JOB_COMPLETION_INDEX;
  if (index === undefined)
    throw unusable(
      `${flag} auto`,
      "SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX",
      "neither",
      `say ${flag} I/N`,
    );
  if (total === undefined)
    throw unusable(
      `${flag} auto`,
      "the number of shards, which Kubernetes does not give",
      "none",
      `say ${flag} auto/N, with N as the job's completions`,
    );
  return checked({ index: Number(index), count: total }, "JOB_COMPLETION_INDEX");
}

function checked(shard: ShardRecord, where: string): ShardRecord {
  const { index, count } = shard;
  if (Number.isSafeInteger(count) && Number.isInteger(index) && index >= 0 && index < count)
    return shard;
  throw unusable(
    where,
    "one of N shards, without a gap in their numbers",
    `shard ${index + 1} of ${count}`,
    "number the shards 1/N to N/N",
  );
}

const unusable = (where: string, expected: string, got: string, remedy: string): InputError =>
  new InputError({ where, expected, got, remedy });
