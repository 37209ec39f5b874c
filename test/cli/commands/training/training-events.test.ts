/** What a run tells, as it is printed. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  indexLines,
  stoppedLine,
  writtenLines,
} from "../../../../src/cli/commands/training/run-summary.ts";
import {
  showEvents,
  showEventsUntil,
} from "../../../../src/cli/commands/training/training-events.ts";
import type { TrainingEvent } from "../../../../src/training/train.ts";
import { captureOutput } from "../../support.ts";

async function* runOf(...events: TrainingEvent[]): AsyncGenerator<TrainingEvent, void> {
  yield* events;
}

test("the TensorFlow.js that computes, and why no faster one does, on one line", async () => {
  const failures = ["@tensorflow/tfjs-node-gpu: no addon", "@tensorflow/tfjs-node: not found"];
  const { stderr } = await captureOutput(() =>
    showEvents(runOf({ type: "engine", name: "@tensorflow/tfjs", device: "JavaScript", failures })),
  );
  assert.is(
    stderr,
    "Training steps are computed by @tensorflow/tfjs in JavaScript, which is very slow " +
      "(for native speed: npm install @tensorflow/tfjs-node); " +
      "not by @tensorflow/tfjs-node-gpu: no addon; not by @tensorflow/tfjs-node: not found\n",
  );
  const native = await captureOutput(() =>
    showEvents(runOf({ type: "engine", name: "x", device: "GPU", failures: [] })),
  );
  assert.is(native.stderr, "Training steps are computed by x on the GPU\n");
});

test("the time left has the measurements between the steps", async () => {
  const { now } = performance;
  let time = 0;
  performance.now = () => 1000 * time;
  const losses = { loss: 1, gradientNorm: 1, terms: {} };
  const step = (step: number): TrainingEvent => ({
    ...{ type: "step", step, steps: 13, losses, learningRate: 1e-5, questionsPerSecond: 16 },
  });
  async function* run(): AsyncGenerator<TrainingEvent, void> {
    yield step(1);
    time = 1;
    yield step(2);
    time = 20;
    yield { type: "stage", name: "measuring retrieval" };
    yield step(3);
    time = 22;
    yield step(4); // 3 steps since the first one in 22 s, and 9 are left
  }
  const { stderr } = await captureOutput(() => showEvents(run())).finally(() => {
    performance.now = now;
  });
  assert.match(stderr, /\n4\/13 steps, 0\.14\/s, 1:06 left/);
});

test("interrupted, it says at once what is finished first, and only once", async () => {
  const abort = new AbortController();
  async function* run(): AsyncGenerator<TrainingEvent, void> {
    abort.abort();
    yield { type: "checkpoint", step: 3, directory: "out.run/checkpoint" };
  }
  const { stderr } = await captureOutput(() => showEventsUntil(abort.signal)(run()));
  assert.is(stderr.split("finishing this step or measurement, then saving").length, 2);
});

test("a stopped run says what its folder has, and how to go on", () => {
  const stopped = { folder: "out", report: "", step: 3, finished: false, samples: [] };
  assert.is(
    stoppedLine({ ...stopped, saved: 2 }, "reatt adapt --out out --resume"),
    "out has the model of step 2, the best so far, which can be used. " +
      "To continue: reatt adapt --out out --resume",
  );
  assert.match(
    stoppedLine({ ...stopped, checkpointBytes: 2e6 }, ""),
    /; out\.run\/checkpoint keeps 2\.00 MB to go on\. To/,
  );
  assert.match(stoppedLine({ ...stopped, saved: 0 }, ""), /^out has the given model, which can/);
  assert.match(stoppedLine(stopped, ""), /^out has no model yet\. To continue/);
});

test("a finished run says the size, what was not fitted to the model, and the index that it needs", () => {
  const written = {
    ...{ bytes: 48_100_000, bytesBefore: 48_000_000 },
    ...{ keepsIndexes: false, notes: ["the calibration is old"] },
  };
  const result = { folder: "out", report: "", step: 3, finished: true, samples: [], written };
  assert.equal(writtenLines(result), [
    "Size: 48.1 MB, the given model 48.0 MB",
    "Note: the calibration is old",
  ]);
  assert.match(
    indexLines(result, "c.jsonl").join(),
    "index --model out --corpus c.jsonl --out DIR",
  );
  assert.equal(indexLines({ ...result, written: { ...written, keepsIndexes: true } }), []);
});

test.run();
