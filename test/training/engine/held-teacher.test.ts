/** A reader that is not trained is asked once for each example. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { readingNames } from "../../../src/model/parameter-names.ts";
import { openHeldStates } from "../../../src/training/engine/held-states.ts";
import { openHeldTeacher } from "../../../src/training/engine/held-teacher.ts";
import { objectivesOf } from "../../../src/training/objectives/index.ts";
import { likelihood } from "../../../src/training/objectives/likelihood.ts";
import { assertNear } from "../../support/arrays.ts";
import { TINY_MODELS } from "../../support/tiny-model.ts";
import { randomExamples, trainedStates } from "../../support/training.ts";
import { computeSteps, ENGINES, trainedBy } from "../../support/training-step.ts";

const config = TINY_MODELS["joint layers"]!;
const trained = trainedBy(config, { objective: "likelihood" });
const examples = randomExamples(config, 4, 3);

test("examples are asked alone as together, and only what was not asked before", async () => {
  const states = trainedStates(config);
  const settings = { trained, dropout: 0.1 };
  await using held = openHeldStates(config, states, trained);
  await using teacher = openHeldTeacher(config, states, settings, held);
  await using other = openHeldTeacher(config, states, settings, held);
  const of = async (...some: typeof examples): Promise<number[]> =>
    (await teacher!.teach(some)).flatMap((one) => one.teacherLogLikelihoods!);
  const [first, ...others] = examples;
  const alone = await of(first!);
  assert.is(alone.length, 3);
  const together = await of(...examples);
  assert.equal(together.slice(0, 3), alone);
  const whole = (await other!.teach(examples)).flatMap((one) => one.teacherLogLikelihoods!);
  assert.equal(together, whole, "the same bits");
  for (const name of readingNames(config)) states.get(name)!.value.fill(0);
  assert.equal(await of(...others), together.slice(3), "held");
  const [changed] = await of({ ...first!, answer: [...first!.answer, 1] });
  assert.ok(Math.abs(changed! - alone[0]!) > 1e-3, "another answer is asked anew");
  assert.equal(await of({ ...first!, answer: [] }), [0, 0, 0]);
});

test("candidates have the value of their question, in any order, with fewer of them", async () => {
  const states = trainedStates(config);
  await using held = openHeldStates(config, states, trained);
  await using teacher = openHeldTeacher(config, states, { trained, dropout: 0 }, held);
  const [one, two] = await teacher!.teach(examples);
  const [passages, values] = [one!.passages.slice(1).reverse(), one!.teacherLogLikelihoods!];
  const [turned] = await teacher!.teach([{ ...one!, passages }]);
  assertNear(turned!.teacherLogLikelihoods!, values.slice(1).reverse(), 1e-5);
  const [asked] = await teacher!.teach([{ ...two!, passages: one!.passages }]);
  const differs = asked!.teacherLogLikelihoods!.map((value, i) => Math.abs(value - values[i]!));
  assert.ok(
    differs.every((difference) => difference > 1e-3),
    differs.join(),
  );
});

test("a reader that is trained is not held", async () => {
  const states = trainedStates(config);
  for (const [objective, part] of [
    ["distillation", "all"],
    ["qa", "reader"],
  ] as const) {
    const settings = { trained: trainedBy(config, { objective, part }), dropout: 0 };
    await using held = openHeldStates(config, states, settings.trained);
    assert.is(openHeldTeacher(config, states, settings, held), undefined);
  }
});

test("steps with it have the loss of steps that ask, with other objectives and without", async () => {
  const labelled = examples.map((one, i) => ({ ...one, isLabelled: i % 2 === 0, positives: [1] }));
  const unread = { ...labelled[1]!, answer: [], isLabelled: true };
  const all = [...labelled.slice(0, 3), { ...unread, passages: unread.passages.slice(0, 2) }];
  for (const engine of ENGINES)
    for (const objectives of [
      objectivesOf("likelihood"),
      [likelihood({ inBatchNegatives: false })],
    ])
      for (const chunkQuestions of [4, 2]) {
        const batches = [
          { examples: all, objectives, chunkQuestions },
          { examples: all, objectives, chunkQuestions },
        ];
        const [expected, actual] = await Promise.all(
          [false, true].map((holds) =>
            computeSteps(engine, config, trainedStates(config), { trained, holds }, batches),
          ),
        );
        for (const [i, { loss, gradients }] of actual!.entries()) {
          assertNear([loss], [expected![i]!.loss], 1e-5, `${engine}, ${chunkQuestions}`);
          for (const name of trained.names)
            if (!name.endsWith(".key.bias") && name !== "log_scale")
              assertNear(gradients.get(name)!, expected![i]!.gradients.get(name)!, 1e-4, name);
        }
      }
});

test.run();
