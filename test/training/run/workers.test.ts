/** A run whose steps several threads compute, stopped and resumed. */

import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { finish } from "../../support/adaptation.ts";
import { temporaryFolder, writeLines, writeSmallRun } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());

/** Passages of this many words make a step of two questions more than one chunk. */
const WORDS = 500;

test("a resumed run has the workers that it began with, and the same bits", async () => {
  const { dev: _, ...small } = await writeSmallRun(folder.path);
  const passages = Array.from({ length: 10 }, (_, i) => {
    return { id: `${i}`, title: `Town ${i}`, text: `${i + 10} `.repeat(WORDS) };
  });
  const options: TrainOptions = {
    ...{ ...small, corpus: writeLines(join(folder.path, "long.jsonl"), passages) },
    ...{ iterations: 1, steps: 2, questions: 2, objective: "supervised" },
  };
  const weights = (out: string): Buffer => readFileSync(join(out, "model.safetensors"));
  const whole = join(folder.path, "whole");
  await finish(train({ ...options, out: whole }));
  const stopped = { ...options, out: join(folder.path, "stopped"), resume: true };
  const stop = new AbortController();
  await finish(train({ ...stopped, signal: stop.signal }), ({ type }) => {
    if (type === "step") stop.abort();
  });
  const file = join(stopped.out, "checkpoint", "checkpoint.json");
  const { workers } = JSON.parse(readFileSync(file, "utf8"));
  assert.is(workers, availableParallelism()); // a tiny model fits the memory of any machine
  await finish(train(stopped));
  assert.ok(weights(stopped.out).equals(weights(whole)));
});

test.run();
