/** What `train` holds out of its questions, and that it never publishes less than it was given. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readText } from "../../src/cli/line/option-text.ts";
import { openCorpus } from "../../src/training/examples/corpus.ts";
import { holdOut } from "../../src/training/examples/held-out.ts";
import { TRAIN_OPTIONS, withDefaults } from "../../src/training/options/train-options.ts";
import { questionData, readFiles } from "../../src/training/question-data.ts";
import { readStartingModel } from "../../src/training/run/parameters.ts";
import { resolveRun } from "../../src/training/run/run.ts";
import { train } from "../../src/training/train.ts";
import { refused } from "../checkpoints/support.ts";
import { finish } from "../support/adaptation.ts";
import { temporaryFolder, writeLexicalModel, writeLines } from "../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const at = (name: string): string => join(folder.path, name);
const NAMES = "Bel Cor Dan Fal Gor Hal Kel Lor Mar Nor"
  .split(" ")
  .flatMap((name) => ["burg", "dale", "ford", "ham", "mont", "port"].map((end) => name + end));
const PASSAGES = NAMES.map((title, i) => ({
  ...{ id: `${i}`, title },
  text: `The harbour of ${title} has ${i + 10} ships.`,
}));
const QUESTIONS = NAMES.map((name, i) => ({
  question: name, // equal words match before training
  answers: [`${i + 10}`],
  passage_id: `${i}`,
}));
const model = at("model");
await writeLexicalModel(model);
/** A learning rate that destroys the model. */
const losing = {
  ...{ model, iterations: 1, steps: 4, questions: 4, candidatesPerQuestion: 2 },
  ...{ objective: "retrieval" as const, learningRate: 3 },
  corpus: writeLines(at("corpus.jsonl"), PASSAGES),
  data: writeLines(at("sixty.jsonl"), QUESTIONS),
};

/** The files of a model. */
const filesOf = (path: string): string[] =>
  ["model.safetensors", "config.json", "spiece.model"].map((name) =>
    readFileSync(join(path, name), "base64"),
  );

test("60 questions whose training makes the model worse publish the given model", async () => {
  const out = at("lost");
  const measured: number[] = [];
  const { plan, outcome, verdict } = await finish(train({ ...losing, out }), (event) => {
    if (event.type === "evaluation") measured.push(event.measures.mrr!);
  });
  assert.equal(plan.sources, [{ name: "questions", examples: 45 }]);
  assert.equal(plan.measured, {
    ...{ what: "held-out examples", questions: 15 },
    ...{ passages: 60, answered: 6 },
  });
  assert.equal([outcome!.step, outcome!.kept, outcome!.questions], [0, "start", 15]);
  assert.is(measured.length, 2);
  assert.ok(measured[1]! < measured[0]! - 0.2, measured.join(" "));
  assert.match(verdict!, /^no gain, model unchanged: R@1 \d+ of 15 held-out examples, which chose/);
  assert.match(verdict!, /; 15 questions show MRR to ±\d+\.\d points/);
  assert.equal(filesOf(out), filesOf(model));
  const card = readFileSync(join(out, "README.md"), "utf8");
  assert.match(card, "| trained on | sixty.jsonl, 45 of 60 questions |");
});

test("a stop changes nothing, and another held-out question is refused by its file", async () => {
  const parts = { ...losing, out: at("parts"), resume: true };
  const stop = new AbortController();
  await finish(train({ ...parts, signal: stop.signal }), (event) => {
    if (event.type === "step" && event.step === 2) stop.abort();
  });
  await finish(train(parts));
  assert.equal(metricsOf(parts.out), metricsOf(at("lost")));
  const held = await heldOut();
  assert.is(held.size, 15);
  const others = QUESTIONS.map((one, i) =>
    held.has(`${i}`) ? { ...one, answers: ["none"] } : one,
  );
  await refused(
    finish(train({ ...parts, data: writeLines(at("other.jsonl"), others) })),
    /other\.jsonl, questions: expected the training data that the run began with, got another/,
  );
});

/** The passages of the questions that the rule of `adapt` holds out. */
async function heldOut(): Promise<ReadonlySet<string>> {
  const examples = QUESTIONS.map(({ passage_id: id, ...one }) => ({ id, ...one, relevant: [id] }));
  const passages = {
    size: PASSAGES.length,
    async *passages(accept: (id: string) => boolean = () => true) {
      yield* PASSAGES.filter(({ id }) => accept(id));
    },
  };
  const options = { seed: 0, max: () => 600 };
  const splits = await holdOut(new Map([["questions", examples]]), passages, options);
  return new Set(splits.get("questions")!.heldOut.map(({ id }) => id));
}

