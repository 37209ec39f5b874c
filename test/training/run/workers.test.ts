/** A run whose steps several threads compute, stopped and resumed. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { refused } from "../../checkpoints/support.ts";
import { finish } from "../../support/adaptation.ts";
import { temporaryFolder, writeLines, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());

/** Passages of this many words make a step of two questions more than one chunk. */
const WORDS = 500;

test("a resumed run keeps its workers, and has the same bits", async () => {
  const { dev: _, ...small } = await writeSmallRun(folder.path);
  const passages = Array.from({ length: 10 }, (_, i) => {
    return { id: `${i}`, title: `Town ${i}`, text: `${i + 10} `.repeat(WORDS) };
  });
  const options: TrainOptions = {
    ...{ ...small, corpus: writeLines(join(folder.path, "long.jsonl"), passages) },
    ...{ iterations: 1, steps: 2, questions: 2, objective: "supervised", workers: 2 },
  };
  const weights = (out: string): Buffer => readFileSync(join(out, "model.safetensors"));
  const whole = join(folder.path, "whole");
  await finish(train({ ...options, out: whole }));
  const stopped = { ...options, out: join(folder.path, "stopped"), resume: true };
  const stop = new AbortController();
  await finish(train({ ...stopped, signal: stop.signal }), ({ type }) => {
    if (type === "step") stop.abort();
  });
  await refused(
    finish(train({ ...stopped, workers: 1 })),
    /workers: expected 2, as the run began with/,
  );
  await finish(train(stopped));
  assert.ok(weights(stopped.out).equals(weights(whole)));
});

test.run();
