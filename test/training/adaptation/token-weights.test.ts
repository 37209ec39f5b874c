/** Token weights counted in a corpus, and the step of an adaptation that takes them. */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readConfig } from "../../../src/model/config-file.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import { TOKEN_WEIGHTS } from "../../../src/model/parameter-names.ts";
import { buildBm25 } from "../../../src/retrieval/bm25/bm25.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";
import { type AdaptationEvent, adapt } from "../../../src/training/adapt.ts";
import { countTokenWeights } from "../../../src/training/adaptation/token-weights.ts";
import type { AdaptOptions } from "../../../src/training/options/adapt-options.ts";
import { tryTokenWeights } from "../../../src/training/run/measure.ts";
import { runFolder } from "../../../src/training/run/run-folder.ts";
import type { RunState } from "../../../src/training/run/run-state.ts";
import { openMonitorSet } from "../../../src/training/verdict/measured-set.ts";
import { finish, PASSAGES, writeAdaptationFiles } from "../../support/adaptation.ts";
import { assertNear } from "../../support/arrays.ts";
import type { TinyChanges } from "../../support/tiny-model.ts";
import {
  temporaryFolder,
  trainedStates,
  writeLexicalModel,
  writeLines,
} from "../../support/training.ts";

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
  const evaluations = events.filter((event) => event.type === "evaluation");
  const steps = evaluations.map(({ step }) => step);
  const lambdas = evaluations.map((event) => event.hybrid.weights.lambda);
  const config = await readConfig(out);
  const table = (await loadWeights(out, config)).get(TOKEN_WEIGHTS);
  return { verdict, training, out, steps, lambdas, config, table };
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

test("the weight of a token is the square root of 1 + idf", () => {
  const texts = PASSAGES.map(({ title, text }) =>
    tokenizer.encode(`title: ${title} context: ${text}`),
  );
  const [context] = tokenizer.encode("context: ", 1);
  const [oslo] = tokenizer.encode("Oslo", 1);
  for (const id of [context!, oslo!, 5]) {
    const holding = texts.filter((text) => text.includes(id)).length;
    const idf = Math.log((PASSAGES.length + 1) / (holding + 0.5));
    assertNear([Math.exp(counted[id]!) ** 2], [1 + idf], 1e-6);
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
  const hybrid = { lambda: 1e6, k1: 0.9, b: 0.4 }; // which BM25 would correct
  const weighed = { similarity: "cosine", tokenWeights: true, hybrid } as const;
  const { path } = await writeModel("worse", weighed, worse);
  const { config, steps, lambdas, table, training, verdict } = await run({ model: path, steps: 2 });
  assert.equal(steps, [0, 1, 2]);
  assert.is(lambdas[0], hybrid.lambda, "a gain is one over the model as it was given");
  assert.is(config.retrievalAttention.tokenWeights, true);
  assertNear(table!, counted, 1e-6);
  const { before, after } = training!.outcome!;
  assert.ok(after.mrr! > before.mrr!, `${before.mrr} ${after.mrr}`);
  assert.match(verdict!, /^(no clear )?gain \(token weights alone\): R@1 \d+ → \d+ of 12/);
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
    given: new Map(),
    log: { evaluation: async () => {} },
    run: {
      ...{
        out,
        folder: runFolder(out),
        model,
        config,
        batch: { maxPassageTokens: 60 },
        device: {},
      },
      trained: { names: new Set() },
      measurements: {},
    },
    engine: {
      parameters: async () => states,
      restart: async (values: ReadonlyMap<string, Float32Array>) => restarted.push(values),
    },
    data: { tokenWeights: async () => weights },
    models: before
      ? [{ step: 0, reciprocalRanks: before, hybrid: { reciprocalRanks: hybrid } }]
      : [],
  };
  const run = parts as unknown as RunState;
  const types: string[] = [];
  for await (const { type } of tryTokenWeights(run)) types.push(type);
  return { types, restarted, run };
}

test("few examples take them if retrieval gains, and leave them out if it is about the same", async () => {
  const prompt = new Float32Array(counted.length).fill(-50);
  prompt[tokenizer.encode("question: ", 1)[0]!] = 0; // only the prompt counts
  const bad = await tryWeights("bad", prompt, all(1));
  assert.not.ok(bad.types.includes("evaluation"));
  assert.equal([bad.restarted.length, bad.run.step], [0, 0]);
  const worse = await tryWeights("worse hybrid", counted, all(0), all(2)); // more than can be
  assert.equal([worse.restarted.length, worse.run.step], [0, 0]);
  const { types, restarted, run } = await tryWeights("good", counted, all(0));
  assert.ok(types.includes("evaluation"));
  assert.equal([restarted.length, run.step], [1, 1]);
  assert.equal(run.durations, DURATIONS); // this one reused the index
  assert.equal([...restarted[0]!.get(TOKEN_WEIGHTS)!], [...counted]);
  assert.is(run.models.at(-1)!.kind, "token weights");
  const same = await tryWeights("same", counted, run.models.at(-1)!.reciprocalRanks);
  assert.equal([same.restarted.length, same.run.step], [0, 0]);
});

test("weights that the examples that report refuse leave the given model, byte for byte", async () => {
  const names = PASSAGES.map(({ title }) => title);
  // Passages with even numbers choose, and their names count only with the counted weights. Those
  // with odd numbers report: their questions have the name of another passage more often.
  const uneven = new Float32Array(counted.length);
  for (const name of names.filter((_, i) => i % 2 === 0))
    for (const id of tokenizer.encode(name)) uneven[id] = -50;
  const questions = PASSAGES.flatMap(({ id, title }, i) => {
    const words = i % 2 === 0 ? title : `${`${title} `.repeat(3)}${`${names[i - 1]} `.repeat(9)}`;
    return ["", "harbour", "train", "spring"].map((word) => ({
      question: `${word} ${words}`,
      answers: ["a king"],
      passage_id: id,
    }));
  });
  const dev = writeLines(join(folder.path, "sides.jsonl"), questions);
  const weighed = { similarity: "cosine", tokenWeights: true } as const;
  const { path } = await writeModel("uneven", weighed, uneven);
  const { verdict, training, out } = await run({ model: path, dev, steps: 2 });
  const { step, refused, questions: reported } = training!.outcome!;
  assert.equal([step, reported, refused?.step, refused?.kind], [0, 24, 1, "token weights"]);
  for (const name of ["model.safetensors", "config.json", "spiece.model"])
    assert.ok(readFileSync(join(out, name)).equals(readFileSync(join(path, name))), name);
  assert.match(
    verdict!,
    /^no gain, model unchanged: R@1 \d+ of 24 held-out examples, right answers from the right passage \d+ of \d+; token weights refused: MRR −/,
  );
  const told = ["report.html", "adaptation.json"].map((name) => join(runFolder(out), name));
  for (const file of [join(out, "README.md"), ...told])
    assert.ok(readFileSync(file, "utf8").includes(verdict!), file);
  assert.not(
    training!.samples.some(({ after }) => after),
    "the refused model is not shown",
  );
});

test("they are not tried without a first measurement", async () => {
  const { types, restarted } = await tryWeights("unmeasured", counted);
  assert.equal([types, restarted], [[], []]);
});

test.run();
