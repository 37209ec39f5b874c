import {
  cpSync,
  existsSync,
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
import { InputError } from "../../src/io/errors.ts";
import { ReAtt } from "../../src/reatt.ts";
import type { AdaptationEvent } from "../../src/training/adapt.ts";
import { type AdaptationResult, adapt } from "../../src/training/adapt.ts";
import type { AdaptOptions } from "../../src/training/options/adapt-options.ts";
import { runFolder } from "../../src/training/run/run-folder.ts";
import { finish, writeAdaptationFiles } from "../support/adaptation.ts";
import { writeLexicalModel, writeLines } from "../support/training.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-adapt-"));
test.after(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]) => join(folder, ...names);
const files = writeAdaptationFiles(folder);
const { corpus } = files;
const SMALL = { steps: 6, questions: 2, candidatesPerQuestion: 2, monitorSteps: 2 };
const model = at("model");
await writeLexicalModel(model);
writeFileSync(
  join(model, "README.md"),
  "---\ntags:\n- t5\nlicense: mit\nlanguage:\n  - en\n  - de\nmetrics: em\n---\n# Model\n",
);

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
  assert.equal([plan.passages, plan.iterations], [12, 1]);
  assert.equal(
    plan.sources.map(({ name }) => name),
    ["spans", "crops", "titles"],
  );
  assert.match(plan.reason!, /^titles of 100 % of passages, sentence ends in 100 % of long texts/);
  assert.ok(plan.seconds > 0 && plan.memoryBytes > 0 && plan.diskBytes > 0);
  assert.is(plan.samples.length, 15);
  assert.match(plan.samples[0]!, /question .*____/);
  assert.equal(events.at(-1), { type: "plan", plan });
});

test("the reader teaches with answers of a file, and not with masked words", async () => {
  const objective = async (options: Partial<AdaptOptions>) =>
    (await finish(adapt({ model, corpus, out: at("dry"), dryRun: true, ...options }))).plan
      .objective;
  assert.is(await objective({ sources: ["spans"] }), "retrieval");
  assert.is(await objective({ data: files.data }), "likelihood");
  assert.is(await objective({ data: files.data, train: "all" }), "supervised");
  assert.is(await objective({ data: files.data, sources: ["spans"] }), "likelihood");
  const unanswered = writeLines(at("unanswered.jsonl"), [
    { question: "who opened the harbour?", passage_id: "p0" },
    { question: "where do visitors go by train?", passage_id: "p1" },
  ]);
  assert.is(await objective({ data: unanswered }), "retrieval");
});

test("the weights of hybrid search are tuned, stored and shown", async () => {
  const options = { model, corpus, out: at("hybrid"), data: files.data, dev: files.data, ...SMALL };
  const events: AdaptationEvent[] = [];
  const { training, index } = await finish(adapt(options), (event) => events.push(event));
  const { hybrid, bm25, step } = training!.outcome!;
  assert.ok(hybrid!.weights.lambda > 0);
  assert.equal({ k1: 0.9, b: 0.4 }, { k1: hybrid!.weights.k1, b: hybrid!.weights.b });
  const config = JSON.parse(readFileSync(at("hybrid", "config.json"), "utf8"));
  assert.equal(config.retrieval_hybrid, hybrid!.weights);
  const kept = events.find((event) => event.type === "evaluation" && event.step === step);
  assert.ok(kept?.type === "evaluation");
  assert.equal(kept.hybrid, { weights: hybrid!.weights, measures: hybrid!.after });

  const card = readFileSync(at("hybrid", "README.md"), "utf8");
  assert.match(card, "| measure, % | BM25 | before | after | hybrid before | hybrid after |");
  assert.match(card, `| mrr | ${(100 * bm25.mrr!).toFixed(1)} | `);
  assert.match(card, `stores lambda ${hybrid!.weights.lambda}, `);
  for (const page of [card, readFileSync(at("hybrid.run", "report.html"), "utf8")])
    assert.not.match(page, folder); // the folders of this machine
  assert.match(card, "| data | data.jsonl |");
  const published = ["README.md", "config.json", "model.safetensors", "spiece.model"];
  assert.equal(readdirSync(at("hybrid")).sort(), published);
  assert.not.match(readFileSync(at("hybrid.run", "adaptation.json"), "utf8"), folder);
  assert.match(card, "base_model: model\nlicense: mit\nlanguage:\n  - en\n  - de\n---\n");
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  assert.match(card, new RegExp(`\\| made \\| \\d{4}-\\d\\d-\\d\\d by reatt ${version} \\|`));
  assert.match(card, /\| took \| \d+ min before the index, on \d+ x .*, Node \d/);
  const report = readFileSync(at("hybrid.run", "report.html"), "utf8");
  assert.match(report, "hybrid R@1");
  assert.match(report, "Hybrid search: held-out examples");
  const cells = "<td>12</td><td>12</td><td>0</td><td>0</td>"; // all, trained, held out, left out
  assert.match(report, cells);

  await using adapted = await ReAtt.load(at("hybrid"));
  await using opened = await adapted.openIndex(index!);
  const question = "who opened the harbour of Oslo?";
  const [found] = (await adapted.answer(question, opened)).passages;
  const scoreOf = async (hybrid?: boolean): Promise<number> =>
    (await adapted.retrieve(question, opened, { hybrid }))[0]!.score;
  assert.equal([await scoreOf(), await scoreOf(true)], [found!.score, found!.score]);
  assert.is.not(await scoreOf(false), found!.score);
});

