/** Training of phrase queries on a tiny corpus, in the library and on the command line. */

import { mkdirSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readConfig } from "../../../src/model/config-file.ts";
import { convertModel } from "../../../src/model/convert.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { trainPhrases } from "../../../src/training/phrases/train-phrases.ts";
import { runCaptured } from "../../cli/support.ts";
import { rejects } from "../../retrieval/support.ts";
import { calibrationOf } from "../../support/calibration.ts";
import { runOf, temporaryFolder, writeLines, writeTinyModel } from "../../support/training.ts";

const folder = temporaryFolder();
test.after(async () => folder[Symbol.asyncDispose]());
const at = (name: string): string => join(folder.path, name);
const MODEL = at("model");
mkdirSync(MODEL);
const CALIBRATION = calibrationOf(1, { likelihood: 1 });
await writeTinyModel(MODEL, { modelSize: 32, headSize: 16, calibration: CALIBRATION });
const towns = "London Paris Berlin Rome Boston Dallas Chicago Toronto Houston Atlanta".split(" ");
const PASSAGES = towns.map((title, i) => ({
  id: `${i}`,
  title,
  text: `The town of ${title} has the number ${2 * i + 10} since ${1900 + 7 * i}.`,
}));
const QUESTIONS = PASSAGES.map(({ id, title }, i) => ({
  ...{ id, question: `What is the number of ${title}?`, passage_id: id },
  answers: [`${2 * i + 10}`],
}));
const data = writeLines(at("train.jsonl"), QUESTIONS);
const index = at("index");
{
  await using model = await ReAtt.load(MODEL);
  await using _ = await model.index(PASSAGES, { directory: index });
}
const FILES = { model: MODEL, index, data };

/** Runs to the end. */
async function stepsOf(options: Parameters<typeof trainPhrases>[0]) {
  const steps = [];
  const run = trainPhrases({ threads: 1, ...options });
  for (;;) {
    const { done, value } = await run.next();
    if (done) return { steps, result: value };
    if (value.type !== "step") continue;
    const { step, steps: all, learningRate, losses } = value;
    assert.is(losses.terms.phrases, losses.loss);
    assert.ok(losses.gradientNorm > 0);
    steps.push({ step, steps: all, learningRate, loss: losses.loss, found: losses.terms.found });
  }
}

async function rightAnswers(folder: string): Promise<number> {
  await using model = await ReAtt.load(folder);
  await using opened = await model.openIndex(index);
  const texts = QUESTIONS.map(({ question }) => question);
  const found = await model.phrases(texts, opened, { topK: 1 });
  return found.filter(([best], i) => best!.answer === QUESTIONS[i]!.answers[0]).length;
}

test("training learns to find the phrase; the rest of the model stays as it is", async () => {
  const out = at("trained");
  const settings = { steps: 150, searchSteps: 5, questions: 10, learningRate: 0.02, phrases: 20 };
  const { steps, result } = await stepsOf({ ...FILES, out, ...settings });
  assert.equal(result, { folder: out, questions: 10, examples: 10 });
  assert.equal([steps.length, steps.at(-1)!.step, steps.at(-1)!.steps], [155, 155, 155]);
  assert.is(steps[149]!.found, undefined);
  assert.ok(steps[149]!.loss < 0.1 * steps[0]!.loss, `${steps[149]!.loss}`);
  assert.is(steps[154]!.found, 1);
  assert.is(await rightAnswers(out), 10);
  const [before, after] = [await ReAtt.load(MODEL), await ReAtt.load(out)];
  assert.is(after.fingerprint, before.fingerprint);
  assert.equal(after.config, { ...before.config, phraseQueries: true });
  await Promise.all([before.close(), after.close()]);

  const { steps: further } = await stepsOf({
    ...{ ...FILES, model: out, out: at("further"), steps: 0, searchSteps: 2, questions: 5 },
    ...{ learningRate: 1e-6 },
  });
  assert.equal(
    further.map(({ found }) => found),
    [1, 1],
  );
  assert.ok(further[0]!.loss < steps[150]!.loss + 1e-3); // it begins where the first run ended
});

test("a folder with files of others is refused before the training", async () => {
  const out = at("mine");
  mkdirSync(out);
  writeLines(join(out, "README.md"), [{}]);
  const refused = /mine: expected a new or empty folder, got one with README\.md/;
  await rejects(stepsOf({ ...FILES, data: at("none.jsonl"), out, steps: 1 }), refused);
});

test("search steps alone learn from answers without passages", async () => {
  const out = at("by-search");
  const untitled = QUESTIONS.map(({ passage_id: _, ...question }) => question);
  const { steps, result } = await stepsOf({
    ...{ ...FILES, data: writeLines(at("untitled.jsonl"), untitled), out },
    ...{ steps: 0, searchSteps: 60, questions: 10, learningRate: 0.02, phrases: 1000 },
  });
  assert.equal([result.questions, result.examples], [10, 0]);
  assert.ok(steps[59]!.loss < 0.3 * steps[0]!.loss, `${steps[0]!.loss} ${steps[59]!.loss}`);
});

