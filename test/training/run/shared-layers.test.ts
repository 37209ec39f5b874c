/** The objective `retrieval` leaves the layers that the reader shares as they are. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { ReAtt } from "../../../src/reatt.ts";
import type { Passage } from "../../../src/text/passage.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import { keepsSharedLayers } from "../../../src/training/loss/trained-parameters.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { finish } from "../../support/adaptation.ts";
import { TINY_MODELS } from "../../support/tiny-model.ts";
import { temporaryFolder, writeSmallRun, writeTinyModel } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const joint = TINY_MODELS["joint layers"]!;

/** What a model reads from two passages of its training. */
async function answers(path: string): Promise<unknown> {
  await using model = await ReAtt.load(path);
  const passages: Passage[] = [];
  for await (const passage of readPassages(small.corpus)) passages.push(passage);
  const { answer, tokenIds, confidence } = await model.read(
    "who built the tower",
    passages.slice(0, 2),
  );
  return { answer, tokenIds, confidence };
}

test("which runs keep the shared layers", () => {
  assert.ok(keepsSharedLayers(joint, { retrievalOnly: true }));
  assert.not(keepsSharedLayers(joint, {}));
  assert.not(keepsSharedLayers(joint, { retrievalOnly: true, querySide: "projection" }));
  assert.not(keepsSharedLayers({ ...joint, queryEncoder: true }, { retrievalOnly: true }));
  for (const name of ["v1.1", "backbone"])
    assert.not(keepsSharedLayers(TINY_MODELS[name]!, { retrievalOnly: true }), name);
});

test("it learns in retrieval's own layers, and the reader stays as it is", async () => {
  const model = join(folder.path, "joint");
  const out = join(folder.path, "adapted");
  mkdirSync(model);
  const { vocabularySize: _, ...sizes } = joint;
  const config = await writeTinyModel(model, sizes);
  const losses: number[] = [];
  const options: TrainOptions = {
    ...{ ...small, dev: undefined, iterations: 1, questions: 4, learningRate: 0.01 },
    ...{ objective: "retrieval", maxPassageTokens: 40, steps: 40, dropout: 0, model, out },
  };
  await finish(train(options), (event) => {
    if (event.type === "step") losses.push(event.losses.loss);
  });
  const mean = (of: readonly number[]): number => of.reduce((sum, x) => sum + x, 0) / of.length;
  assert.ok(mean(losses.slice(-5)) < 0.9 * mean(losses.slice(0, 5)), losses.join(" "));
  const [old, now] = [await loadWeights(model, config), await loadWeights(out, config)];
  const changed = [...now].filter(([name, values]) =>
    values.some((value, i) => value !== old.get(name)![i]),
  );
  const { layers, jointLayers } = config.backbone!;
  const own = new RegExp(
    `^backbone\\.encoder\\.layer\\.[${layers - jointLayers}-${layers - 1}]\\.`,
  );
  for (const [name] of changed) assert.match(name, own, name);
  assert.ok(changed.length > 0);
  assert.equal(await answers(out), await answers(model));
});

test.run();
