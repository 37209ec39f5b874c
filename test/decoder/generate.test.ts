/**
 * Greedy and beam search with toy decoders: random tables with the probability of the next token
 * after every prefix.
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
const PENALTIES = [0, 0.6, 1, 2, -1];

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

/** A decoder that learns the tokens of each row only from `parents`, as from a real cache. */
function decoderOf(
  toy: Toy,
  questions: readonly number[],
): { step: DecoderStep; generated: () => number[][] } {
  let rows = questions.map((question) => ({ question, generated: [] as number[] }));
  const step: DecoderStep = async (tokens, parents) => {
    assert.is(tokens.length, parents.length);
    rows = [...tokens].map((token, i) => {
      const { question, generated } = rows[parents[i]!]!;
      return { question, generated: [...generated, token] };
    });
    const each = rows.length / questions.length;
    assert.equal(
      rows.map(({ question }) => question),
      questions.flatMap((question) => new Array<number>(each).fill(question)),
      "the rows of a question are adjacent, and all questions have the same number",
    );
    return Float32Array.from(
      rows.flatMap(({ question, generated }) => toy(question, generated.slice(1))),
    );
  };
  return { step, generated: () => rows.map(({ generated }) => generated) };
}

const answer = (
  toy: Toy,
  questions: readonly number[],
  options: GenerateOptions,
): Promise<Generated[]> =>
  generate(decoderOf(toy, questions).step, questions.length, VOCABULARY, options);

const sum = (values: readonly number[]): number => values.reduce((total, x) => total + x, 0);

/** All possible answers: finished, or cut at `maxTokens`. */
function everyAnswer(toy: Toy, maxTokens: number, before: Generated = NOTHING): Generated[] {
  if (before.tokenIds.length === maxTokens || before.tokenIds.at(-1) === END) return [before];
  return softmax(toy(0, before.tokenIds)).flatMap((probability, token, all) =>
    everyAnswer(toy, maxTokens, {
      tokenIds: [...before.tokenIds, token],
      logProbabilities: [...before.logProbabilities, Math.log(probability)],
      margins: [...before.margins, naiveMargin(all, token)],
    }),
  );
}
const NOTHING: Generated = { tokenIds: [], logProbabilities: [], margins: [] };

/** log p(token) - log p(most probable other token) */
const naiveMargin = (probabilities: readonly number[], token: number): number =>
  Math.log(probabilities[token]! / Math.max(...probabilities.filter((_, i) => i !== token)));

const scored = ({ logProbabilities }: Generated, lengthPenalty: number): number =>
  sum(logProbabilities) / logProbabilities.length ** lengthPenalty;

const bestOf = (answers: readonly Generated[], lengthPenalty: number): Generated =>
  answers.toSorted((a, b) => scored(b, lengthPenalty) - scored(a, lengthPenalty))[0]!;

/** The most probable token at each step, of those that `allows` accepts. */
function naiveGreedy(
  toy: Toy,
  maxTokens: number,
  allows: (tokenIds: readonly number[]) => boolean = () => true,
): Generated {
  const greedy: Generated = { tokenIds: [], logProbabilities: [], margins: [] };
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

test("the search is exhaustive with a beam for each possible answer", () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.integer({ min: 2, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom(...PENALTIES),
      fc.constantFrom(-3, 0, 2),
      async (seed, size, maxTokens, lengthPenalty, patience) => {
        const toy = randomToy(seed, size, patience);
        const beams = size ** maxTokens;
        const options = { beams, maxTokens, lengthPenalty, earlyStopping: false };
        const [found] = await answer(toy, [0], options);
        assertSame(found!, bestOf(everyAnswer(toy, maxTokens), lengthPenalty));
      },
    ),
    { numRuns: 150, seed: 1 },
  ));

test("one beam generates the most probable token at each step", () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.integer({ min: 2, max: 6 }),
      fc.integer({ min: 1, max: 8 }),
      fc.record({ lengthPenalty: fc.constantFrom(...PENALTIES), earlyStopping: fc.boolean() }),
      async (seed, size, maxTokens, options) => {
        const toy = randomToy(seed, size, 3);
        const [found] = await answer(toy, [0], { beams: 1, maxTokens, ...options });
        assertSame(found!, naiveGreedy(toy, maxTokens));
      },
    ),
    { numRuns: 150, seed: 2 },
  ));

