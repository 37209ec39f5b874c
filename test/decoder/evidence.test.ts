/** Blocks of the passages that were read, ranked by attention or by a calibration. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { evidenceOf } from "../../src/decoder/evidence.ts";
import { BLOCK_SIGNAL_NAMES, type BlockCalibration } from "../../src/model/block-calibration.ts";

const text = "Lions sleep.\n\nThe lion lives in Africa.\n\nThey eat meat.";
const passage = { id: "p#2", title: "Lion", text, document: "p", metadata: { _page: 3 } };

/** Tokens are words; these have the weights. */
const tokensOf = (weights: Readonly<Record<string, number>>) =>
  Array.from(text.matchAll(/\w+/g), ({ 0: word, index }) => ({
    start: index,
    end: index + word.length,
    weight: weights[word] ?? 0.001,
  }));

const africa = { start: text.indexOf("Africa"), end: text.indexOf("Africa") + 6 };
const read = { passage, tokens: tokensOf({ Africa: 0.6, meat: 0.2, sleep: 0.1 }), span: africa };
const about = { question: "Where does the lion live?", emptiness: -3, similarity: 0.5, lead: 0.1 };

test("blocks are in the order of the attention on them, with place and answer", () => {
  const [best, ...others] = evidenceOf([read], about, undefined, undefined);
  assert.is(best!.text, "The lion lives in Africa.");
  assert.is(best!.text.slice(best!.span!.start, best!.span!.end), "Africa");
  assert.is(text.slice(best!.start, best!.end), best!.text);
  assert.equal([best!.id, best!.document, best!.page, best!.kind], ["p#2", "p", 3, "paragraph"]);
  assert.ok(Math.abs(best!.score - 0.604) < 1e-9);
  assert.equal(
    others.map((block) => [block.text, block.span]),
    [
      ["They eat meat.", undefined],
      ["Lions sleep.", undefined],
    ],
  );
});

test("a calibration ranks by its probability", () => {
  const none = { weight: 0, curvature: 0, mean: 0, deviation: 1 };
  const signals = Object.fromEntries(BLOCK_SIGNAL_NAMES.map((name) => [name, none]));
  const calibration = {
    intercept: -1,
    signals: { ...signals, unmatched: { ...none, weight: -10 } },
  } as BlockCalibration;
  const [best] = evidenceOf([read], { ...about, question: "eat meat" }, calibration, undefined);
  assert.is(best!.text, "They eat meat.");
  assert.ok(best!.score > 0.2 && best!.score < 0.5);
  assert.is(best!.signals!.unmatched, 0);
});

test("copies are shown once, and no more than three blocks", () => {
  const many = { ...read, passage: { ...passage, id: "copy" } };
  const blocks = evidenceOf([read, many, read], about, undefined, undefined);
  assert.is(blocks.length, 3);
  assert.is(new Set(blocks.map((block) => block.text)).size, 3);
  assert.equal(evidenceOf([], about, undefined, undefined), []);
});

test.run();
