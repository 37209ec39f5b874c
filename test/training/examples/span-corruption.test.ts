/** Span corruption: the example of T5's paper, and what holds of every text. */

import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { createRandom } from "../../../src/math/random.ts";
import { loadTokenizer } from "../../../src/text/tokenizer.ts";
import { corrupt, noiseSpans } from "../../../src/training/examples/span-corruption.ts";
import { TOKENIZER } from "../../support/training.ts";

const SENTINELS = Array.from({ length: 100 }, (_, i) => 32_099 - i);
const isSentinel = (id: number): boolean => id > 31_999;

test("the example of figure 2 of Raffel et al. 2020", async () => {
  const text = "Thank you for inviting me to your party last week.";
  const tokenizer = await loadTokenizer(TOKENIZER);
  const ids = tokenizer.encode(text);
  const spans = ["for inviting", "last"].map((words) => {
    const wanted = tokenizer.encode(words);
    const start = ids.findIndex((_, i) => wanted.every((id, j) => ids[i + j] === id));
    return { start, end: start + wanted.length };
  });
  const { inputs, targets } = corrupt(ids, spans, SENTINELS);
  assert.is(tokenizer.decode(inputs), "Thank you <extra_id_0> me to your party <extra_id_1> week.");
  assert.is(tokenizer.decode(targets), "<extra_id_0> for inviting <extra_id_1> last <extra_id_2>");
});

/** The text again: each sentinel of the inputs gives way to what stands after it in the targets. */
function restored(inputs: readonly number[], targets: readonly number[]): number[] {
  return inputs.flatMap((id) => {
    if (!isSentinel(id)) return [id];
    const after = targets.slice(targets.indexOf(id) + 1);
    return after.slice(0, after.findIndex(isSentinel));
  });
}

test("inputs and targets together are the text, of which 15 % was dropped in spans apart", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(31_999), { minLength: 1, maxLength: 700 }),
      fc.nat(),
      (ids, seed) => {
        const spans = noiseSpans(ids.length, 99, createRandom(seed));
        const { inputs, targets } = corrupt(ids, spans, SENTINELS);
        assert.equal(restored(inputs, targets), ids);
        const dropped = targets.filter((id) => !isSentinel(id)).length;
        assert.is(dropped, Math.max(1, Math.round(0.15 * ids.length)));
        assert.is(spans.length, Math.max(1, Math.round(dropped / 3)));
        assert.not.ok(inputs.some((id, i) => isSentinel(id) && isSentinel(inputs[i + 1] ?? 0)));
        const used = SENTINELS.slice(0, spans.length);
        assert.equal(inputs.filter(isSentinel), used);
        assert.equal(targets.filter(isSentinel), SENTINELS.slice(0, spans.length + 1));
      },
    ),
  );
});

test("no more spans than there are sentinels", () => {
  const spans = noiseSpans(5_000, 99, createRandom(0));
  assert.is(spans.length, 99);
  assert.is(
    spans.reduce((sum, { start, end }) => sum + end - start, 0),
    750,
  );
});

test("every token is dropped as often as the others, ends included", () => {
  const random = createRandom("places");
  const counts = new Array<number>(8).fill(0);
  for (let draw = 0; draw < 8_000; draw++)
    for (const { start, end } of noiseSpans(8, 99, random))
      for (let i = start; i < end; i++) counts[i]!++;
  // within 5 standard deviations
  for (const count of counts) assert.ok(Math.abs(count - 1_000) < 150, `${counts}`);
});

test("the same seed draws the same spans", () => {
  assert.equal(noiseSpans(300, 99, createRandom(1)), noiseSpans(300, 99, createRandom(1)));
  assert.not.equal(noiseSpans(300, 99, createRandom(1)), noiseSpans(300, 99, createRandom(2)));
});

test.run();