/** Whether `tokens` contains a sequence of `size` tokens twice. */
const repeats = (tokens: readonly number[], size: number): boolean => {
  const rows = tokens
    .slice(size - 1)
    .map((_, first) => tokens.slice(first, first + size).join(" "));
  return new Set(rows).size < rows.length;
};

test("noRepeatSize prevents repeated sequences with one beam", () =>
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

test("noRepeatSize finds the best answer without a repetition with several beams", () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.integer({ min: 1, max: 2 }),
      fc.constantFrom(...PENALTIES),
      async (seed, noRepeatSize, lengthPenalty) => {
        const toy = randomToy(seed, 3, 2);
        const options = {
          beams: 3 ** 4,
          maxTokens: 4,
          lengthPenalty,
          earlyStopping: false,
          noRepeatSize,
        };
        const [found] = await answer(toy, [0], options);
        const allowed = everyAnswer(toy, 4).filter(
          ({ tokenIds }) => !repeats(tokenIds, noRepeatSize),
        );
        assertSame(found!, bestOf(allowed, lengthPenalty));
      },
    ),
    { numRuns: 100, seed: 5 },
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
      fc.integer({ min: 1, max: 4 }),
      fc.record({ lengthPenalty: fc.constantFrom(...PENALTIES), earlyStopping: fc.boolean() }),
      async (seed, patience, beams, rest) => {
        const toy = randomToy(seed, 4, patience);
        const options = { beams, maxTokens: 7, ...rest };
        const questions = [...patience.keys()];
        const together = await answer(toy, questions, options);
        for (const question of questions)
          assert.equal([together[question]!], await answer(toy, [question], options));
      },
    ),
    { numRuns: 150, seed: 3 },
  ));

/**
 * Beam search by its definition, over all continuations at each step. Without early stopping it
 * continues to the last step.
 */
function naiveBeamSearch(
  toy: Toy,
  options: { beams: number; maxTokens: number; lengthPenalty: number; earlyStopping: boolean },
): Generated {
  const { beams, maxTokens, lengthPenalty, earlyStopping } = options;
  const byScore = (a: Generated, b: Generated) =>
    scored(b, lengthPenalty) - scored(a, lengthPenalty);
  let running = [NOTHING];
  let ended: Generated[] = [];
  for (let length = 1; length <= maxTokens; length++) {
    const all = running
      .flatMap((answer) => everyAnswer(toy, length, answer))
      .sort((a, b) => scored(b, 0) - scored(a, 0));
    const isEnded = ({ tokenIds }: Generated) => tokenIds.at(-1) === END;
    ended = [...ended, ...all.slice(0, beams).filter(isEnded)].sort(byScore).slice(0, beams);
    running = all.filter((answer) => !isEnded(answer)).slice(0, beams);
    if (earlyStopping && ended.length === beams) return ended[0]!;
  }
  return [...ended, ...running].sort(byScore)[0]!;
}

test("the search equals a plain beam search with few beams", () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.integer({ min: 3, max: 6 }),
      fc.constantFrom(-2, 0, 2, 4),
      fc.record({
        beams: fc.integer({ min: 2, max: 4 }),
        maxTokens: fc.integer({ min: 1, max: 8 }),
        lengthPenalty: fc.constantFrom(...PENALTIES),
        earlyStopping: fc.boolean(),
      }),
      async (seed, size, patience, options) => {
        const toy = randomToy(seed, size, patience);
        assertSame((await answer(toy, [0], options))[0]!, naiveBeamSearch(toy, options));
      },
    ),
    { numRuns: 1500, seed: 4 },
  ));