/** Without times. */
const metricsOf = (out: string): object[] =>
  readFileSync(join(`${out}.run`, "metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => ({ ...JSON.parse(line), seconds: 0, questionsPerSecond: 0 }));

test("a run whose retrieval falls ends early, with the given model", async () => {
  const out = at("fallen");
  const falling = { ...losing, out, steps: 30, monitorSteps: 1 };
  const { step, finished, failure, outcome, verdict } = await finish(train(falling));
  assert.equal([finished, outcome!.step], [true, 0]);
  assert.ok(step < 30, `${step}`);
  assert.is(failure, "retrieval fell in 3 measurements in a row");
  assert.match(verdict!, /^no gain, model unchanged/);
  assert.equal(filesOf(out), filesOf(model));
});

test("with all questions trained on, nothing is measured, and the last model is kept", async () => {
  const out = at("whole");
  const { plan, outcome, verdict, saved } = await finish(train({ ...losing, out, holdOut: false }));
  assert.equal(plan.sources, [{ name: "questions", examples: 60 }]);
  assert.equal([plan.measured, outcome, saved], [undefined, undefined, 4]);
  assert.is(plan.unmeasured, "no questions are held out");
  assert.match(verdict!, /^no verdict: no questions are held out, so the last model is kept/);
  assert.not.equal(filesOf(out), filesOf(model));
});

test("too few questions, and a model without weights, say why nothing is measured", async () => {
  const dry = { ...losing, out: at("dry"), dryRun: true };
  const three = writeLines(at("three.jsonl"), QUESTIONS.slice(0, 3));
  const few = await finish(train({ ...dry, data: three }));
  assert.is(few.plan.unmeasured, "3 questions are too few to hold some out");
  mkdirSync(at("random"));
  for (const name of ["config.json", "spiece.model"])
    writeFileSync(join(at("random"), name), readFileSync(join(model, name)));
  const random = await finish(train({ ...dry, model: at("random") }));
  assert.is(random.plan.unmeasured, "training begins with random weights");
  assert.equal(random.plan.sources, [{ name: "questions", examples: 60 }]);
});

test("several files give questions by their weights, else by their numbers", async () => {
  await using corpus = await openCorpus(losing.corpus);
  /** How many of twelve questions are of the second file, which has every third question. */
  const ofSecond = async (out: string, weights: readonly (number | undefined)[]) => {
    const parts = [QUESTIONS.filter((_, i) => i % 3 > 0), QUESTIONS.filter((_, i) => i % 3 === 0)];
    const data = parts.map((questions, i) => ({
      file: writeLines(at(`${out}-${i}.jsonl`), questions),
      weight: weights[i],
    }));
    const given = { ...losing, ...{ out: at(out), data, holdOut: false, steps: 3 } };
    mkdirSync(at(`${out}.run`));
    const start = await readStartingModel(model);
    const options = withDefaults(given);
    const questions = await readFiles(options, start, corpus, () => {});
    const run = resolveRun(options, start, corpus);
    const drawing = (await finish(questionData(run, corpus, questions))).examples(0, undefined);
    const { size, example } = await finish(drawing);
    assert.is(size, 12);
    const names = new Set(parts[1]!.map(({ question }) => question));
    const drawn = Array.from({ length: size }, (_, i) => example(i, 0).question);
    assert.is(new Set(drawn).size, 12, "none twice");
    return drawn.filter((question) => names.has(question)).length;
  };
  assert.is(await ofSecond("union", []), 4);
  assert.is(await ofSecond("weighed", [1, 3]), 9);
  assert.is(await ofSecond("partly", [undefined, 8]), 2); // 40 to 8
});

test("a run on two files goes on by its folder, and an error names the file that changed", async () => {
  const [a, b] = [0, 1].map((part) =>
    writeLines(
      at(`part-${part}.jsonl`),
      QUESTIONS.filter((_, i) => i % 2 === part),
    ),
  ) as [string, string];
  const out = at("two");
  const short = { ...losing, holdOut: false, steps: 2, out, data: [a, { file: b, weight: 10 }] };
  const stop = new AbortController();
  const { plan } = await finish(train({ ...short, signal: stop.signal }), (event) => {
    if (event.type === "step") stop.abort();
  });
  assert.equal(plan.sources, [
    { name: "questions-1 of part-0.jsonl", examples: 30 },
    { name: "questions-2 of part-1.jsonl", examples: 30 },
  ]);
  const record = JSON.parse(readFileSync(join(`${out}.run`, "training.json"), "utf8"));
  assert.equal(record.options.data, ["../part-0.jsonl", { file: "../part-1.jsonl", weight: 10 }]);
  const before = readFileSync(b);
  writeLines(b, QUESTIONS.slice(0, 20));
  await refused(
    finish(train({ out, resume: true })),
    /part-1\.jsonl, questions-2: expected the training data that the run began with, got another/,
  );
  writeFileSync(b, before);
  assert.is((await finish(train({ out, resume: true }))).step, 2);
  const card = readFileSync(join(out, "README.md"), "utf8");
  assert.match(
    card,
    "| part-0.jsonl, 30 questions with weight 30; part-1.jsonl, 30 questions with",
  );
  assert.match(card, "| data | part-0.jsonl, part-1.jsonl |");
});

test("on the command line a weight follows the file, whose name can have one, too", () => {
  const { data } = TRAIN_OPTIONS;
  assert.equal(readText(data, "data", "a.jsonl"), ["a.jsonl"]);
  assert.equal(readText(data, "data", "a=b.jsonl=0.5"), [{ file: "a=b.jsonl", weight: 0.5 }]);
  const named = writeLines(at("c=2"), QUESTIONS);
  assert.equal(readText(data, "data", named), [named]);
  assert.throws(
    () => readText(data, "data", "a.jsonl=0"),
    /--data: expected a number above 0, got/,
  );
  assert.throws(
    () => withDefaults({ ...losing, data: [], out: at("no") }),
    /data: expected a path/,
  );
});

test.run();
