/** Sequences of token ids in batches through the lower encoder layers. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { encodeSequences, openRetrieverSession } from "../../src/encoder/retriever-session.ts";
import { assertNear } from "../support/arrays.ts";
import { randomIds, randomWeights, tinyConfig } from "../support/tiny-model.ts";

const TOLERANCE = 2e-6; // float32 through a few layers; measured below 5e-7

const config = tinyConfig({ encoderLayers: 3, retrievalLayer: 2 });
const weights = randomWeights(config, "padding");
const sequences = [1, 9, 4, 9, 17].map((length) => randomIds(config, length, "padding", length));

test("batches give the same vectors as single sequences, in the order of the input", async () => {
  await using encoder = await openRetrieverSession(config, { weights });
  for (const output of ["states", "queries", "keys"] as const) {
    const together = await encodeSequences(encoder, config, sequences, output);
    for (const [i, ids] of sequences.entries()) {
      const [alone] = await encodeSequences(encoder, config, [ids], output);
      assertNear(together[i]!, alone!, TOLERANCE);
    }
  }
  assert.equal(await encodeSequences(encoder, config, [], "keys"), []);
});

test("encoding reports its progress and stops between two runs", async () => {
  const sequences = Array.from({ length: 5 }, (_, i) => randomIds(config, 150 + i, i));
  const abort = new AbortController();
  const received: [sequences: number, tokens: number][] = [];
  const onProgress = (...done: [number, number]) => {
    received.push(done);
    abort.abort(new Error("enough"));
  };
  await using encoder = await openRetrieverSession(config, { weights });
  await encodeSequences(encoder, config, sequences, "keys", { onProgress });
  assert.equal(received.splice(0), [
    [3, 154 + 153 + 152],
    [5, 154 + 153 + 152 + 151 + 150],
  ]);
  try {
    await encodeSequences(encoder, config, sequences, "keys", { onProgress, signal: abort.signal });
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).message, "enough");
  }
});

test.run();
