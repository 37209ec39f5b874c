/** Training of a pruning layer on a tiny corpus, and the indexes that it prunes. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { finished } from "../../../src/io/progress.ts";
import { readConfig } from "../../../src/model/config-file.ts";
import { storeInConfig } from "../../../src/model/store-config.ts";
import {
  pruningFeatures,
  pruningRule,
  type TokenPruning,
} from "../../../src/model/token-pruning.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { checkHeader } from "../../../src/retrieval/index/maintain/update.ts";
import type { TokenIndex } from "../../../src/retrieval/search/token-index.ts";
import { trainPruning } from "../../../src/training/pruning/train-pruning.ts";
import { runCaptured } from "../../cli/support.ts";
import { rejects } from "../../retrieval/support.ts";
import { temporaryFolder, writeLines, writeTinyModel } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const at = (name: string): string => join(folder.path, name);
const MODEL = at("model");
mkdirSync(MODEL);
await writeTinyModel(MODEL, { modelSize: 32, headSize: 16 });
const towns = "London Paris Berlin Rome Boston Dallas Chicago Toronto Houston Atlanta".split(" ");
const PASSAGES = towns.map((title, i) => ({
  id: `${i}`,
  title,
  text: `The town of ${title} has the number ${2 * i + 10} since ${1900 + 7 * i}, and the river.`,
}));
const QUESTIONS = PASSAGES.map(({ id, title }, i) => ({
  ...{ id, question: `What is the number of ${title}?`, passage_id: id },
  answers: [`${2 * i + 10}`],
}));
const data = writeLines(at("train.jsonl"), QUESTIONS);
const corpus = writeLines(at("corpus.jsonl"), PASSAGES);
const FILES = { model: MODEL, corpus, data, threads: 1 };
const TRAINED = at("trained");

/** The keys that an index should hold of a passage, by a loop over the definition. */
function naivelyPruned(keys: Float32Array, layer: TokenPruning, share: number): number[] {
  const rule = pruningRule(layer, share);
  assert.ok(rule !== "novelty");
  const features = pruningFeatures(keys, 16);
  const logits = features.map((row) => row.reduce((sum, x, j) => sum + x * rule.weights[j]!, 0));
  const best = Math.max(...logits);
  return logits.flatMap((logit, i) =>
    logit >= Math.min(rule.threshold, best) ? [...keys.subarray(16 * i, 16 * i + 16)] : [],
  );
}

const keysOf = (index: TokenIndex): Promise<Float32Array[]> =>
  Promise.all(PASSAGES.map(async ({ id }) => index.keys((await index.find(id))!)));

function near(actual: Float32Array, expected: readonly number[], tolerance: number): void {
  assert.is(actual.length, expected.length);
  for (const [i, value] of actual.entries())
    assert.ok(Math.abs(value - expected[i]!) <= tolerance, `${value}, expected ${expected[i]}`);
}

test("training stores a layer; weights and fingerprint stay as they are", async () => {
  const result = await finished(trainPruning({ ...FILES, out: TRAINED }));
  assert.equal([result.folder, result.questions, result.passages], [TRAINED, 10, 10]);
  assert.ok(result.matched > 0 && result.matched < 1 && result.tokens > 200);
  const { pruning, ...rest } = await readConfig(TRAINED);
  assert.equal(rest, await readConfig(MODEL));
  assert.is(pruning!.weights.length, 16 + 3);
  await using before = await ReAtt.load(MODEL);
  await using after = await ReAtt.load(TRAINED);
  assert.is(after.fingerprint, before.fingerprint);
  const again = await finished(trainPruning({ ...FILES, out: at("again") }));
  assert.equal({ ...again, folder: TRAINED }, result);
  assert.equal((await readConfig(at("again"))).pruning, pruning);
});

