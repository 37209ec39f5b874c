/** `openTrainer` on a tiny model, with objectives of the package and one of its own. */

import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { retrievalHead } from "../../src/model/config.ts";
import { readConfig } from "../../src/model/config-file.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { parameterNames, parameterShapes } from "../../src/model/parameter-names.ts";
import { namesToStore } from "../../src/model/weight-names.ts";
import { ReAtt } from "../../src/reatt.ts";
import {
  answerPhrases,
  defineObjective,
  distillation,
  labels,
  likelihood,
  openTrainer,
  reading,
  type TrainerOptions,
  type TrainingBatch,
} from "../../src/training/index.ts";
import { rejects } from "../retrieval/support.ts";
import { temporaryFolder, writeLexicalModel, writeSmallRun } from "../support/training.ts";

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

test("a name stands for what train minimises under it", async () => {
  const [first] = await train({ objective: "supervised" }, 1);
  assert.equal(Object.keys(first!).sort(), ["labels", "nll"]);
  const [both] = await train({ objective: ["likelihood", entropy(-1)] }, 1);
  assert.equal(Object.keys(both!).sort(), ["labels", "likelihood", "negentropy"]);
});

test("phrase queries are trained beside labels, and a model without them gets them", async () => {
  assert.not.ok((await readConfig(model)).phraseQueries);
  const out = join(folder.path, "phrases");
  const asked = { ...batch, answers: ["Paris", "Rome"] };
  const objective = [labels(), answerPhrases()];
  await using trainer = await openTrainer(model, { objective, learningRate: 0.01, dropout: 0 });
  const first = (await trainer.step(asked)).terms.phrases!;
  for (let step = 0; step < 10; step++) await trainer.step(asked);
  await trainer.save(out);
  assert.ok((await readConfig(out)).phraseQueries);
  await using trained = await openTrainer(out, { objective: answerPhrases(), dropout: 0 });
  assert.ok((await trained.step(asked)).terms.phrases! < first - 0.1);
  // Without a known positive there is nothing to learn.
  assert.is((await trained.step({ ...asked, positives: [[], []] })).terms.phrases, 0);
});

test("weights and gradients have the names of the file, and the gradients are central differences", async () => {
  await using trainer = await openTrainer(model, { objective: "supervised", dropout: 0 });
  const { loss } = await trainer.step(batch, 0);
  const weights = await trainer.weights();
  const config = await readConfig(model);
  const before = await loadWeights(model, config);
  for (const [name, stored] of namesToStore(config))
    assert.equal(weights.get(stored)!.value, before.get(name), stored);
  assert.is(weights.size, before.size);
  const name = "decoder.block.0.layer.0.SelfAttention.q.weight";
  const { gradient } = weights.get(name)!;
  const place = gradient.reduce(
    (best, x, i) => (Math.abs(x) > Math.abs(gradient[best]!) ? i : best),
    0,
  );
  const expected = gradient[place]!;
  const change = 0.02;
  const lossAt = async (by: number): Promise<number> => {
    const copy = join(folder.path, `changed ${by}`);
    cpSync(model, copy, { recursive: true });
    const tensors = [...weights].map(([stored, { shape, value }]) => {
      const values = value.slice();
      if (stored === name) values[place]! += by;
      return [stored, { shape, values }] as const;
    });
    await writeSafetensors(join(copy, "model.safetensors"), new Map(tensors), { dtype: "F32" });
    await using other = await openTrainer(copy, { objective: "supervised", dropout: 0 });
    return (await other.step(batch, 0)).loss;
  };
  const [above, below] = [await lossAt(change), await lossAt(-change)];
  assert.ok(Math.abs((above - below) / (2 * change) - expected) < 0.02 * Math.abs(expected) + 1e-5);
  assert.ok(Math.abs((above + below) / 2 - loss) < 0.01);
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
  await rejects(
    open({ objective: "rank" }),
    /^objective: expected distillation, supervised, .* got 'rank'; give one of these/,
  );
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

test("the reader teaches by its likelihoods, and keeps its weights", async () => {
  const out = join(folder.path, "taught");
  const all = await train({ objective: likelihood() }, 8, out);
  assert.equal(Object.keys(all[0]!), ["likelihood"]);
  assert.ok(all.at(-1)!.likelihood! < all[0]!.likelihood!);
  const config = await readConfig(model);
  const [before, after] = [await loadWeights(model, config), await loadWeights(out, config)];
  for (const [name, weights] of before)
    if (name.startsWith("decoder.")) assert.equal(after.get(name), weights, name);
  assert.not.equal(after.get("embedding.weight"), before.get("embedding.weight"));
});

test("the head that training gives the greatest weight is the one that retrieves afterwards", async () => {
  const path = join(folder.path, "heads");
  const config = await writeLexicalModel(path, { heads: 3, retrievalHead: 0 });
  const GOOD = 1;
  const weights = await loadWeights(path, config);
  const { query } = parameterNames(config).heads;
  const rows = weights.get(query.weight)!;
  const ofHead = rows.length / 3;
  for (const head of [0, 2]) rows.fill(0, head * ofHead, (head + 1) * ofHead); // they score 0
  const stored = namesToStore(config);
  const tensors = [...parameterShapes(config)].map(
    ([name, shape]) => [stored.get(name)!, { shape, values: weights.get(name)! }] as const,
  );
  await writeSafetensors(join(path, "model.safetensors"), new Map(tensors), { dtype: "F32" });
  const out = join(folder.path, "chosen");
  const options = { objective: labels(), tau: 0.001, train: "all", learningRate: 1e-3 } as const;
  await using trainer = await openTrainer(path, { ...options, dropout: 0 });
  for (let step = 0; step < 10; step++) await trainer.step(batch);
  await trainer.save(out);
  assert.is(retrievalHead(await readConfig(path)), 0);
  assert.is(retrievalHead(await readConfig(out)), GOOD);
});

test.run();
