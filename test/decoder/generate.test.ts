/**
 * Greedy generation with toy decoders: random tables with the probability of the next token after
 * every prefix.
 */

import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  type DecoderStep,
  type Generated,
  type GenerateOptions,
  generate,
} from "../../src/decoder/generate.ts";
import { createRandom } from "../../src/math/random.ts";
import { softmax } from "../support/naive-t5.ts";

const START = 0; // also padding, as in T5; a toy decoder can generate it
const END = 1;
const VOCABULARY = { startId: START, endId: END, padId: START };

/** Logits of the token after `prefix` in the answer to `question`. */
type Toy = (question: number, prefix: readonly number[]) => readonly number[];

/** Every prefix has its own logits; `patience` makes the answers longer. */
function randomToy(seed: number, size: number, patience: number | readonly number[] = 0): Toy {
  return (question, prefix) => {
    const random = createRandom("toy", seed, question, ...prefix);
    const logits = Array.from({ length: size }, () => Math.fround(6 * random.next()));
    logits[END] = Math.fround(
      logits[END]! - (typeof patience === "number" ? patience : patience[question]!),
    );
    return logits;
  };
}

/** A decoder that has the tokens of each question. Its attention is the number of the step. */
function decoderOf(toy: Toy, questions: readonly number[]): DecoderStep {
  const written = questions.map(() => [] as number[]);
  return async (tokens) => {
    for (const [i, token] of tokens.entries()) written[i]!.push(token);
    return {
      logits: Float32Array.from(
        questions.flatMap((question, i) => toy(question, written[i]!.slice(1))),
      ),
      attention: Float32Array.from(questions, (question) => 100 * question + written[0]!.length),
    };
  };
}

const answer = (
  toy: Toy,
  questions: readonly number[],
  options: GenerateOptions,
): Promise<Generated[]> =>
  generate(decoderOf(toy, questions), questions.length, VOCABULARY, options);

/** log p(token) - log p(most probable other token) */
const naiveMargin = (probabilities: readonly number[], token: number): number =>
  Math.log(probabilities[token]! / Math.max(...probabilities.filter((_, i) => i !== token)));

/** The most probable token at each step, of those that `allows` accepts. */
function naiveGreedy(
  toy: Toy,
  maxTokens: number,
  allows: (tokenIds: readonly number[]) => boolean = () => true,
): Generated {
  const greedy: Generated = { tokenIds: [], logProbabilities: [], margins: [], emptiness: 0 };
  while (greedy.tokenIds.length < maxTokens && greedy.tokenIds.at(-1) !== END) {
    const all = softmax(toy(0, greedy.tokenIds));
    const probabilities = all.map((probability, token) =>
      allows([...greedy.tokenIds, token]) ? probability : 0,
    );
    const most = Math.max(...probabilities);
    const token = probabilities.indexOf(most);
    greedy.margins.push(naiveMargin(all, token));
    greedy.tokenIds.push(token);
    greedy.logProbabilities.push(Math.log(most));
  }
  return greedy;
}

function assertSame(actual: Generated, expected: Generated): void {
  assert.equal(actual.tokenIds, expected.tokenIds);
  assert.is(actual.logProbabilities.length, expected.logProbabilities.length);
  for (const [i, logProbability] of expected.logProbabilities.entries())
    assert.ok(Math.abs(actual.logProbabilities[i]! - logProbability) < 1e-9);
  assert.is(actual.margins.length, expected.margins.length);
  for (const [i, margin] of expected.margins.entries())
    assert.ok(actual.margins[i] === margin || Math.abs(actual.margins[i]! - margin) < 1e-9);
}

test("each token is the most probable one", () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.integer({ min: 2, max: 6 }),
      fc.integer({ min: 1, max: 8 }),
      async (seed, size, maxTokens) => {
        const toy = randomToy(seed, size, 3);
        const [found] = await answer(toy, [0], { maxTokens });
        assertSame(found!, naiveGreedy(toy, maxTokens));
      },
    ),
    { numRuns: 150, seed: 2 },
  ));

