/** `train` at several learning rates: the runs, the choice, and what is refused. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { sweep } from "../../src/training/sweep.ts";
import { train } from "../../src/training/train.ts";
import { refused } from "../checkpoints/support.ts";
import { runCaptured } from "../cli/support.ts";
import { finish } from "../support/adaptation.ts";
import { temporaryFolder, writeLexicalModel, writeSmallRun } from "../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const at = (name: string): string => join(folder.path, name);
const small = { ...(await writeSmallRun(folder.path)), iterations: 1 };
const weightsOf = (path: string): string => readFileSync(join(path, "model.safetensors"), "base64");

test("each rate has its own run, a stop changes nothing, and the best is kept", async () => {
  const out = at("swept");
  const options = { ...small, out, learningRate: [0.01, 1e30] };
  const stop = new AbortController();
  const stopped = await finish(sweep({ ...options, signal: stop.signal }), (event) => {
    if (event.type === "step" && event.step === 1) stop.abort();
  });
  assert.equal([stopped.finished, stopped.trials.length], [false, 1]);
  await refused(finish(sweep(options)), /swept: expected a folder without a run/);
  const searches: string[] = [];
  const { trials, best, finished } = await finish(sweep({ ...options, resume: true }), (event) => {
    if (event.type === "stage") searches.push(event.name);
  });
  assert.equal([finished, trials.length], [true, 2]);
  assert.not(searches.includes("finding candidates"), "both read those of the first");
  assert.match(trials[1]!.result.diverged!, /^a loss of/);
  const alone = await finish(train({ ...small, out: at("alone"), learningRate: 0.01 }));
  const [first] = trials;
  assert.equal(first!.result.outcome, alone.outcome);
  assert.is(weightsOf(first!.result.folder), weightsOf(at("alone")));
  assert.is(weightsOf(out), weightsOf(at("alone")));
  assert.is(best?.learningRate, alone.outcome!.step === 0 ? undefined : 0.01);
  const card = readFileSync(join(out, "README.md"), "utf8");
  assert.match(card, "\n# swept\n");
  assert.match(card, "The best of 2 runs, with the learning rates 1e-2, 1e+30,");
  const record = JSON.parse(readFileSync(join(`${out}.run`, "sweep.json"), "utf8"));
  assert.is(record.trials[0].result.verdict, alone.verdict);
});

test("where every rate makes the model worse, the given one is kept; the command has a table", async () => {
  const [model, out] = [at("lexical"), at("lost")];
  await writeLexicalModel(model);
  const files = ["--model", model, "--corpus", small.corpus, "--data", small.data, "--out", out];
  const { code, stdout, stderr } = await runCaptured([
    ...["train", ...files, "--dev", small.data, "--learning-rate", "2,3", "--steps", "6"],
    ...["--objective", "retrieval", "--questions", "3", "--candidates-per-question", "3"],
  ]);
  assert.is(code, 0, stderr);
  assert.match(stdout, /^learning rate {2}kept +mrr +recall@1 .* hybrid mrr\n +given model +\d/);
  assert.match(stdout, /\n2e\+0 +given model .*\n3e\+0 +given model /);
  assert.match(stdout, /\n3e\+0: no gain, model unchanged: .*\n(.*\n)*Kept: the given model, in /);
  assert.is(weightsOf(out), weightsOf(model));
});

test("what cannot be compared is refused, and nothing is written", async () => {
  const { dev: _, ...without } = { ...small, out: at("never"), learningRate: [1e-5, 2e-5] };
  await refused(
    finish(sweep({ ...without, holdOut: false })),
    /learningRate: expected one value, because nothing is measured, got 2/,
  );
  const timed = { ...without, minutes: 5 };
  await refused(finish(sweep(timed)), /minutes: expected one learning rate, got 2/);
  for (const learningRate of [[1e-5], [1e-5, 1e-5]])
    await refused(
      finish(sweep({ ...without, learningRate })),
      /learningRate: expected two or more different numbers from 0 on/,
    );
  const { stderr } = await runCaptured(["train", "--out", at("never"), "--learning-rate", "1,x"]);
  assert.match(stderr, /--learning-rate: expected a number from 0 on, or several.*got "1,x"/);
  assert.not(existsSync(at("never.run")));
});

test.run();
