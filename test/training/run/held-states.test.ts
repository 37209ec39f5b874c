/** States that are held between steps: a resumed run computes them again, with the same bits. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openHeldStates } from "../../../src/training/engine/held-states.ts";
import { chunksOf } from "../../../src/training/gradient-cache/chunks.ts";
import { labels } from "../../../src/training/objectives/labels.ts";
import type { TokenExample } from "../../../src/training/objectives/token-batch.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { finish, trainInParts } from "../../support/adaptation.ts";
import { randomIds, TINY_MODELS } from "../../support/tiny-model.ts";
import {
  makeTinyModel,
  temporaryFolder,
  trainedStates,
  writeSmallRun,
} from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const config = TINY_MODELS["joint layers"]!;

for (const layers of [1, 3])
  test(`${layers} layers: the states of a text do not depend on the other texts of a step`, async () => {
    const passageStates = async (examples: readonly TokenExample[]) => {
      const trained = { names: new Set<string>(), rows: new Map() };
      await using held = openHeldStates(config, trainedStates(config), trained);
      const objectives = [labels()];
      const [chunk] = chunksOf(config, examples, examples.length, { objectives }, objectives);
      return (await held.withStates(chunk!, layers)).tensors.passageStates!;
    };
    const examples = Array.from({ length: 6 }, (_, i) => {
      const ids = randomIds(config, 2 + 3 * i, "text", i);
      return { question: ids.slice(0, 2), answer: [], passages: [ids], positives: [0] };
    });
    const { data, shape } = await passageStates(examples);
    for (const [row, example] of examples.entries()) {
      const alone = await passageStates([example]);
      const start = row * shape[1]! * config.modelSize;
      assert.equal(data.slice(start, start + alone.data.length), alone.data, `${row}`);
    }
  });

for (const part of ["retrieval", "head"] as const)
  test(`${part}: a resumed run has the same bits`, async () => {
    const model = join(folder.path, `model ${part}`);
    await makeTinyModel(model, config);
    const options: TrainOptions & { readonly model: string } = {
      ...{
        ...small,
        dev: undefined,
        holdOut: false,
        iterations: 1,
        questions: 4,
        learningRate: 0.01,
        model,
      },
      ...{ objective: "retrieval", train: part, maxPassageTokens: 40, steps: 6, dropout: 0 },
    };
    const [whole, stopped] = ["whole", "stopped"].map((name) =>
      join(folder.path, `${name} ${part}`),
    ) as [string, string];
    await finish(train({ ...options, out: whole }));
    await trainInParts({ ...options, out: stopped }, [2, 4, 6]);
    const file = (out: string): Buffer => readFileSync(join(out, "model.safetensors"));
    assert.ok(file(stopped).equals(file(whole)));
  });

test.run();
