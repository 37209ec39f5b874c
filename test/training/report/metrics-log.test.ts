import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openAppendFile } from "../../../src/io/append-file.ts";
import {
  type MetricsRecord,
  openMetricsLog,
  readMetrics,
} from "../../../src/training/report/metrics-log.ts";
import { refused, temporaryFolder } from "../../checkpoints/support.ts";

const file = join(temporaryFolder(), "metrics.jsonl");
const record = (step: number): MetricsRecord => ({
  step,
  nll: 1 / (step + 1),
  headWeights: [0, 1],
  stage: "warm-up",
});

async function run(
  steps: readonly number[],
  resumedAt?: number,
): Promise<readonly MetricsRecord[]> {
  await using log = await openMetricsLog(file, resumedAt);
  for (const step of steps) await log.append(record(step));
  await log.sync();
  return log.records;
}

test("one line a record, in order", async () => {
  assert.equal(await run([0, 1, 1, 2]), [0, 1, 1, 2].map(record));
  assert.equal(
    readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
    [0, 1, 1, 2].map(record),
  );
  assert.equal(await readMetrics(file), [0, 1, 1, 2].map(record));
});

test("a new run begins with an empty log; a resumed run keeps the records up to its step", async () => {
  await run([9]);
  await run([0, 1, 2, 3]);
  assert.equal(await run([3, 4], 2), [0, 1, 2, 3, 4].map(record));
  assert.equal(await readMetrics(file), [0, 1, 2, 3, 4].map(record));
});

test("a log cut at any byte is complete after resuming", async () => {
  await run([0, 1, 2, 3, 4]);
  const whole = readFileSync(file);
  // Step 2 is durable when its checkpoint is written
  const end = whole.indexOf("\n", whole.indexOf('"step":2')) + 1;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: end, max: whole.length }), async (length) => {
      writeFileSync(file, whole.subarray(0, length));
      await run([3, 4], 2);
      assert.equal(readFileSync(file), whole);
    }),
    { numRuns: 60 },
  );
});

test("values that are not finite become null", async () => {
  await using log = await openMetricsLog(file);
  await log.append({ step: 1, nll: Number.NaN });
  assert.equal(await readMetrics(file), [{ step: 1, nll: null }]);
});

test("a damaged line in the middle is rejected with its number", async () => {
  await run([0]);
  appendFileSync(file, `{"step":\n${JSON.stringify(record(1))}\n`);
  await refused(
    openMetricsLog(file, 1),
    /metrics.jsonl:2: expected a record of a run, got another text; /,
  );
  for (const line of ["null", "{}", '{"step":"1"}']) {
    writeFileSync(file, `${line}\n`);
    await refused(
      readMetrics(file),
      /metrics.jsonl:1: expected a record of a run, got one without "step"/,
    );
  }
});

test("errors of the system are reported", async () => {
  await refused(
    openMetricsLog(join(file, "inside")),
    /expected to be able to write, got ENOTDIR \(.*\); /,
  );
  await refused(openMetricsLog(join(file, "inside"), 0), /expected a record of a run, got ENOTDIR/);
  if (!statSync("/dev/full", { throwIfNoEntry: false }))
    return console.log("skipped: there is no /dev/full here");
  await using full = await openAppendFile("/dev/full"); // every write to it fails as on a full disk
  await refused(
    full.append("x"),
    /dev.full: expected to be able to write, got ENOSPC \(.*\); free some space on the disk/,
  );
});

test.run();
