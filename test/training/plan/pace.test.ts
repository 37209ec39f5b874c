/** Steps that fit into a time, from the pace of a machine. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  type CorpusSample,
  compressionSeconds,
  stepsInTime,
} from "../../../src/training/plan/pace.ts";
import { tinyConfig } from "../../support/tiny-model.ts";

const sample: CorpusSample = {
  ...{ indexed: 200, trained: 100, characters: 1_000, unknown: 0 },
};
/** 10 minutes hold out 200 examples; their passages and 400 others are measured 4 times. */
const MEASURED = 600;
/** A million keys of six values take 1.2 s to compress. */
const COMPRESSED = 5_000 * 200 * 6 * 2e-7;
const run = { minutes: 10, config: tinyConfig() };
const measured = { what: "held-out examples", questions: 200, passages: MEASURED } as const;
const inTime = (passage: number, step: number, writesIndex = true, answered = 0) =>
  stepsInTime(
    run,
    { passages: 5_000, writesIndex, measured: { ...measured, answered } },
    { passage, step },
    sample,
    0,
  );
const steps = (...given: Parameters<typeof inTime>): number => inTime(...given).steps;

test("steps have the time that the index and the measurements leave", () => {
  const measurements = 4 * 1.5 * MEASURED * 0.01 * (100 / 200);
  assert.is(steps(0.01, 2), Math.floor((600 - 5_000 * 0.01 - COMPRESSED - measurements) / 2));
  assert.is(steps(0.01, 2, false), Math.floor((600 - measurements) / 2));
  const answers = 4 * 8 * 200 * 0.01; // an answer takes as long as the index of 8 passages
  assert.is(steps(0.01, 2, false, 200), Math.floor((600 - measurements - answers) / 2));
});

test("an index of 65,536 keys or more is compressed", () => {
  assert.equal(
    [327, 328].map((passages) => compressionSeconds(run, { passages, writesIndex: true }, sample)),
    [0, 328 * 200 * 6 * 2e-7],
  );
  const corpus = { passages: 5_000, writesIndex: true };
  assert.is(compressionSeconds(run, { ...corpus, writesIndex: false }, sample), 0);
  const pooled = { ...run, config: tinyConfig({ pooling: "mean" }) };
  assert.is(compressionSeconds(pooled, corpus, sample), 0);
});

test("more than 4,000 steps are not planned", () => assert.is(steps(1e-6, 0.01), 4_000));

test("what fits is planned, with the minutes that 50 steps would take", () => {
  // 500 s of index, 1 s of compression, 180 s of measurements, 50 s of steps
  assert.equal(inTime(0.1, 1), { steps: 1, enough: 13 });
  assert.equal(inTime(0.01, 20), { steps: 26, enough: 18 }); // 600 - 50 - 1 - 18 s, by 20
});

test.run();
