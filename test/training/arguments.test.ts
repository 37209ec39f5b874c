/** Mistakes in the arguments of `openTrainer` and its steps: an `InputError` of one line. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../src/io/errors.ts";
import { labels, openTrainer } from "../../src/training/index.ts";

const MODEL = "models/reatt-mini";
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

await using trainer = await openTrainer(MODEL, { objective: labels() });

test("openTrainer: wrong models, batches and options", async () => {
  for (const value of WRONG) {
    await mistake(() => openTrainer(any(value), { objective: labels() }));
    await mistake(() => trainer.step(any(value)));
    for (const name of ["questions", "answers", "passages"] as const)
      await mistake(() => trainer.step({ ...BATCH, [name]: any(value) }));
    await mistake(() => openTrainer(MODEL, any(value)));
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
    assert.match(await mistake(() => trainer.step(any(batch))), message);
  const options: readonly [object, RegExp][] = [
    [{ learningRate: -1 }, /^learningRate: expected a number from 0 on, got -1/],
    [{ learningRate: "8" }, /^learningRate: expected a number/],
    [{ tau: 0 }, /^tau: expected a number above 0/],
    [{ maxPassageTokens: 1 }, /^maxPassageTokens: expected a whole number from 2 on/],
    [{ engine: "torch" }, /^engine: expected onnxruntime, tensorflow, got 'torch'/],
    [{ dropout: 1 }, /^dropout: expected a number from 0 to below 1/],
    [{ layers: 0 }, /^layers: expected a whole number from 1 on/],
    [{ rate: 1 }, /^options: expected names among .* got "rate"/],
  ];
  for (const [given, message] of options)
    assert.match(
      await mistake(() => openTrainer(MODEL, any({ objective: labels(), ...given }))),
      message,
    );
});

test.run();
