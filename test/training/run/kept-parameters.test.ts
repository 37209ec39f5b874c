/** The mean of the weights before and after: what an adaptation to documents saves. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../../src/checkpoints/safetensors.ts";
import { readConfig } from "../../../src/model/config-file.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { parameterNames, TOKEN_WEIGHTS } from "../../../src/model/parameter-names.ts";
import { adapt } from "../../../src/training/adapt.ts";
import type { AdaptOptions } from "../../../src/training/options/adapt-options.ts";
import { givenWeights, keptParameters } from "../../../src/training/run/parameters.ts";
import { runFolder } from "../../../src/training/run/run-folder.ts";
import { finish, writeAdaptationFiles } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import { tinyConfig } from "../../support/tiny-model.ts";
import { temporaryFolder, trainedStates, writeLexicalModel } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const files = writeAdaptationFiles(folder.path);
const model = join(folder.path, "model");
await writeLexicalModel(model, { similarity: "cosine" });
const config = await readConfig(model);
const given = await loadWeights(model, config);
/** So few examples of titles that none are held out. */
const small: Partial<AdaptOptions> = {
  ...{ model, corpus: files.corpus, sources: ["titles"], keepCheckpoint: true },
  ...{ steps: 4, questions: 2, candidatesPerQuestion: 2, learningRate: 1e-2 },
};

test("trained weights but token weights become the mean, the others stay", () => {
  const tiny = tinyConfig({ similarity: "cosine", tokenWeights: true });
  const states = trainedStates(tiny);
  const { key, query } = parameterNames(tiny).heads;
  const trained = { names: new Set([key.weight, TOKEN_WEIGHTS]), rows: new Map() };
  const start = givenWeights({ average: true, trained }, states);
  const before = new Map([...states].map(([name, { value }]) => [name, [...value]]));
  for (const { value } of states.values()) value.set(value.map((w) => 3 * w + 1));
  const kept = keptParameters(states, start);
  assert.equal([...kept.keys()], [...states.keys()]);
  const halfway = before.get(key.weight)!.map((w) => 2 * w + 0.5);
  assertNear(kept.get(key.weight)!.value, halfway, 1e-6);
  for (const name of [TOKEN_WEIGHTS, query.weight])
    assert.is(kept.get(name)!.value, states.get(name)!.value);
  const moved = before.get(key.weight)!.map((w) => 3 * w + 1);
  assertNear(states.get(key.weight)!.value, moved, 1e-5); // which training goes on from
  assert.is(givenWeights({ average: false, trained }, states).size, 0);
});

/** The weights of a model folder, and those of the checkpoint of the run's last step. */
async function weightsOf(out: string, modelFolder = out) {
  const name = parameterNames(config).heads.key.weight;
  const saved = await loadWeights(modelFolder, config);
  const path = join(runFolder(out), "checkpoint", "state-000004.safetensors");
  await using state = await openSafetensors(path);
  const after = await state.read(`value:${name}`);
  const middle = [...given.get(name)!].map((w, i) => (w + after[i]!) / 2);
  return { saved: saved.get(name)!, after, middle };
}

const run = async (name: string, options: Partial<AdaptOptions>) => {
  const out = join(folder.path, name);
  const { plan, training } = await finish(adapt({ ...small, out, ...options }));
  return { out, plan, training };
};

test("of an adaptation to documents, the mean is measured and saved", async () => {
  const { out, plan } = await run("mean", { objective: "retrieval" });
  assert.is(plan.average, true);
  const { saved, after, middle } = await weightsOf(out);
  assertNear(saved, middle, 1e-7);
  assert.ok(after.some((w, i) => Math.abs(w - saved[i]!) > 1e-3));
  assert.match(readFileSync(join(out, "README.md"), "utf8"), "the mean of those of the base model");

  const monitored = await run("monitored", { objective: "retrieval", dev: files.data });
  const measured = join(runFolder(monitored.out), "checkpoint", "monitor", "model");
  const report = readFileSync(join(runFolder(monitored.out), "report.html"), "utf8");
  assert.match(report, "is kept: with the mean of the given weights and those of the step, the");
  const dev = await weightsOf(monitored.out, measured);
  assertNear(dev.saved, dev.middle, 1e-7);
});

test("it is not the mean if reading is trained, with labels alone, or if you say so", async () => {
  const { data } = files;
  for (const [name, options] of Object.entries({
    supervised: { objective: "supervised", steps: 1 },
    labels: { objective: "retrieval", sources: undefined, data, steps: 1 },
  } as const))
    assert.is((await run(name, options)).plan.average, false, name);
  const { out, plan } = await run("last", { objective: "retrieval", average: false });
  assert.is(plan.average, false);
  const { saved, after } = await weightsOf(out);
  assert.equal([...saved], [...after]);
  assert.not.match(readFileSync(join(out, "README.md"), "utf8"), "the mean of those");
  assert.is((await run("asked", { average: true, dryRun: true })).plan.average, true);
});

test("a run that is stopped ends with the bits of one that is not", async () => {
  const abort = new AbortController();
  const out = join(folder.path, "stopped");
  await finish(adapt({ ...small, objective: "retrieval", out, signal: abort.signal }), (event) => {
    if (event.type === "step" && event.step === 2) abort.abort();
  });
  const resumed = await finish(adapt({ out, resume: true }));
  assert.is(resumed.training!.step, 4);
  const bytes = (name: string) => readFileSync(join(folder.path, name, "model.safetensors"));
  assert.ok(bytes("stopped").equals(bytes("mean")));
});

test.run();
