/** `openTrainer` on a tiny model, with objectives of the package and one of its own. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../src/reatt.ts";
import {
  defineObjective,
  distillation,
  labels,
  openTrainer,
  reading,
  type TrainerOptions,
  type TrainingBatch,
} from "../../src/training/index.ts";
import { rejects } from "../retrieval/support.ts";
import { temporaryFolder, writeSmallRun } from "../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { model } = await writeSmallRun(folder.path);

const passage = (title: string) => ({ id: title, title, text: `The number of ${title} is 12.` });
const passages = ["Paris", "Rome", "Berlin", "Dallas"].map(passage);
const batch: TrainingBatch = {
  questions: ["What is the number of Paris?", "What is the number of Rome?"],
  answers: ["12", "12"],
  passages: [passages.slice(0, 3), passages.slice(1)],
  positives: [[0], [0]],
};

/** Minus the entropy of retrieval, over the passages of the batch. */
const entropy = (weight: number) =>
  defineObjective({
    name: "entropy",
    needs: ["retrieval"],
    acrossQuestions: true,
    terms: { negentropy: { weight, title: "Negative entropy", meaning: "It rises to 0." } },
    trains: () => true,
    inputs: () => ({}),
    compute(ops, { retrieval }, { questions }) {
      const logs = ops.logSoftmax(retrieval.logits);
      const sum = ops.sum(ops.multiply(ops.exp(logs), logs), [0, 1]);
      return { negentropy: ops.divide(sum, questions) };
    },
  });

async function train(options: TrainerOptions, steps: number, out?: string) {
  await using trainer = await openTrainer(model, { learningRate: 0.01, dropout: 0, ...options });
  const all: Readonly<Record<string, number>>[] = [];
  for (let step = 0; step < steps; step++) all.push((await trainer.step(batch)).terms);
  if (out) await trainer.save(out);
  return all;
}

test("an objective of one's own is added to those of the paper", async () => {
  const all = await train({ objective: [reading(), distillation(), entropy(-1)] }, 8);
  assert.equal(Object.keys(all[0]!).sort(), ["kl", "negentropy", "nll", "ownProbability"]);
  assert.ok(all.at(-1)!.nll! < all[0]!.nll!);
  // It is maximised alone: retrieval becomes certain.
  const alone = await train({ objective: entropy(-1), train: "retrieval" }, 8);
  assert.ok(alone.at(-1)!.negentropy! > alone[0]!.negentropy! + 0.01);
});

test("the saved model is the trained one", async () => {
  const out = join(folder.path, "saved");
  const all = await train({ objective: labels() }, 10, out);
  assert.ok(all.at(-1)!.labels! < all[0]!.labels!);
  await using trainer = await openTrainer(out, { objective: labels(), dropout: 0 });
  assert.ok((await trainer.step(batch)).loss < all.at(-1)!.labels! + 1e-3);
  await using loaded = await ReAtt.load(out);
  assert.is(loaded.folder, out);
});

test("what cannot be trained is refused in a line", async () => {
  const open = (options: object) => openTrainer(model, options as TrainerOptions);
  await rejects(open({}), /^objective: expected an objective, or a list of them, got nothing/);
  await rejects(open({ objective: [] }), /^objective: expected one or more, got none; /);
  const twice = [labels(), labels()];
  await rejects(
    open({ objective: twice }),
    /^objective: expected different names, got labels twice/,
  );
  await using trainer = await open({ objective: labels() });
  for (const [changes, expected] of [
    [{ answers: ["12"] }, /answers/],
    [{ positives: [[0], [3]] }, /^positives\[1\]: expected indexes from 0 to 2, got 3; /],
    [{ positives: [[0]] }, /^positives: expected a list for each question, got 1; /],
    [{ scores: [[1, 2, 3], [1]] }, /^scores\[1\]: expected 3 numbers, got 1; /],
  ] as const)
    await rejects(trainer.step({ ...batch, ...changes }), expected);
});

test("the example of the guide is that of defineObjective, which is run", () => {
  const [, guide] = /```ts\n(import \{ defineObjective[\s\S]*?)```/.exec(
    readFileSync("docs/TRAINING.md", "utf8"),
  )!;
  const source = readFileSync("src/training/objectives/objective.ts", "utf8");
  assert.ok(source.replaceAll(/^ \* ?/gm, "").includes(guide!));
});

test.run();
