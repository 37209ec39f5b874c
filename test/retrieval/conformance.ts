/** What every search engine must do, whatever its first pass is. */

import { join } from "node:path";
import * as fc from "fast-check";
import type { Test } from "uvu";
import * as assert from "uvu/assert";
import { buildIndex } from "../../src/retrieval/build.ts";
import { readCodec } from "../../src/retrieval/codebook.ts";
import type { Bits } from "../../src/retrieval/codec.ts";
import { readManifest, segmentPath } from "../../src/retrieval/manifest.ts";
import { type EngineName, type OpenOptions, openIndex } from "../../src/retrieval/open.ts";
import { openSegment } from "../../src/retrieval/segment.ts";
import type { TokenIndex } from "../../src/retrieval/token-index.ts";
import { build, encodeText, header, makePassages, naiveSearch, rejects, temporary } from "./support.ts";

const QUESTIONS = ["w1 w2 w3", "w4", "w7 w8 w9 w10 w11 w12 w13", "unknown words here"].map(encodeText);

/** A way to keep keys and to search them, without pruning. */
export interface Variant {
  readonly engine: EngineName;
  /** Compressed, and searched with the preset `exact`. */
  readonly bits?: Bits;
}

export function conformance(suite: Test, { engine, bits }: Variant): void {
  const name = (what: string) => `${engine}${bits ? `, ${bits} bits` : ""}: ${what}`;
  const open = (directory: string, options: OpenOptions = {}) =>
    openIndex(directory, { engine, preset: "exact", ...options });

  suite(name("equals a naive loop on random keys"), () =>
    fc.assert(
      fc.asyncProperty(randomCase(bits ? 8 : 1), async ({ dimension, passages, question, topK }) => {
        await using directory = await temporary();
        const texts = passages.map((_, i) => ({ id: `${i}`, title: "", text: "" }));
        await buildIndex(texts, {
          directory: directory.path,
          header: { ...header, dimension },
          encode: async () => passages,
          bits,
        });
        await using index = await open(directory.path);
        const hits = await index.search(question, { topK });
        const keys = await storedKeys(directory.path);
        const expected = naiveSearch(question, keys, keys.length, dimension);
        const scores = new Map(expected.map(({ ordinal, score }) => [ordinal, score]));
        assert.is(new Set(hits.map(({ ordinal }) => ordinal)).size, Math.min(topK, passages.length));
        for (const [i, { ordinal, score }] of hits.entries()) {
          closeTo(score, scores.get(ordinal)!);
          closeTo(score, expected[i]!.score);
        }
      }),
      { numRuns: 20 },
    ),
  );

  suite(name("equals a naive loop where many scores are equal, in the order of the index"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(1500), { bits });
    await using index = await open(directory.path);
    const keys = await storedKeys(directory.path);
    for (const question of QUESTIONS)
      for (const topK of [1, 10, 700])
        same(await index.search(question, { topK }), naiveSearch(question, keys, topK));
  });

  suite(name("returns every passage where more are asked for than there are"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(30), { bits });
    await using index = await open(directory.path);
    const hits = await index.search(QUESTIONS[0]!, { topK: 1000 });
    assert.is(new Set(hits.map(({ id }) => id)).size, 30);
  });

  suite(name("finds passages of one token"), async () => {
    await using directory = await temporary();
    const passages = ["w1", "w2", "w3"].map((text) => ({ id: text, title: "", text }));
    await build(directory.path, passages, { bits });
    await using index = await open(directory.path);
    const expected = naiveSearch(QUESTIONS[0]!, await storedKeys(directory.path), 3);
    same(await index.search(QUESTIONS[0]!, { topK: 3 }), expected);
  });

  suite(name("gives many questions at once what it gives one by one"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(800), { bits });
    await using index = await open(directory.path);
    const questions = Array.from({ length: 60 }, (_, i) => encodeText(`w${i} w${i + 1} w${(7 * i) % 50}`));
    const together = await index.searchBatch(questions, { topK: 7 });
    for (const [i, question] of questions.entries())
      assert.equal(together[i], await index.search(question, { topK: 7 }));
    assert.equal(await index.searchBatch([], { topK: 7 }), []);
  });

  suite(name("gives the same in any memory, and when opened again"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(6000), { bits }); // some 39,000 tokens: three pieces
    const results = [];
    for (const memoryLimit of [undefined, 0, 600_000]) {
      await using index = await open(directory.path, { memoryLimit });
      results.push(await searchAll(index), await searchAll(index));
    }
    for (const result of results) assert.equal(result, results[0]);
  });

  suite(name("finds the best of what a filter leaves"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(900), { bits });
    await using index = await open(directory.path);
    const accept = (ordinal: number) => ordinal % 90 === 7;
    const keys = await storedKeys(directory.path);
    const ids = new Set(["p7", "p97", "p800", "unknown"]);
    for (const question of QUESTIONS) {
      const all = naiveSearch(question, keys, keys.length);
      const byOrdinal = all.filter(({ ordinal }) => accept(ordinal));
      same(await index.search(question, { topK: 6, filter: accept }), byOrdinal.slice(0, 6));
      const byId = all.filter(({ ordinal }) => ids.has(`p${ordinal}`));
      same(await index.search(question, { topK: 6, filter: ids }), byId);
    }
  });

  suite(name("stops when it is told to"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(50), { bits });
    await using index = await open(directory.path);
    const signal = AbortSignal.abort(new Error("enough"));
    await rejects(index.search(QUESTIONS[0]!, { topK: 1, signal }), /enough/);
    assert.is((await index.search(QUESTIONS[0]!, { topK: 1 })).length, 1);
  });

  suite(name("refuses a number of passages that is none, and an index that is not there"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(5), { bits });
    await using index = await open(directory.path);
    await rejects(
      index.search(QUESTIONS[0]!, { topK: 0 }),
      /^topK: expected a whole number from 1 on, got 0/,
    );
    await rejects(open(join(directory.path, "none")), /expected an index, got no index\.json/);
  });
}

