/** Token weights counted in a corpus, and the step of an adaptation that takes them. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { writeSafetensors } from "../../../src/checkpoints/write-safetensors.ts";
import { type ModelConfig, readConfig } from "../../../src/model/config.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { parameterShapes, TOKEN_WEIGHTS } from "../../../src/model/parameter-names.ts";
import { loadTokenizer } from "../../../src/text/tokenizer.ts";
import { type AdaptationEvent, adapt } from "../../../src/training/adapt.ts";
import { countTokenWeights } from "../../../src/training/adaptation/token-weights.ts";
import type { AdaptOptions } from "../../../src/training/options/adapt-options.ts";
import { finish, PASSAGES, writeAdaptationFiles } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import { temporaryFolder, writeTinyModel } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { corpus, data } = writeAdaptationFiles(folder.path);
const LEAST = { steps: 1, questions: 2, candidatesPerQuestion: 2, learningRate: 1e-9 };

/** A tiny model whose queries equal its keys, with or without token weights. */
async function writeModel(name: string, changes: Partial<ModelConfig>, table?: Float32Array) {
  const path = join(folder.path, name);
  mkdirSync(path);
  const config = await writeTinyModel(path, { headSize: 16, dropoutRate: 0, ...changes });
  const weights = await loadWeights(path, config);
  const layer = `encoder.block.${config.retrievalLayer}.layer.0.SelfAttention`;
  weights.get(`${layer}.k.weight`)!.set(weights.get(`${layer}.q.weight`)!);
  if (table) weights.set(TOKEN_WEIGHTS, table);
  const tensors = [...parameterShapes(config)].map(
    ([key, shape]) => [key, { shape, values: weights.get(key)! }] as const,
  );
  await writeSafetensors(join(path, "model.safetensors"), new Map(tensors), { dtype: "F32" });
  return { path, config };
}

async function run(options: Partial<AdaptOptions> & { model: string }) {
  const out = join(folder.path, "out of", options.model.split("/").at(-1)!);
  const events: AdaptationEvent[] = [];
  const all = { ...LEAST, corpus, data, dev: data, out, ...options };
  const { verdict, training } = await finish(adapt(all), (event) => events.push(event));
  const steps = events.flatMap((event) => (event.type === "evaluation" ? [event.step] : []));
  const config = await readConfig(out);
  const table = (await loadWeights(out, config)).get(TOKEN_WEIGHTS);
  return { verdict, training, steps, config, table };
}

const plain = await writeModel("plain", {});
const tokenizer = await loadTokenizer(join(plain.path, "spiece.model"));
const opened = {
  size: PASSAGES.length,
  async *passages() {
    yield* PASSAGES;
  },
};
const counted = await countTokenWeights(opened, tokenizer, plain.config, 60);

test("the weight of a token is 1 + idf", () => {
  const texts = PASSAGES.map(({ title, text }) =>
    tokenizer.encode(`title: ${title} context: ${text}`),
  );
  const [context] = tokenizer.encode("context: ", 1);
  const [oslo] = tokenizer.encode("Oslo", 1);
  for (const id of [context!, oslo!, 5]) {
    const holding = texts.filter((text) => text.includes(id)).length;
    const idf = Math.log((PASSAGES.length + 1) / (holding + 0.5));
    assertNear([Math.exp(counted[id]!)], [1 + idf], 1e-6);
  }
  assert.ok(Math.exp(counted[context!]!) < 1.1);
  assert.ok(counted.every((value) => value >= 0));
});

test("a model of inner products, or of one vector, gets none", async () => {
  for (const [name, changes] of [
    ["inner", {}],
    ["pooled", { similarity: "cosine", pooling: "mean" }],
  ] as const) {
    const { path } = await writeModel(name, changes);
    const { config, steps } = await run({ model: path, objective: "retrieval" });
    assert.is(config.tokenWeights, undefined);
    assert.equal(steps, [0, 1]);
  }
});

test("they are the first step of the run if retrieval is better with them", async () => {
  const worse = new Float32Array(counted.length).fill(-50);
  worse[tokenizer.encode("question: ", 1)[0]!] = 0; // only the prompt counts
  const weighed = { similarity: "cosine", tokenWeights: true } as const;
  const { path } = await writeModel("worse", weighed, worse);
  const { config, steps, table, training, verdict } = await run({ model: path, steps: 2 });
  assert.equal(steps, [0, 1, 2]);
  assert.is(config.tokenWeights, true);
  assertNear(table!, counted, 1e-6);
  const { before, after } = training!.monitor!;
  assert.ok(after.mrr! > before.mrr!, `${before.mrr} ${after.mrr}`);
  assert.match(verdict!, /^R@1 \d+ → \d+ of 12/);
});

test("they are left out if it is not", async () => {
  const { path } = await writeModel("best", { similarity: "cosine", tokenWeights: true }, counted);
  const { steps, table } = await run({ model: path });
  assert.equal(steps, [0, 1]);
  assertNear(table!, counted, 1e-6);
});

test.run();
