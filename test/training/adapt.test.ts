import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { InputError } from "../../src/io/errors.ts";
import { writeConfig } from "../../src/model/config.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { ReAtt } from "../../src/reatt.ts";
import type { AdaptationEvent } from "../../src/training/adapt.ts";
import { type AdaptationResult, adapt } from "../../src/training/adapt.ts";
import type { AdaptOptions } from "../../src/training/options/adapt-options.ts";
import { finish, writeAdaptationFiles } from "../support/adaptation.ts";
import { writeLines, writeTinyModel } from "../support/training.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-adapt-"));
test.after(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]) => join(folder, ...names);
const files = writeAdaptationFiles(folder);
const { corpus } = files;
const SMALL = { steps: 6, questions: 2, candidatesPerQuestion: 2, monitorSteps: 2 };
const model = at("model");
await writeLexicalModel(model);

/** A tiny model whose queries equal its keys, so that equal words match before training. */
async function writeLexicalModel(path: string): Promise<void> {
  mkdirSync(path);
  const config = await writeTinyModel(path, { headSize: 16, dropoutRate: 0 });
  const weights = await loadWeights(path, config);
  const layer = `encoder.block.${config.retrievalLayer}.layer.0.SelfAttention`;
  weights.get(`${layer}.k.weight`)!.set(weights.get(`${layer}.q.weight`)!);
  const tensors = [...parameterShapes(config)].map(
    ([name, shape]) => [name, { shape, values: weights.get(name)! }] as const,
  );
  await writeSafetensors(join(path, "model.safetensors"), new Map(tensors), { dtype: "F32" });
  await writeConfig(path, config);
}

const modelBytes = (path: string): Buffer => readFileSync(join(path, "model.safetensors"));

async function refusal(options: Partial<AdaptOptions>): Promise<string> {
  const run = finish(adapt({ model, corpus, out: at("refused"), ...SMALL, ...options }));
  const error = await run.then(
    () => assert.unreachable("was not refused"),
    (thrown: unknown) => thrown,
  );
  assert.instance(error, InputError);
  assert.not.match((error as Error).message, "\n");
  return (error as Error).message;
}

test("a dry run says what would be done and writes nothing", async () => {
  const events: AdaptationEvent[] = [];
  const before = readdirSync(folder).sort();
  const options = { model, corpus, out: at("dry"), dryRun: true };
  const result = await finish(adapt(options), (event) => events.push(event));
  assert.equal(readdirSync(folder).sort(), before);
  const { plan } = result;
  assert.equal([result.training, result.index], [undefined, undefined]);
  assert.equal([plan.passages, plan.iterations, plan.sources[0]!.name], [12, 1, "spans"]);
  assert.ok(plan.seconds > 0 && plan.memoryBytes > 0 && plan.diskBytes > 0);
  assert.is(plan.samples.length, 5);
  assert.match(plan.samples[0]!, /question .*____/);
  assert.equal(events.at(-1), { type: "plan", plan });
});

test("a collapse of retrieval stops the run, and the original model is kept", async () => {
  const options = { model, corpus, out: at("collapsed"), data: files.data, dev: files.data };
  const result = await finish(adapt({ ...options, ...SMALL, steps: 20, learningRate: 3 }));
  const { training } = result as AdaptationResult;
  const { monitor, step, finished } = training!;
  assert.ok(monitor!.before.mrr! > 0.5);
  assert.ok(monitor!.collapsed && finished && step < 20);
  assert.is(monitor!.step, 0);
  assert.equal(monitor!.after, monitor!.before);
  assert.ok(modelBytes(at("collapsed")).equals(modelBytes(model)), "bit for bit");
  assert.match(
    readFileSync(at("collapsed", "README.md"), "utf8"),
    /after step \d+: retrieval collapsed; this is the model of step 0/,
  );
  assert.ok(existsSync(at("collapsed", "index")));
});

test("a loss that is not finite ends the run with the best model, its card and its index", async () => {
  const diverging = { model, corpus, data: files.data, ...SMALL, steps: 9, learningRate: 1e30 };
  const few = {
    ...diverging,
    data: writeLines(at("few.jsonl"), [{ question: "where?", answers: ["Oslo"] }]),
  };
  const cases: readonly [out: string, options: typeof diverging & { dev?: string }][] = [
    ["between two looks", { ...diverging, dev: files.data, monitorSteps: 5 }],
    ["at a look", { ...diverging, dev: files.data, monitorSteps: 1 }],
    ["without a look", few],
  ];
  for (const [out, options] of cases) {
    const { training, index } = await finish(adapt({ ...options, out: at(out) }));
    assert.ok(training!.finished && training!.step < 9, out);
    assert.ok(modelBytes(at(out)).equals(modelBytes(model)), out);
    assert.is(index, at(out, "index"));
    await using kept = await ReAtt.load(at(out));
    await using opened = await kept.openIndex(index!);
    assert.is(opened.passageCount, 12);
    const card = readFileSync(at(out, "README.md"), "utf8");
    assert.match(card, /after step \d: a (loss|weight) of .* step \d; this is the model of step 0/);
    assert.match(readFileSync(at(out, "report.html"), "utf8"), /Stopped after step \d: /);
  }
});

test("what can't be used is one clear line", async () => {
  const { queries } = files;
  const foreign = at("foreign.tsv");
  const lines = (records: object[]) => writeLines(at("other.jsonl"), records);
  writeFileSync(foreign, "query-id\tcorpus-id\tscore\nq0\tp999\t1\n");
  assert.match(
    await refusal({ queries, qrels: foreign }),
    /passage ids of this set, got 1 of 1 unknown/,
  );
  writeFileSync(foreign, "query-id\tcorpus-id\tscore\nx7\tp1\t1\n");
  assert.match(await refusal({ queries, qrels: foreign }), /query ids of this set/);
  assert.match(await refusal({ queries }), /expected queries and qrels, got only queries/);
  assert.match(await refusal({ spans: false }), /something to train on/);
  assert.match(await refusal({ weights: { labels: 2 } }), /expected spans, got "labels"/);
  assert.match(await refusal({ weights: { spans: 0 } }), /a number above 0/);
  assert.match(await refusal({ out: model }), /another folder than the model's/);
  await finish(adapt({ model, corpus, out: at("run"), ...SMALL, steps: 1 }));
  assert.match(
    await refusal({ out: at("run") }),
    /a folder without a run, got one that stopped after step 1/,
  );
  const empty = lines(["a", "b", "c"].map((_id) => ({ _id, text: "" })));
  assert.match(
    await refusal({ corpus: empty }),
    /a sentence with a name or a date, got none in 3 passages/,
  );
  assert.not.ok(existsSync(at("refused")), "nothing is written");
});

test.run();
