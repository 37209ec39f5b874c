/** Runs with `--pooling`: what they learn, what they write, and what they refuse. */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { mean } from "../../../src/math/mean.ts";
import { readConfig } from "../../../src/model/config-file.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { adapt } from "../../../src/training/adapt.ts";
import type { TrainOptions } from "../../../src/training/options/train-options.ts";
import { train } from "../../../src/training/train.ts";
import { rejects } from "../../retrieval/support.ts";
import { capitals, finish, writeAdaptationFiles } from "../../support/adaptation.ts";
import { temporaryFolder, writeSmallRun, writeTinyModel } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const small = await writeSmallRun(folder.path);
const at = (name: string): string => join(folder.path, name);

for (const [pooling, similarity] of [
  ["eos", "dot"],
  ["mean", "cosine"],
  [undefined, "cosine"],
] as const)
  test(`${pooling ?? "tokens"}, ${similarity}: training raises the probability of the positive`, async () => {
    const { dev: _, ...files } = { ...small, holdOut: false };
    const losses: number[] = [];
    const out = at(`${pooling}-${similarity}`);
    const options: TrainOptions = {
      ...{ ...files, out, pooling, similarity, objective: "retrieval", preBatch: 1 },
      ...{ iterations: 1, steps: 40, questions: 4, learningRate: 0.01, dropout: 0 },
    };
    const { finished } = await finish(train(options), (event) => {
      if (event.type === "step") losses.push(event.losses.terms.labels!);
    });
    assert.ok(finished);
    // The loss is -log P of the positive.
    assert.ok(mean(losses.slice(-5)) < 0.7 * mean(losses.slice(0, 5)), losses.join(" "));
    const config = await readConfig(out);
    const { retrievalAttention: attention } = config;
    assert.equal([attention.pooling, attention.similarity], [pooling, similarity]);
    // A run that goes on from this model keeps its pooling and its scale.
    await using model = await ReAtt.load(out);
    assert.is.not(model.config.retrievalScale, 1);
  });

test("adapt measures and indexes a pooled model", async () => {
  const model = at("model-to-adapt");
  mkdirSync(model);
  await writeTinyModel(model, { hybrid: { lambda: 1, k1: 0.9, b: 0.4 } });
  const out = at("adapted");
  const adapted = await finish(
    adapt({
      ...{ ...writeAdaptationFiles(folder.path), model, out, pooling: "mean", sources: ["spans"] },
      ...{ tagger: capitals, objective: "retrieval", learningRate: 1e-3 },
      ...{ steps: 4, questions: 4, candidatesPerQuestion: 2, monitorSteps: 4 },
    }),
  );
  assert.ok(adapted.training!.outcome);
  await using loaded = await ReAtt.load(out);
  await using index = await loaded.openIndex(adapted.index!);
  assert.is(index.header.pooling, "mean");
  assert.is(index.tokenCount, index.passageCount);
  assert.match(readFileSync(join(out, "README.md"), "utf8"), /\| pooling \| mean \|/);
});

test("other vectors exclude options that need one head, or an old index", async () => {
  const refused: [Partial<TrainOptions>, RegExp][] = [
    [{ tau: 0.1 }, /^tau: expected training of all heads: train all or retrieval, and no pooling/],
    [{ train: "query" }, /and a new index, got train query; leave one/],
  ];
  for (const [options, message] of refused)
    await rejects(finish(train({ ...small, out: at("no"), pooling: "eos", ...options })), message);
  const cosine = { ...small, out: at("no"), similarity: "cosine", objective: "qa" } as const;
  await rejects(
    finish(train({ ...cosine, train: "reader" })),
    /^similarity: expected training of all that makes vectors, and a new index, got train reader/,
  );
});

test("a model with two retrieval heads excludes a choice of one, and pools with all", async () => {
  await using other = temporaryFolder();
  const { dev: _, ...files } = { ...(await writeSmallRun(other.path)), holdOut: false };
  const model = at("two heads");
  mkdirSync(model);
  await writeTinyModel(model, { retrievalHead: 0, retrievalHeads: 2 });
  const short = { ...files, model, objective: "retrieval", steps: 1, questions: 2 } as const;
  for (const [options, message] of [
    [{ tau: 0.1 }, /^heads: expected vectors of 2 heads, got a choice of one head \(tau\)/],
  ] as const)
    await rejects(finish(train({ ...short, out: at("no"), ...options })), message);
  const out = at("pooled two");
  await finish(train({ ...short, out, pooling: "mean" }));
  await using pooled = await ReAtt.load(out);
  assert.is(pooled.config.retrievalAttention.heads, 1);
});

test.run();