/** Codes take whole bytes: `multiple` is what the dimension must be a multiple of. */
const randomCase = (multiple: number) =>
  fc.integer({ min: 1, max: multiple === 1 ? 9 : 2 }).chain((factor) => {
    const dimension = factor * multiple;
    const key = fc.array(fc.float({ noNaN: true, min: -8, max: 8 }), {
      minLength: dimension,
      maxLength: dimension,
    });
    const rows = (max: number) =>
      fc.array(key, { minLength: 1, maxLength: max }).map((keys) => Float32Array.from(keys.flat()));
    return fc.record({
      dimension: fc.constant(dimension),
      passages: fc.array(rows(6), { minLength: 1, maxLength: 40 }),
      question: rows(5),
      topK: fc.integer({ min: 1, max: 45 }),
    });
  });

/** The keys of every passage as the index has them. */
async function storedKeys(directory: string): Promise<Float32Array[]> {
  const manifest = await readManifest(directory);
  const { decoder } = await readCodec(directory, manifest);
  const keys: Float32Array[] = [];
  for (const record of manifest.segments) {
    await using segment = await openSegment(segmentPath(directory, record.name), record, { decoder });
    const starts = await segment.tokenStarts(0, record.passages);
    for (let p = 0; p < record.passages; p++)
      keys.push(await segment.keys(starts[p]!, starts[p + 1]! - starts[p]!));
  }
  return keys;
}

const searchAll = (index: TokenIndex) => index.searchBatch(QUESTIONS, { topK: 20 });

function same(
  hits: readonly { ordinal: number; score: number }[],
  expected: readonly { ordinal: number; score: number }[],
): void {
  assert.equal(
    hits.map(({ ordinal, score }) => ({ ordinal, score })),
    expected,
  );
}

/** The loop sums in another order: equal up to the rounding of float64. */
function closeTo(score: number, expected: number): void {
  assert.ok(Math.abs(score - expected) <= 1e-12 * (1 + Math.abs(expected)), `${score} is not ${expected}`);
}
