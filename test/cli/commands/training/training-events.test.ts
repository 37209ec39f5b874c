/** What a run tells, as it is printed. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { showEvents } from "../../../../src/cli/commands/training/training-events.ts";
import type { TrainingEvent } from "../../../../src/training/run/events.ts";
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

test.run();
