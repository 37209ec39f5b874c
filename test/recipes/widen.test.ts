/**
 * recipes/reatt-mini/weights/widen.ts: a wider model computes the same, checked by loops that share
 * no code with src.
 */

import { test } from "uvu";
import { widen } from "../../recipes/reatt-mini/weights/widen.ts";
import { assertNear } from "../support/arrays.ts";
import { naiveT5 } from "../support/naive-t5.ts";
import { randomIds, randomWeights, TINY_MODELS } from "../support/tiny-model.ts";

for (const [name, config] of Object.entries(TINY_MODELS).filter(([, { backbone }]) => !backbone))
  test(`${name}: logits, and retrieval's queries and keys, stay`, () => {
    const weights = randomWeights(config, "widen");
    const wide = widen(config, weights, 5);
    const question = randomIds(config, 4, "question");
    const passage = randomIds(config, 7, "passage");
    const answer = randomIds(config, 3, "answer");
    const computed = [naiveT5(config, weights), naiveT5(wide.config, wide.weights)].map((model) => {
      const states = model.lower(question, passage);
      const vectors = [...model.retrieval("q", states), ...model.retrieval("k", states)];
      const { logits } = model.decode(answer, model.encode(question, passage));
      return {
        logits: logits.flat(),
        vectors: vectors.flatMap((row) => row.slice(0, config.headSize)),
      };
    });
    assertNear(computed[1]!.logits, computed[0]!.logits, 1e-5);
    assertNear(computed[1]!.vectors, computed[0]!.vectors, 1e-5);
  });

test.run();