/** After "a" (2) an answer can end, or continue with "a" at no cost. Token 3 is never generated. */
const waiting: Toy = (_, prefix) => {
  const probabilities = [
    [0, 0.4, 0.6, 0],
    [0, 0.5, 0.5, 0],
    [0, 1e-3, 1 - 1e-3, 0],
  ][Math.min(prefix.length, 2)]!;
  return probabilities.map(Math.log);
};

test("early stopping ends with `beams` answers although a longer one has a higher score", async () => {
  const decoder = decoderOf(waiting, [0]);
  const [early] = await generate(decoder.step, 1, VOCABULARY, { beams: 2, maxTokens: 20 });
  assert.equal(early!.tokenIds, [2, END]); // -0.60 a token, against -0.92 for an end at once
  assert.ok(decoder.generated().every(({ length }) => length === 2)); // two steps were enough
  const [late] = await answer(waiting, [0], { beams: 2, maxTokens: 20, earlyStopping: false });
  assert.equal(late!.tokenIds, new Array(20).fill(2)); // -0.08 a token
});

test("without early stopping answers are as good or better, and the search ends when none can improve", async () => {
  let longer = 0;
  for (let seed = 0; seed < 200; seed++) {
    const toy = randomToy(seed, 4, 2);
    for (const lengthPenalty of PENALTIES) {
      const options = { beams: 2, maxTokens: 8, lengthPenalty };
      const [early] = await answer(toy, [0], options);
      const [late] = await answer(toy, [0], { ...options, earlyStopping: false });
      assert.ok(scored(late!, lengthPenalty) >= scored(early!, lengthPenalty));
      if (late!.tokenIds.length > early!.tokenIds.length) longer++;
    }
  }
  assert.ok(longer > 0);
  const endsAtOnce: Toy = () => [-9, 9, 0];
  const decoder = decoderOf(endsAtOnce, [0]);
  await generate(decoder.step, 1, VOCABULARY, {
    beams: 2,
    maxTokens: 50,
    lengthPenalty: 0,
    earlyStopping: false,
  });
  assert.ok(decoder.generated()[0]!.length < 5);
});

test("onToken receives each token with one beam, and whole answers with several beams", async () => {
  const toy = randomToy(4, 5, [3, 0, 6]);
  for (const beams of [1, 3]) {
    const received: number[][] = [[], [], []];
    const decoder = decoderOf(toy, [0, 1, 2]);
    let steps = 0;
    const step: DecoderStep = async (tokens, parents) => {
      for (const tokensOfOne of received)
        assert.ok(beams === 1 ? tokensOfOne.length <= steps : tokensOfOne.length === 0);
      if (beams === 1) assert.is(Math.max(...received.map(({ length }) => length)), steps);
      steps++;
      return decoder.step(tokens, parents);
    };
    const onToken = (token: number, question: number) => received[question]!.push(token);
    const answers = await generate(step, 3, VOCABULARY, { beams, maxTokens: 9, onToken });
    assert.equal(
      received,
      answers.map(({ tokenIds }) => tokenIds),
    );
    assert.ok(
      new Set(received.map(({ length }) => length)).size > 1,
      "the answers end at different steps",
    );
  }
});

test("an abort ends the search before the next step with the reason of the signal", async () => {
  const reason = new Error("enough");
  const refused = async (
    controller: AbortController,
    onToken?: GenerateOptions["onToken"],
  ): Promise<number> => {
    const decoder = decoderOf(randomToy(5, 3, 9), [0]);
    let steps = 0;
    const step: DecoderStep = (tokens, parents) => {
      steps++;
      return decoder.step(tokens, parents);
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

test("impossible tokens are not generated if others are possible", async () => {
  for (const beams of [1, 2, 5]) {
    const [only] = await answer(waiting, [0], { beams, maxTokens: 6, lengthPenalty: 2 });
    assert.ok(only!.tokenIds.every((token) => token === 2 || token === END));
    assert.ok(only!.logProbabilities.every(Number.isFinite));
  }
});

test.run();