test("an index has the tokens above the threshold, and about the share", async () => {
  await using model = await ReAtt.load(TRAINED);
  await using whole = await model.index(PASSAGES, { directory: at("whole"), bits: 32 });
  const { pruning } = model.config;
  const all = await keysOf(whole);
  for (const keepRatio of [0.75, 0.5, 0.33]) {
    const directory = at(`kept ${keepRatio}`);
    await using index = await model.index(PASSAGES, { directory, keepRatio, bits: 32 });
    for (const [i, keys] of (await keysOf(index)).entries())
      near(keys, naivelyPruned(all[i]!, pruning!, keepRatio), 1e-5);
    const share = index.tokenCount / whole.tokenCount;
    assert.ok(Math.abs(share - keepRatio) < 0.02, `${share} of ${keepRatio}`);
    const hit = (await model.retrieve("What is the number of Rome?", index, { topK: 1 }))[0]!;
    const explained = await model.explain("What is the number of Rome?", hit, index);
    assert.ok(Math.abs(explained.score - hit.score) < 1e-4);
  }
});

test("compressed indexes hold the same tokens", async () => {
  await using model = await ReAtt.load(TRAINED);
  const options = { keepRatio: 0.5 };
  await using exact = await model.index(PASSAGES, { ...options, directory: at("32"), bits: 32 });
  await using coded = await model.index(PASSAGES, { ...options, directory: at("8"), bits: 8 });
  const [expected, got] = [await keysOf(exact), await keysOf(coded)];
  for (const [i, keys] of got.entries()) near(keys, [...expected[i]!], 0.5);
});

test("additions follow the rule of the index, whatever layer the model has", async () => {
  const directory = at("extended");
  const { pruning } = await readConfig(TRAINED);
  await storeInConfig(
    TRAINED,
    { pruning: { ...pruning!, weights: pruning!.weights.map((weight) => -weight) } },
    at("reversed"),
  );
  await using model = await ReAtt.load(TRAINED);
  const options = { directory, keepRatio: 0.5, bits: 32 } as const;
  await using index = await model.index(PASSAGES, options);
  const expected = await keysOf(index);
  for (const other of [MODEL, at("reversed"), TRAINED]) {
    await using changed = await ReAtt.load(other);
    await using extended = await changed.add([PASSAGES[3]!, PASSAGES[0]!], { directory });
    for (const [i, keys] of (await keysOf(extended)).entries()) near(keys, [...expected[i]!], 1e-5);
    assert.equal(extended.header, index.header);
  }
  await using reversed = await ReAtt.load(at("reversed"));
  await using another = await reversed.index(PASSAGES, { ...options, directory: at("another") });
  assert.throws(
    () => checkHeader(directory, index.header, another.header), // as when shards are merged
    /expected passages encoded with pruning/,
  );
});

test("wrong input is one line", async () => {
  const fails = (changes: object, message: RegExp) =>
    rejects(finished(trainPruning({ ...FILES, out: at("none"), ...changes })), message);
  const others = writeLines(at("others.jsonl"), [{ ...QUESTIONS[0], passage_id: "elsewhere" }]);
  await fails(
    { data: others },
    /others\.jsonl: expected questions with a "passage_id" of .*, got none/,
  );
  await fails({ out: TRAINED }, /expected a folder without a model/);
  await fails({ passages: 0 }, /^passages: expected/);
  await fails({ corpus: at("missing") }, /missing/);
  const pooled = at("pooled");
  mkdirSync(pooled);
  await writeTinyModel(pooled, { pooling: "mean" });
  await fails({ model: pooled }, /expected a model that retrieves by tokens/);
});

test("the command trains, and index names the layer", async () => {
  const out = at("by command");
  const flags = ["--model", MODEL, "--corpus", corpus, "--data", data, "--out", out];
  const { stdout } = await runCaptured(["train", "pruning", ...flags, "--threads", "1"]);
  assert.match(
    stdout,
    /^Trained on 10 questions about 10 passages, which match \d+ % of \d+ tokens/,
  );
  const index = ["--corpus", corpus, "--out", at("pruned"), "--keep-ratio", "0.5"];
  await runCaptured(["index", "--model", out, ...index]);
  const info = await runCaptured(["index", "info", "--index", at("pruned")]);
  assert.match(info.stdout, /^keep ratio +0\.5, tokens chosen by the pruning layer of a model$/m);
});

test.run();
