/** Only questions move: what an index holds stays as it is, bit for bit. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { headLayer, retrievalHead, textLayers } from "../../../src/model/config.ts";
import { loadWeights } from "../../../src/model/load-weights.ts";
import {
  isOfQueryEncoder,
  parameterNames,
  queryEncoderSources,
} from "../../../src/model/parameter-names.ts";
import { hitLists } from "../../../src/reatt/retrieving.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { readPassages } from "../../../src/text/read-passages.ts";
import { adapt } from "../../../src/training/adapt.ts";
import { finish, PASSAGES, writeAdaptationFiles } from "../../support/adaptation.ts";
import { writeTinyModel } from "../../support/training.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-query-side-"));
test.after(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]) => join(folder, ...names);

const { corpus, data } = writeAdaptationFiles(folder);
mkdirSync(at("model"));
const config = await writeTinyModel(at("model"), { dropoutRate: 0 });
const given = { model: at("model"), corpus, data, dev: data, iterations: 1 } as const;
const small = {
  steps: 3,
  questions: 4,
  candidatesPerQuestion: 2,
  monitorSteps: 3,
  keepCheckpoint: true, // the tests read it
  learningRate: 0.01,
};
const question = "who opened the harbour of Oslo?";

test("one head's query projection changes, and an index made before serves on", async () => {
  await using base = await ReAtt.load(at("model"));
  await using _ = await base.index(readPassages(corpus), { directory: at("index") });
  const result = await finish(adapt({ ...given, ...small, out: at("out"), train: "query" }));
  assert.is(result.index, undefined);

  const [before, after] = await Promise.all([
    loadWeights(at("model"), config),
    // the model after the last step
    loadWeights(at("out.run", "checkpoint", "monitor", "model"), config),
  ]);
  const query = parameterNames(config).heads.query.weight;
  for (const [name, numbers] of before) {
    const now = after.get(name)!;
    const changed = numbers.findIndex((number, i) => number !== now[i]);
    if (name !== query) assert.is(changed, -1, name);
  }
  const { heads, headSize } = headLayer(config);
  const rows = headSize * config.modelSize;
  const changedHeads = Array.from({ length: heads }, (_, head) => head).filter((head) => {
    const of = (weights: Map<string, Float32Array>) =>
      weights.get(query)!.subarray(head * rows, (head + 1) * rows);
    return of(before).some((number, i) => number !== of(after)[i]);
  });
  assert.equal(changedHeads, [retrievalHead(config)]);

  await using adapted = await ReAtt.load(at("out.run", "checkpoint", "monitor", "model"));
  assert.is(adapted.fingerprint, base.fingerprint);
  await using index = await adapted.openIndex(at("index"));
  const [was, is] = [await base.retrieve(question, index), await adapted.retrieve(question, index)];
  assert.is(is.length, was.length);
  assert.not.equal(
    is.map(({ score }) => score),
    was.map(({ score }) => score),
  );
});

test("a copy of the lower layers: the same vectors before training; then better ones, keys and reading as they were", async () => {
  const layers = { ...given, ...small, train: "query", layers: textLayers(config) } as const;
  await finish(adapt({ ...layers, out: at("still"), steps: 1, learningRate: 0 }));
  const result = await finish(adapt({ ...layers, out: at("copy"), steps: 40, monitorSteps: 10 }));
  assert.is(result.index, undefined);
  const { before, after } = result.training!.outcome!;
  assert.ok(after.mrr! > before.mrr! + 0.1, `${before.mrr} to ${after.mrr}`);

  const [start, kept] = await Promise.all(
    [at("still.run", "checkpoint", "monitor", "model"), at("copy")].map((out) =>
      loadWeights(out, { ...config, queryEncoder: true }),
    ),
  );
  const base = await loadWeights(at("model"), config);
  const sources = queryEncoderSources({ ...config, queryEncoder: true });
  for (const [name, numbers] of start!) {
    assert.equal(numbers, base.get(sources.get(name) ?? name), name);
    if (!isOfQueryEncoder(name)) assert.equal(kept!.get(name), numbers, name);
  }

  await using model = await ReAtt.load(at("model"));
  await using still = await ReAtt.load(at("still.run", "checkpoint", "monitor", "model"));
  await using copy = await ReAtt.load(at("copy"));
  await using index = await model.index(readPassages(corpus), { directory: at("old") });
  await using again = await copy.index(readPassages(corpus), { directory: at("new") });
  assert.equal([still.fingerprint, copy.fingerprint], [model.fingerprint, model.fingerprint]);
  assert.is(again.tokenCount, index.tokenCount);
  const keys = join("segments", "000001", "keys.f32");
  assert.ok(readFileSync(at("old", keys)).equals(readFileSync(at("new", keys))));

  const questions = PASSAGES.map(({ title }) => `who opened the harbour of ${title}?`);
  assert.equal(
    await hitLists(still.retrieve(questions, index)),
    await hitLists(model.retrieve(questions, index)),
  );
  await using opened = await copy.openIndex(at("old"));
  const found = async (of: ReAtt): Promise<number> =>
    (await hitLists(of.retrieve(questions, opened, { hybrid: false }))).filter(
      (hits, i) => hits[0]!.id === PASSAGES[i]!.id,
    ).length;
  assert.ok((await found(copy)) > (await found(model)));

  await using one = await model.index(PASSAGES.slice(0, 1), { directory: at("one") });
  const [read, asBefore] = [await copy.answer(question, one), await model.answer(question, one)];
  assert.equal([read.tokenIds, read.confidence], [asBefore.tokenIds, asBefore.confidence]);
});

test("a copy that is stopped and resumed ends with the same numbers", async () => {
  const layers = {
    ...given,
    ...small,
    steps: 4,
    train: "query",
    layers: textLayers(config),
  } as const;
  const abort = new AbortController();
  const options = { ...layers, out: at("stopped"), signal: abort.signal };
  const first = await finish(adapt(options), (event) => {
    if (event.type === "step" && event.step === 2) abort.abort();
  });
  assert.is(first.training!.step, 2);
  await finish(adapt({ ...layers, out: at("stopped"), resume: true }));
  await finish(adapt({ ...layers, out: at("whole") }));
  const state = join("checkpoint", "state-000004.safetensors");
  assert.ok(readFileSync(at("stopped.run", state)).equals(readFileSync(at("whole.run", state))));
});

test("what does not train retrieval, or trains no one head, is refused", async () => {
  for (const [changes, message] of [
    [
      { objective: "qa" },
      /^train query: expected an objective that trains retrieval, got the objective qa/,
    ],
    [{ tau: 0.1 }, /^tau: expected training of all heads/],
  ] as const) {
    const run = finish(
      adapt({
        ...given,
        ...small,
        out: at("refused"),
        train: "query",
        layers: textLayers(config),
        ...changes,
      }),
    );
    const error = await run.catch((thrown: unknown) => thrown);
    assert.instance(error, InputError);
    assert.match((error as Error).message, message);
  }
});

test.run();
