/** Mistakes in the arguments of evaluation and calibration: each is an `InputError` of one line. */

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  calibrationReport,
  crossValidatedConfidence,
  evaluateAnswers,
  evaluateRun,
  exactMatch,
  f1,
  fitCalibration,
  readPredictions,
  readQrels,
  readRun,
  storeCalibration,
} from "../../src/evaluation/index.ts";
import { calibratedConfidence, InputError } from "../../src/index.ts";
import { calibrationOf } from "../support/calibration.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-arguments-"));
test.after(() => rmSync(folder, { recursive: true }));

// biome-ignore lint/suspicious/noExplicitAny: the tests give wrong types on purpose
const any = (value: unknown): any => value;

async function mistake(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    assert.instance(error, InputError, String((error as Error)?.stack));
    const { message } = error as InputError;
    assert.match(message, /^[^\n]+: expected [^\n]+, got [^\n]+; [^\n]+$/);
    return message;
  }
  throw new Error("the call did not fail");
}

const WRONG = [undefined, null, 5, Number.NaN, "x", {}, [5], [null], [[]], Symbol("s")];

test("exactMatch and f1", async () => {
  for (const measure of [exactMatch, f1]) {
    for (const value of WRONG) {
      if (value !== "x") await mistake(() => measure(any(value), ["a"]));
      await mistake(() => measure("a", any(value)));
    }
    assert.is(
      await mistake(() => measure(any(undefined), ["a"])),
      "answer: expected text, got nothing; write it as text",
    );
    assert.is(
      await mistake(() => measure("a", any("a"))),
      "accepted: expected a list of accepted answers, got 'a'; give an array of texts",
    );
    assert.match(await mistake(() => measure("a", ["b", any(7)])), /^accepted\[1\]: expected text/);
    assert.is(Number(measure("a", [])), 0);
  }
});