test("a run whose retrieval stays below the start ends, and the original model is kept", async () => {
  const options = { model, corpus, out: at("fallen"), data: files.data, dev: files.data };
  const result = await finish(adapt({ ...options, ...SMALL, steps: 20, learningRate: 3 }));
  const { training } = result as AdaptationResult;
  const { outcome, step, finished } = training!;
  assert.ok(outcome!.before.mrr! > 0.5);
  assert.ok(finished && step < 20);
  assert.equal([outcome!.step, outcome!.questions], [0, 12]);
  assert.equal(outcome!.after, outcome!.before);
  for (const name of ["model.safetensors", "config.json", "spiece.model"])
    assert.ok(readFileSync(at("fallen", name)).equals(readFileSync(join(model, name))), name);
  assert.match(
    readFileSync(at("fallen", "README.md"), "utf8"),
    /after step \d+: retrieval fell in 3 measurements in a row; this is the model/,
  );
  assert.ok(existsSync(at("fallen.run", "index")));
  assert.not.ok(existsSync(at("fallen.run", "checkpoint")));
});

test("an interrupted and resumed run has the bits of an uninterrupted one", async () => {
  const options = { model, corpus, data: files.data, dev: files.data, ...SMALL };
  const kept = { ...options, steps: 7, keepCheckpoint: true };
  for (const stop of [3, 4]) {
    const out = at(`stopped-${stop}`);
    const abort = new AbortController();
    await finish(adapt({ ...kept, out, signal: abort.signal }), (event) => {
      if (event.type === "step" && event.step === stop) abort.abort();
    });
    const resumed = await finish(adapt({ out, resume: true }));
    const whole = await finish(adapt({ ...kept, out: at(`whole-${stop}`) }));
    assert.equal(resumed.training!.outcome, whole.training!.outcome);
    const stateOf = (folder: string) =>
      readFileSync(join(runFolder(folder), "checkpoint", "state-000007.safetensors"));
    assert.ok(stateOf(out).equals(stateOf(at(`whole-${stop}`))), `stopped after ${stop}`);
  }
});

test("a time limit ends the run, also one that no step fits into", async () => {
  const out = at("timed");
  const minutes = 0.001;
  const options = { model, corpus, data: files.data, dev: files.data, out, minutes };
  const { training, plan, index, verdict } = await finish(adapt({ ...options, questions: 2 }));
  assert.is(plan.minutes, minutes);
  assert.ok(training!.finished);
  assert.is(training!.step, 0);
  assert.match(verdict!, /^no time was left/);
  assert.ok(existsSync(index!));
});

test("the first steps of a run with a time limit correct the number that was planned", async () => {
  const stop = new AbortController();
  const planned: number[] = [];
  const given = { model, corpus, data: files.data, dev: files.data, out: at("corrected") };
  await finish(
    adapt({ ...given, minutes: 60, questions: 2, steps: 20, signal: stop.signal }),
    (event) => {
      if (event.type !== "step") return;
      planned.push(event.steps);
      if (event.steps > 20) stop.abort();
      assert.ok(event.step < 20, "never corrected");
    },
  );
  assert.equal(planned.slice(0, 6), Array(6).fill(20));
});

test("a time for fewer than 50 steps is planned, with the minutes that would do", async () => {
  const options = { model, corpus, out: at("dry"), dryRun: true, minutes: 1e-9 };
  const { plan } = await finish(adapt(options));
  assert.equal([plan.steps, plan.enough], [1, { steps: 50, minutes: 1 }]);
});

test("nothing of the model runs before the plan", async () => {
  const broken = at("broken");
  cpSync(model, broken, { recursive: true });
  writeFileSync(join(broken, "model.safetensors"), "no weights");
  const { plan } = await finish(adapt({ model: broken, corpus, out: at("dry"), dryRun: true }));
  assert.ok(plan.seconds > 0);
});

test("a finished run is not begun again", async () => {
  const options = { model, corpus, data: files.data, out: at("complete"), ...SMALL };
  const done = await finish(adapt(options));
  const events: AdaptationEvent[] = [];
  const again = await finish(adapt({ out: options.out, resume: true }), (e) => events.push(e));
  assert.equal(JSON.parse(JSON.stringify(again)), JSON.parse(JSON.stringify(done)));
  assert.equal(events, []);
  assert.match(await refusal(options), /a folder without a run, got an adapted model/);
  rmSync(at("complete.run"), { recursive: true });
  assert.match(await refusal(options), /a folder without a model, got config.json/);
  assert.match(await refusal({ ...options, resume: true }), /a folder without a model/);
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
    assert.is(index, at(`${out}.run`, "index"));
    await using kept = await ReAtt.load(at(out));
    await using opened = await kept.openIndex(index!);
    assert.is(opened.passageCount, 12);
    const card = readFileSync(at(out, "README.md"), "utf8");
    assert.match(card, /after step \d: a (loss|weight) of .* step \d; this is the model of step 0/);
    assert.match(readFileSync(at(`${out}.run`, "report.html"), "utf8"), /Stopped after step \d: /);
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
  assert.match(
    await refusal({ weights: { labels: 2 } }),
    /expected spans, crops, titles, got "labels"/,
  );
  assert.match(await refusal({ weights: { spans: 0 } }), /a number above 0/);
  assert.match(await refusal({ out: model }), /a folder without a model, got config.json/);
  await finish(adapt({ model, corpus, out: at("run"), ...SMALL, steps: 1 }));
  assert.match(await refusal({ out: at("run") }), /a folder without a run, got an adapted model/);
  const empty = lines(["a", "b", "c"].map((_id) => ({ _id, text: "" })));
  assert.match(
    await refusal({ corpus: empty }),
    /two passages or more with different texts, got no words in 3 passages/,
  );
  for (const name of ["refused", "refused.run"])
    assert.not.ok(existsSync(at(name)), "nothing is written");
});

test.run();
