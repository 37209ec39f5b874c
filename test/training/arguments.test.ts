/** Mistakes in the arguments of `lossAndGradients`: an `InputError` of one line. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../src/io/errors.ts";
import { lossAndGradients } from "../../src/training/index.ts";

const MODEL = "models/reatt-mini"; // 4 heads
const PARIS = { id: "1", title: "Paris", text: "Paris is the capital of France." };
const BATCH = { questions: ["Which capital?"], answers: ["Paris"], passages: [[PARIS]] };

// biome-ignore lint/suspicious/noExplicitAny: the tests give wrong types on purpose
const any = (value: unknown): any => value;

async function mistake(call: () => Promise<unknown>): Promise<string> {
  const error = await call().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.instance(error, InputError, `${(error as Error)?.stack ?? "no error"}`);
  assert.match((error as Error).message, /^[^\n]+: expected [^\n]+, got [^\n]+; [^\n]+$/);
  return (error as Error).message;
}

const WRONG = [undefined, null, Number.NaN, -1, 1e300, "", "text", {}, [[]], [null], Symbol("s")];

test("lossAndGradients: wrong models, batches and options", async () => {
  for (const value of WRONG) {
    await mistake(() => lossAndGradients(any(value), BATCH));
    await mistake(() => lossAndGradients(MODEL, any(value)));
    for (const name of ["questions", "answers", "passages"] as const)
      await mistake(() => lossAndGradients(MODEL, { ...BATCH, [name]: any(value) }));
    if (JSON.stringify(value) !== "{}" && value !== undefined)
      await mistake(() => lossAndGradients(MODEL, BATCH, any(value)));
  }
  const batches: readonly [object, RegExp][] = [
    [{ ...BATCH, questions: [] }, /^questions: expected one or more, got none/],
    [{ ...BATCH, questions: [""] }, /^questions\[0\]: expected a question, got no text/],
    [{ ...BATCH, answers: [] }, /^answers: expected a list of 1 texts, got 0/],
    [{ ...BATCH, answers: [3] }, /^answers\[0\]: expected text, got 3/],
    [{ ...BATCH, passages: [] }, /^passages: expected one list for each of 1 questions, got 0/],
    [{ ...BATCH, passages: [[]] }, /^passages\[0\]: expected one or more, got none/],
    [{ ...BATCH, passages: [["x"]] }, /^passages\[0\]\[0\]: expected an object with id, title/],
    [{ ...BATCH, answer: ["Paris"] }, /^batch: expected .* got "answer"; did you mean "answers"/],
  ];
  for (const [batch, message] of batches)
    assert.match(await mistake(() => lossAndGradients(MODEL, any(batch))), message);
  const options: readonly [object, RegExp][] = [
    [{ alpha: -1 }, /^alpha: expected a number from 0 on, got -1/],
    [{ alpha: "8" }, /^alpha: expected a number/],
    [{ tau: 0.1 }, /^tau: expected headWeights, got none/],
    [{ tau: 0, headWeights: [1] }, /^tau: expected a number above 0/],
    [{ headWeights: [1] }, /^headWeights: expected \d+ numbers, got \[ 1 \]/],
    [{ headWeights: [Number.NaN] }, /^headWeights\.0: expected a number, got NaN/],
    [{ logScale: Infinity }, /^logScale: expected a number/],
    [{ maxPassageTokens: 1 }, /^maxPassageTokens: expected a whole number from 2 on/],
    [{ copies: "twice" }, /^copies: expected once, each, got 'twice'/],
    [{ dropout: 1 }, /^dropout: expected a number from 0 to below 1/],
    [{ chunkQuestions: 0 }, /^chunkQuestions: expected a whole number from 1 on/],
    [{ chunk: 1 }, /^options: expected names among .* got "chunk"/],
  ];
  for (const [given, message] of options)
    assert.match(await mistake(() => lossAndGradients(MODEL, BATCH, any(given))), message);
});

test.run();