test("evaluateAnswers", async () => {
  const prediction = { answer: "a", passages: ["a b"] };
  const predictions = new Map([["1", prediction]]);
  const questions = [{ id: "1", question: "?", answers: ["a"] }];
  for (const value of WRONG) {
    await mistake(() => evaluateAnswers(any(value), questions));
    await mistake(() => evaluateAnswers(any(new Map([["1", value]])), questions));
    await mistake(() => evaluateAnswers(any(new Map([[value, prediction]])), questions)).catch(
      (error) => assert.is(value, "x", error),
    );
    await mistake(() => evaluateAnswers(predictions, any(value)));
    if (value !== undefined)
      await mistake(() => evaluateAnswers(predictions, questions, any(value))).catch((error) =>
        assert.equal(value, [5], error),
      );
  }
  const cases: readonly [() => unknown, RegExp][] = [
    [
      () => evaluateAnswers(any({ 1: prediction }), questions),
      /^predictions: expected a Map of id -> \{ answer, passages \}, got \{ '1'.*readPredictions/,
    ],
    [
      () => evaluateAnswers(any(new Map([["1", { answer: 5, passages: [] }]])), questions),
      /^predictions\.get\('1'\)\.answer: expected text, got 5; /,
    ],
    [
      () => evaluateAnswers(any(new Map([["1", { answer: "a", passages: "a" }]])), questions),
      /^predictions\.get\('1'\)\.passages: expected a list of texts, got 'a'; /,
    ],
    [
      () => evaluateAnswers(predictions, any([{ id: 1 }])),
      /^questions\[0\]\.id: expected text, got 1; /,
    ],
    [
      () => evaluateAnswers(predictions, any([{ id: "1", answers: "a" }])),
      /^questions\[0\]\.answers: expected a list of accepted answers, got 'a'; /,
    ],
    [
      () => evaluateAnswers(predictions, questions, [0]),
      /^cutoffs\[0\]: expected a whole number from 1 on, got 0; /,
    ],
  ];
  for (const [call, message] of cases) assert.match(await mistake(call), message);
});

test("evaluateRun", async () => {
  const run = new Map([["q", [{ id: "a", score: 1 }]]]);
  const qrels = new Map([["q", new Map([["a", 1]])]]);
  for (const value of WRONG) {
    await mistake(() => evaluateRun(any(value), qrels));
    await mistake(() => evaluateRun(any(new Map([["q", value]])), qrels));
    await mistake(() => evaluateRun(run, any(value)));
    await mistake(() => evaluateRun(run, any(new Map([["q", value]]))));
  }
  const cases: readonly [() => unknown, RegExp][] = [
    [
      () => evaluateRun(any({ q: [] }), qrels),
      /^run: expected a Map of query -> list of \{ id, score \}, got \{ q: \[\] \}; .*readRun/,
    ],
    [
      () => evaluateRun(any(new Map([["q", [{ id: "a" }]]])), qrels),
      /^run\.get\('q'\)\[0\]\.score: expected a number, got nothing; /,
    ],
    [
      () => evaluateRun(run, any(new Map([["q", { a: 1 }]]))),
      /^qrels\.get\('q'\): expected a Map of passage -> label, got \{ a: 1 \}; .*readQrels/,
    ],
    [
      () => evaluateRun(run, any(new Map([["q", new Map([["a", "1"]])]]))),
      /^qrels\.get\('q'\)\.get\('a'\): expected a number, got '1'; /,
    ],
    [() => evaluateRun(run, qrels, any(10)), /^cutoffs: expected a list of ranks, got 10; /],
  ];
  for (const [call, message] of cases) assert.match(await mistake(call), message);
});

const signals = { likelihood: -1, margin: 0.5, attention: 0.3, length: 1, quoted: 1 };
const calibration = calibrationOf(-2, signals);
const outcomes = Array.from({ length: 40 }, (_, i) => ({ signals, correct: i % 2 === 0 }));

test("calibration", async () => {
  for (const value of WRONG) {
    await mistake(() => calibrationReport(any(value)));
    await mistake(() => fitCalibration(any(value)));
    await mistake(() => fitCalibration([...outcomes, any(value)]));
    await mistake(() => crossValidatedConfidence(any(value), []));
    await mistake(() => crossValidatedConfidence(outcomes, any(value)));
    await mistake(() => calibratedConfidence(any(value), signals));
    await mistake(() => calibratedConfidence(calibration, any(value)));
  }
  const cases: readonly [() => unknown, RegExp][] = [
    [
      () => calibrationReport([{ confidence: 80, correct: true }]),
      /^answers\[0\]\.confidence: expected a number from 0 to 1, got 80; /,
    ],
    [
      () => calibrationReport([{ confidence: 0.8, correct: any(1) }]),
      /^answers\[0\]\.correct: expected true or false, got 1; /,
    ],
    [
      () => fitCalibration([...outcomes, { signals: any({ likelihood: 1 }), correct: true }]),
      /^outcomes\[40\]\.signals\.margin: expected a number, got nothing; take them from replies/,
    ],
    [
      () => crossValidatedConfidence(outcomes, ["a"]),
      /^groups: expected a list of 40 texts, got 1; /,
    ],
    [
      () => calibratedConfidence(any({ signals: calibration.signals }), signals),
      /^calibration\.intercept: expected a number, got nothing; .*fitCalibration/,
    ],
    [
      () => calibratedConfidence({ ...calibration, threshold: 80 }, signals),
      /^calibration\.threshold: expected a number from 0 to 1, got 80; /,
    ],
  ];
  for (const [call, message] of cases) assert.match(await mistake(call), message);
  assert.is(calibrationReport([]).answers, 0);
});

test("storeCalibration writes nothing then", async () => {
  const out = join(folder, "calibrated");
  for (const value of WRONG) {
    await mistake(() => storeCalibration("models/reatt-mini", any(value), out));
    if (value === "x") continue;
    await mistake(() => storeCalibration(any(value), { calibration }, out));
    if (value !== undefined)
      await mistake(() => storeCalibration("models/reatt-mini", { calibration }, any(value)));
  }
  assert.equal(readdirSync(folder), []);
});

test("files that are no paths", async () => {
  for (const read of [readQrels, readRun, readPredictions])
    for (const value of [undefined, null, 5, {}, [], "", "a\0b"])
      assert.match(await mistake(() => read(any(value))), /^file: expected a path /);
});

test.run();
