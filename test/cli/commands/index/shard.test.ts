import { test } from "uvu";
import * as assert from "uvu/assert";
import { parseShard } from "../../../../src/cli/commands/index/shard.ts";
import { UsageError } from "../../../../src/cli/shared/usage-error.ts";
import { InputError } from "../../../../src/io/errors.ts";

test("a shard is counted from 1 on the command line", () => {
  assert.equal(parseShard("1/1", {}), { index: 0, count: 1 });
  assert.equal(parseShard("3/8", {}), { index: 2, count: 8 });
});

test("what is no shard is refused", () => {
  for (const given of ["", "3", "a/b", "1/2/3", "-1/3", "auto/"])
    assert.throws(
      () => parseShard(given, {}),
      (error: Error) => error instanceof UsageError,
    );
  for (const given of ["0/3", "4/3", "1/0"])
    assert.throws(
      () => parseShard(given, {}),
      (error: Error) => error instanceof InputError,
    );
});

/** What Slurm sets in each task of an array. */
const slurm = (id: number, min: number, step: number, count: number) => ({
  SLURM_ARRAY_TASK_ID: `${id}`,
  SLURM_ARRAY_TASK_MIN: `${min}`,
  SLURM_ARRAY_TASK_STEP: `${step}`,
  SLURM_ARRAY_TASK_COUNT: `${count}`,
});

test("auto follows a Slurm array, wherever its numbers begin", () => {
  assert.equal(parseShard("auto", slurm(0, 0, 1, 32)), { index: 0, count: 32 }); // --array=0-31
  assert.equal(parseShard("auto", slurm(5, 1, 2, 4)), { index: 2, count: 4 }); // --array=1-7:2
  assert.throws(() => parseShard("auto", slurm(9, 1, 1, 4)), /shard 9 of 4/); // --array=1,2,3,9
});

test("auto/N follows an indexed Kubernetes job, which knows its number and not how many there are", () => {
  assert.equal(parseShard("auto/4", { JOB_COMPLETION_INDEX: "0" }), { index: 0, count: 4 });
  assert.equal(parseShard("auto/4", { JOB_COMPLETION_INDEX: "3" }), { index: 3, count: 4 });
  assert.throws(() => parseShard("auto", { JOB_COMPLETION_INDEX: "3" }), /--shard auto\/N/);
  assert.throws(() => parseShard("auto/4", { JOB_COMPLETION_INDEX: "4" }), /shard 5 of 4/);
  assert.throws(() => parseShard("auto", {}), /SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX/);
});

test.run();
