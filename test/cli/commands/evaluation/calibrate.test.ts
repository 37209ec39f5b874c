/** `reatt evaluate calibrate` with the embedded model. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../../../src/reatt.ts";
import { temporary } from "../../../retrieval/support.ts";
import { runCaptured } from "../../support.ts";

const MODEL = "models/reatt-mini";
const folder = await temporary();
test.after(async () => {
  await folder[Symbol.asyncDispose]();
});
const at = (...names: string[]) => join(folder.path, ...names);

const jsonLines = (name: string, values: readonly object[]): string => {
  writeFileSync(at(name), values.map((value) => `${JSON.stringify(value)}\n`).join(""));
  return at(name);
};

const CITIES = ["Paris", "Rome", "Lima", "Oslo", "Cairo", "Delhi", "Quito", "Accra", "Hanoi"];
const passages = CITIES.map((city, i) => ({
  ...{ id: city, title: city },
  text: `${city} has ${i + 3} bridges over its river, and the mayor is Ada ${city.slice(1)}son.`,
}));
const asked = CITIES.flatMap((city) => [
  { id: `${city} bridges`, question: `How many bridges has ${city}?`, passage_id: city },
  { id: `${city} mayor`, question: `Who is the mayor of ${city}?`, passage_id: city },
  { id: `${city} river`, question: `What does ${city} have over its river?`, passage_id: city },
]);

const model = await ReAtt.load(MODEL);
const index = await model.index(passages, { directory: at("index") });
/** Every other answer of the model is right. */
const questions: object[] = [];
for await (const { answer } of model.answer(
  asked.map(({ question }) => question),
  index,
  {
    readTopK: 2,
  },
)) {
  const number = questions.length;
  questions.push({ ...asked[number], answers: [number % 2 === 0 ? answer : "none of these"] });
}
await index[Symbol.asyncDispose]();
await model.close();
const data = jsonLines("data.jsonl", questions);

const calibrate = (...args: string[]) =>
  runCaptured([
    ...["evaluate", "calibrate", "--model", MODEL, "--index", at("index")],
    ...["--data", data, "--read-top-k", "2", ...args],
  ]);

test("the calibrated model is a copy with other confidences", async () => {
  const options = ["--out", at("out"), "--threshold", "0.2", "--json"];
  const { code, stdout, stderr } = await calibrate(...options);
  assert.is(code, 0, stderr);
  assert.match(stderr, /27\/27 questions/);
  const { calibration, now, crossValidated } = JSON.parse(stdout);
  assert.equal([now.answers, now.accuracy], [27, 14 / 27]);
  assert.is(crossValidated.accuracy, 14 / 27);
  assert.is(calibration.threshold, 0.2);
  const config = JSON.parse(readFileSync(at("out", "config.json"), "utf8"));
  assert.equal(config.calibration, calibration);
  assert.equal(readdirSync(at("out")).sort(), readdirSync(MODEL).sort());
  const [copy, original] = [at("out"), MODEL].map((of) => readFileSync(`${of}/model.safetensors`));
  assert.ok(copy!.equals(original!));

  // A second calibration begins with the confidences of the first
  const again = await runCaptured([
    ...["evaluate", "calibrate", "--model", at("out"), "--index", at("index"), "--json"],
    ...["--data", data, "--read-top-k", "2"],
  ]);
  const second = JSON.parse(again.stdout);
  assert.ok(Math.abs(second.now.meanConfidence - 14 / 27) < 1e-6); // as the intercept is free
  assert.equal(second.calibration.signals, calibration.signals);

  const taken = await calibrate("--out", at("out"));
  assert.is(taken.code, 1);
  assert.match(taken.stderr, /expected a folder without a model, got config\.json/);
});