test("search steps learn from the passage alone: any phrase of it is right", async () => {
  const out = at("by-passage");
  const unspoken = QUESTIONS.map((question) => ({ ...question, answers: ["in no passage"] }));
  const data = writeLines(at("unspoken.jsonl"), unspoken);
  const settings = { steps: 0, searchSteps: 60, questions: 10, learningRate: 0.02, phrases: 1000 };
  const { steps } = await stepsOf({ ...FILES, data, out, ...settings, searchTarget: "passage" });
  assert.is(steps[0]!.found, 1); // 1,000 phrases are of all passages
  assert.ok(steps[59]!.loss < 0.3 * steps[0]!.loss, `${steps[0]!.loss} ${steps[59]!.loss}`);
  const trained = await ReAtt.load(out);
  await using opened = await trained.openIndex(FILES.index, { preset: "exact" });
  const asked = QUESTIONS.map(({ question }) => question);
  const found = await trained.phrases(asked, opened, { topK: 1 });
  const right = found.filter(([best], i) => best!.id === QUESTIONS[i]!.passage_id);
  assert.ok(right.length >= 9, `${right.length}`);
  await trained.close();
});

test("a model in int8 trains with its own index, and keeps its integers", async () => {
  const model = at("int8");
  await convertModel(MODEL, { out: model, precision: "int8" });
  const before = await ReAtt.load(model);
  await using _ = await before.index(PASSAGES, { directory: at("int8-index") });
  const out = at("int8-trained");
  await stepsOf({
    ...{ ...FILES, model, index: at("int8-index"), out },
    ...{ steps: 2, searchSteps: 2, questions: 5, learningRate: 0.02, phrases: 20 },
  });
  const after = await ReAtt.load(out);
  assert.is(after.fingerprint, before.fingerprint);
  const asked = QUESTIONS.map(({ question }) => question);
  assert.equal(await after.encodeQuestions(asked), await before.encodeQuestions(asked));
  await Promise.all([before.close(), after.close()]);
});

test("two runs with one seed are equal", async () => {
  const settings = { steps: 3, searchSteps: 1, questions: 4, seed: 7 };
  const runs = [];
  for (const name of ["one", "two"])
    runs.push((await stepsOf({ ...FILES, out: at(name), ...settings })).steps);
  assert.equal(runs[0], runs[1]);
});

const WRONG: Readonly<Record<string, [args: readonly string[], message: RegExp]>> = {
  "an index of another model": [
    ["--model", "models/reatt-mini"],
    /index: expected an index of the model [0-9a-f]+, got one of the model/,
  ],
  "a folder with a model": [
    ["--out", MODEL],
    /model: expected a folder without a model, got config\.json; name another folder/,
  ],
  "questions about other passages": [
    ["--data", writeLines(at("other.jsonl"), [{ question: "Who?", answers: ["x"] }])],
    /other\.jsonl: expected questions with a "passage_id" of .*index, whose text contains the answer, got none; index the corpus/,
  ],
};

for (const [name, [args, message]] of Object.entries(WRONG))
  test(`the command names the problem: ${name}`, async () => {
    const given = Object.entries({ model: MODEL, index, data, out: at("never") }).flatMap(
      ([option, value]) => (args.includes(`--${option}`) ? [] : [`--${option}`, value]),
    );
    const { code, stderr } = await runCaptured(["train", "phrases", ...given, ...args]);
    assert.is(code, 1);
    assert.match(stderr, message);
  });

test("a training run on the model leaves out its phrase queries", async () => {
  const copy = at("copy");
  await cp(at("one"), copy, { recursive: true });
  const config = await readConfig(copy);
  assert.is(config.phraseQueries, true);
  const run = runOf({ model: copy, corpus: "c", data: "d", out: "o" }, config);
  assert.is(run.config.phraseQueries, undefined);
});

test("the commands train phrase queries and answer with phrases", async () => {
  const out = at("command");
  const run = await runCaptured([
    ...["train", "phrases", "--model", MODEL, "--index", index, "--data", data, "--out", out],
    ...["--steps", "150", "--search-steps", "0", "--learning-rate", "0.02", "--threads", "1"],
  ]);
  assert.is(run.code, 0, run.stderr);
  assert.match(run.stdout, /^Trained on 10 questions, 10 with their passage: .*command\n$/);
  const ask = ["answer", "--model", out, "--index", index, "--reader", "none", "--top-k", "3"];
  const { stdout } = await runCaptured([...ask, "--queries", data, "--json"]);
  const replies = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.is(replies.length, 10);
  for (const [i, { id, answer, passages }] of replies.entries()) {
    assert.equal([id, answer], [`${i}`, QUESTIONS[i]!.answers[0]]);
    assert.is(new Set(passages.map((passage: { id: string }) => passage.id)).size, 3);
    const [{ text, span }] = passages;
    assert.is(text.slice(span.start, span.end), answer);
  }
  const one = await runCaptured([...ask, "--question", "What is the number of Paris?"]);
  assert.match(one.stdout, /^What is the number of Paris\?\n\[12\]\n +1\. .*Paris \(1\)\n/);
  const hybrid = [
    "--question",
    "What is the number of Paris?",
    "--hybrid",
    "--lambda",
    "0",
    "--json",
  ];
  const byWords = JSON.parse((await runCaptured([...ask, ...hybrid])).stdout);
  assert.is(byWords.passages[0].title, "Paris");
  assert.is(byWords.answer, byWords.passages[0].answer);
  const wrong = await runCaptured([...ask, "--question", "Who?", "--max-answer-tokens", "2"]);
  assert.is(wrong.code, 2);
  assert.match(wrong.stderr, /--max-answer-tokens with --reader none/);
  const explained = await runCaptured([...ask, "--question", "Who?", "--explain"]);
  assert.match(explained.stderr, /--explain with --reader none/);
  const without = [...ask.slice(0, 2), MODEL, ...ask.slice(3), "--question", "Who?"];
  const { code, stderr } = await runCaptured(without);
  assert.is(code, 1);
  assert.match(stderr, /expected a model with phrase queries, got one without; train them: reatt/);
});

test.run();
