/** Training runs on TensorFlow.js: whole, stopped and resumed, and compared with onnxruntime. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../../src/checkpoints/safetensors.ts";
import { loadTensorFlow } from "../../../src/tensor/tensorflow/load.ts";
import { runFolder } from "../../../src/training/run/run-folder.ts";
import { type TrainingEvent, train } from "../../../src/training/train.ts";
import { refused } from "../../checkpoints/support.ts";
import { finish, trainInParts } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import { temporaryFolder, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { dev: _, ...small } = await writeSmallRun(folder.path);
const options = {
  ...small,
  holdOut: false,
  iterations: 1,
  steps: 2,
  engine: "tensorflow",
} as const;
const events: TrainingEvent[] = [];
await finish(train(options), (event) => events.push(event));
const stateFile = (out: string): string =>
  join(runFolder(out), "checkpoint", "state-000002.safetensors");

test("a run says once which TensorFlow.js computes, and why no faster one does", async () => {
  const { name, device, failures } = await loadTensorFlow();
  assert.equal(
    events.filter(({ type }) => type === "engine"),
    [{ type: "engine", name, device, failures: failures.map(({ message }) => message) }],
  );
});

test("a run that is stopped after any step ends as if it had not been, bit for bit", async () => {
  const resumed = { ...options, out: join(folder.path, "stopped"), resume: true };
  await trainInParts(resumed, [1, 2]);
  await finish(train(resumed));
  assert.ok(readFileSync(stateFile(resumed.out)).equals(readFileSync(stateFile(options.out))));
});

test("a run on onnxruntime ends with the same averages of gradients", async () => {
  const other = {
    ...options,
    out: join(folder.path, "onnxruntime"),
    engine: "onnxruntime",
  } as const;
  await finish(train(other));
  await using tensorflow = await openSafetensors(stateFile(options.out));
  await using onnxruntime = await openSafetensors(stateFile(other.out));
  assert.equal([...tensorflow.tensors.keys()], [...onnxruntime.tensors.keys()]);
  for (const name of tensorflow.tensors.keys())
    if (!name.startsWith("value:"))
      // AdamW moves a number whose gradient is rounding as far as any other
      assertNear(await tensorflow.read(name), await onnxruntime.read(name), 1e-2, name);
});

test("a run is not resumed on another engine", () =>
  refused(
    finish(train({ ...options, engine: "onnxruntime", resume: true })),
    /engine: expected tensorflow, as the run began with, got onnxruntime/,
  ));

test.run();
