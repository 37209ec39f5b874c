/** Indexes with one key for each passage, on every engine, against a matrix product in loops. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Bits } from "../../src/retrieval/codec/codec.ts";
import { codebookPath } from "../../src/retrieval/index/format/manifest.ts";
import { verifyIndex } from "../../src/retrieval/maintain.ts";
import { type OpenOptions, openIndex } from "../../src/retrieval/open-index.ts";
import { build, header, isInstalled, naiveSearch, noise, temporary } from "./support.ts";

const PASSAGES = 300;
/** More than 255 subquantisers with 8 bits. */
const WIDE = 257;

/** Vectors around 20 centres. */
function vectors(dimension: number): Float32Array[] {
  const centres = Array.from({ length: 20 }, (_, i) => noise(dimension, 100 + i));
  return Array.from({ length: PASSAGES }, (_, i) => {
    const change = noise(dimension, 1000 + i);
    return centres[i % 20]!.map((value, d) => value + 0.5 * change[d]!);
  });
}

async function buildVectors(directory: string, dimension: number, bits?: Bits): Promise<void> {
  const keys = vectors(dimension);
  const passages = keys.map((_, i) => ({ id: `${i}`, title: "", text: `text ${i}` }));
  await build(directory, passages, {
    ...{ bits, header: { ...header, dimension, pooling: "mean" } },
    encode: async (window) => window.map(({ id }) => keys[Number(id)]!),
  });
}

const EXACT: readonly OpenOptions[] = [
  {},
  { memoryLimit: 0 },
  ...(isInstalled("faiss-node") ? [{ engine: "faiss" } as const] : []),
];

for (const options of EXACT)
  test(`${JSON.stringify(options)}: a search is a matrix product`, async () => {
    const dimension = 24;
    await using directory = await temporary();
    await buildVectors(directory.path, dimension);
    await using index = await openIndex(directory.path, options);
    assert.is(index.tokenCount, PASSAGES);
    const questions = [1, 2, 3].map((seed) => noise(dimension, seed));
    const found = await index.searchBatch(questions, { topK: 10 });
    const odd = (ordinal: number): boolean => ordinal % 2 === 1;
    for (const [i, question] of questions.entries()) {
      const all = naiveSearch(question, vectors(dimension), PASSAGES, dimension);
      assert.equal(
        found[i]!.map(({ ordinal }) => ordinal),
        all.slice(0, 10).map(({ ordinal }) => ordinal),
      );
      for (const [rank, { score }] of found[i]!.entries())
        assert.ok(Math.abs(score - all[rank]!.score) < 1e-6);
      const [best] = await index.search(question, { topK: 1, filter: odd });
      assert.is(best!.ordinal, all.find(({ ordinal }) => odd(ordinal))!.ordinal);
    }
  });

test("compressed wide vectors are found by their codes", async () => {
  await using directory = await temporary();
  await buildVectors(directory.path, WIDE, 8);
  assert.is((await stat(join(codebookPath(directory.path, "000001"), "parts.u16"))).size % 2, 0);
  assert.equal(await verifyIndex(directory.path), []);
  const originals = vectors(WIDE);
  for (const preset of ["exact", "balanced", "fast"] as const) {
    await using index = await openIndex(directory.path, { preset });
    let shared = 0;
    for (let i = 0; i < 10; i++) {
      const question = originals[i]!.map((value, d) => value + 0.5 * noise(WIDE, i)[d]!);
      const hits = await index.search(question, { topK: 10 });
      const best = naiveSearch(question, originals, 10, WIDE).map(({ ordinal }) => ordinal);
      shared += hits.filter(({ ordinal }) => best.includes(ordinal)).length;
      assert.is(hits[0]!.ordinal, i);
      assert.is(hits.length, 10);
    }
    assert.ok(shared >= 90, `${preset}: ${shared} of 100`);
  }
});

test.run();
