/**
 * A model without T5 in its encoder: retrieval layers, projections of its own, and joint layers of
 * another width. It indexes, retrieves, reads, is saved, loaded and converted, and its layers are
 * compared with plain loops.
 */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { encodePairs, traceJoint } from "../../src/encoder/joint-session.ts";
import { encodeSequences, openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import { type ModelConfig, sharedWidth, vectorSize } from "../../src/model/config.ts";
import { readConfig, writeConfig } from "../../src/model/config-file.ts";
import { convertModel } from "../../src/model/convert.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { parameterNames, parameterShapes } from "../../src/model/parameter-names.ts";
import { ReAtt } from "../../src/reatt.ts";
import { compile } from "../../src/tensor/session.ts";
import { train } from "../../src/training/train.ts";
import { refused } from "../checkpoints/support.ts";
import { finish } from "../support/adaptation.ts";
import { assertNear } from "../support/arrays.ts";
import { naiveStacks } from "../support/naive-stacks.ts";
import type { Matrix } from "../support/naive-t5.ts";
import { randomIds, randomWeights, TINY_STACKS } from "../support/tiny-model.ts";
import { makeTinyModel, temporaryFolder, writeSmallRun } from "../support/training.ts";

const TOLERANCE = 2e-6; // float32 through a few layers
const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const at = (name: string): string => join(folder.path, name);

const PASSAGES = ["the tower of Ulm", "a river in Spain", "nine layers of stone"].map(
  (text, i) => ({
    id: `${i}`,
    title: "",
    text,
  }),
);

test("states, vectors and pairs equal those of plain loops", async () => {
  const config = TINY_STACKS;
  const weights = randomWeights(config, "stacks");
  const [question, passage] = [randomIds(config, 5, "q"), randomIds(config, 9, "p")];
  const naive = naiveStacks(config, weights);
  const [shared, alone] = [naive.shared(question), naive.shared(passage)];
  await using encoder = await openRetrieverSession(config, { weights });
  const encode = async (ids: number[], output: "reading" | "states" | "queries" | "keys") =>
    (await encodeSequences(encoder, config, [ids], output))[0]!;
  assertNear(await encode(passage, "reading"), alone.flat(), TOLERANCE);
  assertNear(await encode(passage, "states"), naive.retrieval(alone).flat(), TOLERANCE);
  assertNear(await encode(question, "queries"), naive.vectors("query", shared).flat(), TOLERANCE);
  assertNear(await encode(passage, "keys"), naive.vectors("key", alone).flat(), TOLERANCE);

  await using joint = await compile(traceJoint(config), { weights });
  const states = (rows: Matrix) => Float32Array.from(rows.flat());
  const pair = { question: states(shared), passage: states(alone) };
  for await (const { states: read } of encodePairs(config, joint, [pair]))
    assertNear(read.data, naive.joint([...shared, ...alone]).flat(), 1e-5);
});

test("it is saved, loaded, indexed, searched, read and converted", async () => {
  const config = await makeTinyModel(at("model"), TINY_STACKS);
  assert.equal(await readConfig(at("model")), config);
  const question = "who built the tower";
  const answerOf = async (model: ReAtt) => {
    await using index = await model.index(PASSAGES, { directory: at("index"), replace: true });
    assert.is(index.header.dimension, vectorSize(config));
    const hits = await model.retrieve(question, index);
    const { answer, tokenIds } = await model.read(question, PASSAGES.slice(0, 2));
    return { hits: hits.map(({ id, score }) => [id, score]), answer, tokenIds };
  };
  await using model = await ReAtt.load(at("model"));
  const before = await answerOf(model);
  assert.is(before.hits.length, 3);
  await convertModel(at("model"), { out: at("copy"), precision: "fp32" });
  await using copy = await ReAtt.load(at("copy"));
  assert.is(copy.fingerprint, model.fingerprint);
  assert.equal(await answerOf(copy), before);

  await convertModel(at("model"), { out: at("int8"), precision: "int8" });
  await using small = await ReAtt.load(at("int8"));
  assert.is.not(small.fingerprint, model.fingerprint);
  assert.is((await answerOf(small)).hits.length, 3);
  await using stored = await openSafetensors(join(at("int8"), "model.safetensors"));
  const { heads, joint } = parameterNames(config);
  assert.is(stored.tensors.get(heads.key.weight)!.dtype, "F32");
  assert.is(stored.tensors.get(joint[0]!.inputMap!.weight)!.dtype, "I8");
});

for (const objective of ["retrieval", "supervised"] as const)
  test(`${objective}: it is trained, and a step of retrieval leaves its reader`, async () => {
    const directory = at(`run ${objective}`);
    mkdirSync(directory);
    const { dev: _, ...files } = await writeSmallRun(directory);
    const model = at(`start ${objective}`);
    const config = await makeTinyModel(model, TINY_STACKS);
    const out = at(`trained ${objective}`);
    const steps = { iterations: 1, steps: 2, questions: 2, learningRate: 0.01 };
    const options = { ...files, ...steps, model, out, objective, maxPassageTokens: 40 };
    await finish(train({ ...options, holdOut: false }));
    const [old, now] = [await loadWeights(model, config), await loadWeights(out, config)];
    const changed = [...now].filter(([name, values]) =>
      values.some((value, i) => value !== old.get(name)![i]),
    );
    const parts = new Set(changed.map(([name]) => name.split(".")[0]));
    const all = ["decoder", "embedding", "joint", "retrieval", "retrieval_attention", "shared"];
    assert.equal([...parts].sort(), objective === "supervised" ? all : all.slice(3, 5));
  });

test("a configuration whose stacks do not fit is refused in one line", async () => {
  mkdirSync(at("config"));
  const check = async (changes: Partial<ModelConfig>, message: RegExp) => {
    await writeConfig(at("config"), { ...TINY_STACKS, ...changes });
    await refused(readConfig(at("config")), message);
  };
  const [shared] = TINY_STACKS.shared;
  const [first, last] = TINY_STACKS.joint;
  await check(
    { shared: [{ ...shared!, width: 24 }] },
    /shared\.0\.width: expected 16, or an inputMap/,
  );
  await check({ joint: [first!] }, /joint\.0\.width: expected modelSize, 16, got 24/);
  await check({ joint: [] }, /joint: expected one or more stacks, got \[\]/);
  await check(
    { joint: [{ ...first!, positions: 8 } as typeof first & object, last!] },
    /joint\.0\.positions: expected none but of the first shared stack, got 8/,
  );
  const attention = { from: "joint", stack: 0, head: 0, heads: 1 } as const;
  await check(
    { retrievalAttention: attention },
    /retrievalAttention\.stack: expected a stack without/,
  );
  const keys = JSON.parse(readFileSync(join(at("model"), "config.json"), "utf8"));
  assert.is(keys.model_type, "reatt");
  assert.is(sharedWidth(await readConfig(at("model"))), 16);
});

test("every weight is one leaf with a name of its part", () => {
  const parts = new Set([...parameterShapes(TINY_STACKS).keys()].map((name) => name.split(".")[0]));
  assert.equal(
    [...parts],
    ["embedding", "shared", "retrieval", "joint", "retrieval_attention", "decoder"],
  );
});

test.run();