test("only allowed tokens are written", () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.subarray([1, 2, 3, 4], { minLength: 1 }),
      async (seed, tokens) => {
        const toy = randomToy(seed, 5, 3);
        const allowed = new Set(tokens);
        const [found] = await answer(toy, [0], { maxTokens: 6, allowed: () => allowed });
        assertSame(
          found!,
          naiveGreedy(toy, 6, (written) => allowed.has(written.at(-1)!)),
        );
      },
    ),
    { numRuns: 100, seed: 6 },
  ));

/** Whether `tokens` contains a sequence of `size` tokens twice. */
const repeats = (tokens: readonly number[], size: number): boolean => {
  const rows = tokens
    .slice(size - 1)
    .map((_, first) => tokens.slice(first, first + size).join(" "));
  return new Set(rows).size < rows.length;
};

test("noRepeatSize prevents repeated sequences", () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.integer({ min: 2, max: 5 }),
      fc.integer({ min: 1, max: 3 }),
      async (seed, size, noRepeatSize) => {
        const toy = randomToy(seed, size, 3);
        const [found] = await answer(toy, [0], { maxTokens: 12, noRepeatSize });
        assertSame(
          found!,
          naiveGreedy(toy, 12, (tokenIds) => !repeats(tokenIds, noRepeatSize)),
        );
      },
    ),
    { numRuns: 150, seed: 4 },
  ));

test("the first of equally probable tokens is generated", async () => {
  const [{ tokenIds }] = (await answer(() => [0, -1, 2, 2], [0], { maxTokens: 3 })) as [Generated];
  assert.equal(tokenIds, [2, 2, 2]);
});

test("questions that end at different steps get the same answers as alone", () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.array(fc.constantFrom(-4, 0, 2, 4, 8), { minLength: 2, maxLength: 5 }),
      async (seed, patience) => {
        const toy = randomToy(seed, 4, patience);
        const questions = [...patience.keys()];
        const together = await answer(toy, questions, { maxTokens: 7 });
        for (const question of questions)
          assert.equal([together[question]!], await answer(toy, [question], { maxTokens: 7 }));
      },
    ),
    { numRuns: 150, seed: 3 },
  ));

test("onToken receives each token with the attention of its step and question", async () => {
  const received: [token: number, attention: number][][] = [[], [], []];
  const answers = await answer(randomToy(4, 5, [3, 0, 6]), [0, 1, 2], {
    maxTokens: 9,
    onToken: (token, question, attention) => received[question]!.push([token, attention[0]!]),
  });
  assert.equal(
    received,
    answers.map(({ tokenIds }, question) =>
      tokenIds.map((token, step) => [token, 100 * question + step + 1]),
    ),
  );
  assert.ok(new Set(received.map(({ length }) => length)).size > 1, "they end at different steps");
});

test("an abort ends the search before the next step with the reason of the signal", async () => {
  const reason = new Error("enough");
  const refused = async (
    controller: AbortController,
    onToken?: GenerateOptions["onToken"],
  ): Promise<number> => {
    const decoder = decoderOf(randomToy(5, 3, 9), [0]);
    let steps = 0;
    const step: DecoderStep = (tokens) => {
      steps++;
      return decoder(tokens);
    };
    const { signal } = controller;
    const thrown = await generate(step, 1, VOCABULARY, { maxTokens: 9, signal, onToken }).catch(
      (error) => error,
    );
    assert.is(thrown, reason);
    return steps;
  };
  const before = new AbortController();
  before.abort(reason);
  assert.is(await refused(before), 0);
  const during = new AbortController();
  let received = 0;
  const abortAtThird = () => {
    if (++received === 3) during.abort(reason);
  };
  assert.is(await refused(during, abortAtThird), 3);
});

test.run();
