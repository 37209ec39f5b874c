/** Token weights counted in a corpus, and the step of an adaptation that takes them. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readConfig } from "../../../src/model/config-file.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { TOKEN_WEIGHTS } from "../../../src/model/parameter-names.ts";
import { buildBm25 } from "../../../src/retrieval/bm25/bm25.ts";
import { loadTokenizer } from "../../../src/text/tokenizer.ts";
import { type AdaptationEvent, adapt } from "../../../src/training/adapt.ts";
import { countTokenWeights } from "../../../src/training/adaptation/token-weights.ts";
import type { AdaptOptions } from "../../../src/training/options/adapt-options.ts";
import { tryTokenWeights } from "../../../src/training/run/measure.ts";
import { openMonitorSet } from "../../../src/training/run/measured-set.ts";
import type { RunState } from "../../../src/training/run/run-state.ts";
import { finish, PASSAGES, writeAdaptationFiles } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import type { TinyChanges } from "../../support/tiny-model.ts";
import { temporaryFolder, trainedStates, writeLexicalModel } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const { corpus, data } = writeAdaptationFiles(folder.path);
const LEAST = { steps: 1, questions: 2, candidatesPerQuestion: 2, learningRate: 1e-9 };

async function writeModel(name: string, changes: TinyChanges, table?: Float32Array) {
  const path = join(folder.path, name);
  return { path, config: await writeLexicalModel(path, changes, table) };
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
    assert.is(config.retrievalAttention.tokenWeights, undefined);
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
  assert.is(config.retrievalAttention.tokenWeights, true);
  assertNear(table!, counted, 1e-6);
  const { before, after } = training!.monitor!;
  assert.ok(after.mrr! > before.mrr!, `${before.mrr} ${after.mrr}`);
  assert.match(verdict!, /^no gain from training, token weights counted: R@1 \d+ → \d+ of 12/);
});

const all = (value: number) => PASSAGES.map(() => value);
/** What the measurement before took. */
const DURATIONS = { measurement: 9, index: 6 };

/**
 * The events of the step that tries `weights`, and its run, which has measured `before`, and
 * `hybrid` of hybrid search.
 */
async function tryWeights(
  name: string,
  weights: Float32Array,
  before?: readonly number[],
  hybrid = all(0),
) {
  const changes = { similarity: "cosine", tokenWeights: true } as const;
  const { path: model, config } = await writeModel(name, changes, counted);
  const out = join(folder.path, `${name} tried`);
  mkdirSync(out);
  const states = trainedStates(config);
  for (const [key, value] of await loadWeights(model, config)) states.get(key)!.value.set(value);
  const restarted: ReadonlyMap<string, Float32Array>[] = [];
  const questions = PASSAGES.map(({ id, title }) => ({ question: title, relevant: [id] }));
  const set = await openMonitorSet(
    { questions, passages: PASSAGES, every: 1 },
    { bm25: () => buildBm25(PASSAGES) },
  );
  const parts = {
    set,
    step: 0,
    durations: DURATIONS,
    log: { evaluation: async () => {} },
    run: {
      ...{ out, model, config, batch: { maxPassageTokens: 60 }, device: {} },
      trained: { names: new Set() },
    },
    engine: {
      parameters: async () => states,
      restart: async (values: ReadonlyMap<string, Float32Array>) => restarted.push(values),
    },
    data: { tokenWeights: async () => weights },
    records: before
      ? [{ step: 0, reciprocalRanks: before, hybrid: { reciprocalRanks: hybrid } }]
      : [],
  };
  const run = parts as unknown as RunState;
  const types: string[] = [];
  for await (const { type } of tryTokenWeights(run)) types.push(type);
  return { types, restarted, run };
}

test("they are left out if retrieval is clearly worse, and taken if it is about the same", async () => {
  const prompt = new Float32Array(counted.length).fill(-50);
  prompt[tokenizer.encode("question: ", 1)[0]!] = 0; // only the prompt counts
  const bad = await tryWeights("bad", prompt, all(1));
  assert.not.ok(bad.types.includes("evaluation"));
  assert.equal([bad.restarted.length, bad.run.step], [0, 0]);
  const worse = await tryWeights("worse hybrid", counted, all(0), all(2)); // more than can be
  assert.equal([worse.restarted.length, worse.run.step], [0, 0]);
  const good = await tryWeights("good", counted, all(0));
  const reached = good.run.records.at(-1)!.reciprocalRanks;
  const worst = reached.indexOf(Math.min(...reached));
  const same = await tryWeights("same", counted, reached.with(worst, 1)); // one question loses
  for (const { types, restarted, run } of [good, same]) {
    assert.ok(types.includes("evaluation"));
    assert.equal([restarted.length, run.step], [1, 1]);
    assert.equal(run.durations, DURATIONS); // this one reused the index
    assert.equal([...restarted[0]!.get(TOKEN_WEIGHTS)!], [...counted]);
    assert.is(run.records.at(-1)!.taken, true);
  }
});

test("they are not tried without a first measurement", async () => {
  const { types, restarted } = await tryWeights("unmeasured", counted);
  assert.equal([types, restarted], [[], []]);
});

test.run();