test("without --out it prints a table only", async () => {
  const { code, stdout } = await calibrate();
  assert.is(code, 0);
  assert.match(stdout, /^27 answers, 51\.9 % right\n +now +calibrated \(10-fold\)\n/);
  assert.match(stdout, /\nECE, 15 equal widths, points +\d+\.\d +\d+\.\d\n/);
  assert.match(stdout, /\n0\.05 +\d+\.\d +\d+\.\d +\d+\.\d +-\n/);
  assert.match(stdout, /\nsignal +weight +curvature +mean +deviation\nlikelihood +-?\d\.\d\d /);
  assert.match(stdout, /\nintercept -?\d+\.\d\d; a weight is the change of the log odds/);
});

test("with questions that the documents do not answer, a threshold is stored", async () => {
  const none = asked.slice(0, 12).map(({ id, question }) => ({
    ...{ id: `none ${id}`, question: `${question.replace("has", "had in 1750,")} and why?` },
    answers: [],
  }));
  const mixed = jsonLines("mixed.jsonl", [...questions, ...none]);
  const { code, stdout, stderr } = await runCaptured([
    ...["evaluate", "calibrate", "--model", MODEL, "--index", at("index"), "--data", mixed],
    ...["--read-top-k", "2", "--json"],
  ]);
  assert.is(code, 0, stderr);
  const { calibration, now, unanswerable } = JSON.parse(stdout);
  assert.equal([now.answers, unanswerable], [39, 12]);
  assert.ok(calibration.threshold >= 0 && calibration.threshold < 1);
});

test("an interrupted calibration continues and gives the same weights", async () => {
  const whole = await calibrate("--json");
  const stop = new AbortController();
  const record = at("stopped", "calibration-answers.jsonl");
  const timer = setInterval(() => {
    try {
      if (readFileSync(record, "utf8").split("\n").length > 10) stop.abort(new Error("stopped"));
    } catch {} // not there yet
  }, 5);
  const args = ["evaluate", "calibrate", "--model", MODEL, "--index", at("index"), "--data", data];
  const options = ["--read-top-k", "2", "--out", at("stopped"), "--json"];
  await runCaptured([...args, ...options], { signal: stop.signal });
  clearInterval(timer);
  const lines = readFileSync(record, "utf8").split("\n");
  writeFileSync(record, `${lines.slice(0, 8).join("\n")}\n{"answer": "hal`);
  const { stdout, stderr } = await runCaptured([...args, ...options]);
  assert.match(stderr, /27\/27 questions/);
  const [found, expected] = [stdout, whole.stdout].map((text) => JSON.parse(text).calibration);
  // Another batch rounds the float32 sums of the model in another way
  for (const [name, { weight }] of Object.entries<{ weight: number }>(expected.signals))
    assert.ok(Math.abs(found.signals[name].weight - weight) < 1e-3, name);
  assert.not.ok(readdirSync(at("stopped")).includes("calibration-answers.jsonl"));
});

test("bad input is one line", async () => {
  const without = jsonLines("without.jsonl", [{ id: "1", question: "Who?" }]);
  const few = jsonLines("few.jsonl", questions.slice(0, 4));
  const strange = questions.slice(0, 12).map((record) => ({ ...record, answers: ["zzz"] }));
  const foreign = jsonLines("foreign.jsonl", strange);
  const deep = at("deep.jsonl");
  writeFileSync(deep, `{"id":"1","question":"?","answers":${"[".repeat(1e5)}${"]".repeat(1e5)}}`);
  const empty = at("empty.jsonl");
  writeFileSync(empty, "");
  const cases = [
    [foreign, /got 0 right, 12 wrong; check that the index has the documents of these questions$/m],
    [deep, /deep\.jsonl:1: expected JSON with at most 100 levels of nesting/],
    [empty, /empty\.jsonl: expected at least one question, got none/],
    [at("missing.jsonl"), /missing\.jsonl: expected a JSON Lines file, got ENOENT/],
    [without, /"answers" of every question, got none of question "1"/],
    [few, /expected at least 10 right and 10 wrong ones, got [0-4] right, [0-4] wrong/],
  ] as const;
  for (const [file, message] of cases) {
    const { code, stderr } = await runCaptured([
      ...["evaluate", "calibrate", "--model", MODEL, "--index", at("index"), "--data", file],
    ]);
    assert.is(code, 1);
    assert.match(stderr, message);
  }
});

test.run();
