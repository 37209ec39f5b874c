/** What every search engine must do, whatever its first pass is. */

import { join } from "node:path";
import * as fc from "fast-check";
import type { Test } from "uvu";
import * as assert from "uvu/assert";
import type { Bits } from "../../src/retrieval/codec/codec.ts";
import { rotate } from "../../src/retrieval/codec/opq-rotation.ts";
import { readCodec } from "../../src/retrieval/index/format/codebook-file.ts";
import { readManifest, segmentPath } from "../../src/retrieval/index/format/manifest.ts";
import { openSegment } from "../../src/retrieval/index/format/segment.ts";
import { addPassages, deletePassages } from "../../src/retrieval/index/maintain/update.ts";
import { buildIndex } from "../../src/retrieval/index/write/build.ts";
import { type OpenOptions, openIndex } from "../../src/retrieval/open-index.ts";
import { rank } from "../../src/retrieval/rank.ts";
import { byScore } from "../../src/retrieval/scoring/top-k.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import {
  build,
  encode,
  encodeText,
  encodeVaried,
  header,
  makePassages,
  type NaiveHit,
  naiveSearch,
  rejects,
  temporary,
} from "./support.ts";

const QUESTIONS = ["w1 w2 w3", "w4", "w7 w8 w9 w10 w11 w12 w13", "unknown words here"].map(
  encodeText,
);

/** A way to keep keys and to search them. */
export interface Variant {
  readonly name: string;
  /** Of a compressed index. */
  readonly bits?: Bits;
  /** The share of the best passages that an approximate search finds at least. Without it, search is exact. */
  readonly recall?: number;
  /** Opens an index to be searched so. */
  readonly open: (directory: string, options?: OpenOptions) => Promise<TokenIndex>;
}

export const opening =
  (how: OpenOptions): Variant["open"] =>
  (directory, options) =>
    openIndex(directory, { ...how, ...options });

export function conformance(suite: Test, { name: variant, bits, recall, open }: Variant): void {
  const name = (what: string) => `${variant}: ${what}`;
  const exact = recall === undefined;
  // Equal keys show the order of equal scores. Approximate indexes are made for keys that differ.
  const options = { bits, encode: exact ? encode : encodeVaried };

  /** `all`: every passage that may be found, best first. */
  const conforms = (hits: readonly NaiveHit[], all: readonly NaiveHit[], topK: number) => {
    if (exact) return same(hits, all.slice(0, topK));
    assert.is(hits.length, Math.min(topK, all.length));
    const scores = new Map(all.map(({ ordinal, score }) => [ordinal, score]));
    for (const { ordinal, score } of hits) closeTo(score, scores.get(ordinal)!);
    same(hits, [...hits].sort(byScore));
  };

  if (exact)
    suite(name("equals a naive loop on random keys"), () =>
      fc.assert(
        fc.asyncProperty(
          randomCase(bits ? 8 : 1),
          async ({ dimension, passages, question, topK }) => {
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
            const naive = await openNaive(directory.path);
            const expected = naive(question);
            const scores = new Map(expected.map(({ ordinal, score }) => [ordinal, score]));
            assert.is(
              new Set(hits.map(({ ordinal }) => ordinal)).size,
              Math.min(topK, passages.length),
            );
            for (const [i, { ordinal, score }] of hits.entries()) {
              closeTo(score, scores.get(ordinal)!);
              closeTo(score, expected[i]!.score);
            }
          },
        ),
        { numRuns: 20 },
      ),
    );

  suite(
    name("scores as a naive loop does, best first, equal scores in the order of the index"),
    async () => {
      await using directory = await temporary();
      await build(directory.path, makePassages(800), options);
      await using index = await open(directory.path);
      const naive = await openNaive(directory.path);
      for (const question of QUESTIONS)
        for (const topK of [1, 10, 700])
          conforms(await index.search(question, { topK }), naive(question), topK);
    },
  );

  if (!exact)
    suite(name(`finds ${recall} of the best passages`), async () => {
      await using directory = await temporary();
      const passages = makePassages(2000, 1, 5000);
      await build(directory.path, passages, options);
      await using index = await open(directory.path);
      const naive = await openNaive(directory.path);
      const shares = [];
      for (const { text } of passages.slice(0, 20)) {
        const best = new Set(
          naive(encodeText(text))
            .slice(0, 10)
            .map(({ ordinal }) => ordinal),
        );
        const hits = await index.search(encodeText(text), { topK: 10 });
        shares.push(hits.filter(({ ordinal }) => best.has(ordinal)).length / 10);
      }
      const mean = shares.reduce((sum, share) => sum + share) / shares.length;
      assert.ok(mean >= recall, `found ${mean}: ${shares}`);
    });

  suite(name("returns every passage where more are asked for than there are"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(100), options);
    await using index = await open(directory.path);
    const naive = await openNaive(directory.path);
    for (const topK of [100, 1000])
      conforms(await index.search(QUESTIONS[0]!, { topK }), naive(QUESTIONS[0]!), topK);
  });

  suite(name("finds passages of one token"), async () => {
    await using directory = await temporary();
    const passages = Array.from({ length: 300 }, (_, i) => ({
      id: `${i}`,
      title: "",
      text: `w${i}`,
    }));
    await build(directory.path, passages, options);
    await using index = await open(directory.path);
    const expected = (await openNaive(directory.path))(QUESTIONS[0]!);
    conforms(await index.search(QUESTIONS[0]!, { topK: 3 }), expected, 3);
  });

  suite(name("gives many questions at once what it gives one by one"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(800), options);
    await using index = await open(directory.path);
    const questions = Array.from({ length: 20 }, (_, i) =>
      encodeText(`w${i} w${i + 1} w${(7 * i) % 50}`),
    );
    const together = await index.searchBatch(questions, { topK: 7 });
    for (const [i, question] of questions.entries())
      assert.equal(together[i], await index.search(question, { topK: 7 }));
    assert.equal(await index.searchBatch([], { topK: 7 }), []);
  });

  if (exact)
    suite(name("gives the same in any memory, and when opened again"), async () => {
      await using directory = await temporary();
      await build(directory.path, makePassages(3000), options); // some 19,500 tokens: two pieces
      const results = [];
      for (const memoryLimit of [undefined, 0, 300_000]) {
        await using index = await open(directory.path, { memoryLimit });
        results.push(await searchAll(index), await searchAll(index));
      }
      for (const result of results) assert.equal(result, results[0]);
    });

  suite(name("finds the best of what a filter leaves, as many as are wanted"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(900), options);
    await using index = await open(directory.path);
    const naive = await openNaive(directory.path);
    const ids = new Set(["p7", "p97", "p800", "unknown"]);
    for (const question of QUESTIONS) {
      const all = naive(question);
      for (const part of [2, 90]) {
        const accept = (ordinal: number) => ordinal % part === 1;
        const expected = all.filter(({ ordinal }) => accept(ordinal));
        for (const topK of [6, 450])
          conforms(await index.search(question, { topK, filter: accept }), expected, topK);
      }
      const byId = all.filter(({ ordinal }) => ids.has(`p${ordinal}`));
      same(await index.search(question, { topK: 6, filter: ids }), byId); // few: all are scored
      assert.equal(await index.search(question, { topK: 6, filter: () => false }), []);
    }
  });

  suite(
    name("finds the best documents, each by its best passage, as many as are wanted"),
    async () => {
      await using directory = await temporary();
      const title = (ordinal: number) => (ordinal % 4 ? "large" : `small ${ordinal % 100}`);
      const passages = makePassages(900).map((passage, i) => ({ ...passage, title: title(i) }));
      await build(directory.path, passages, options);
      await using index = await open(directory.path);
      const naive = await openNaive(directory.path);
      for (const filter of [undefined, (ordinal: number) => ordinal % 3 === 1])
        for (const topK of [3, 40]) {
          const questions = QUESTIONS.map((vectors) => ({ text: "", vectors }));
          const found = await rank(index, questions, { topK, granularity: "document", filter });
          for (const [i, hits] of found.entries()) {
            const all = naive(QUESTIONS[i]!).filter(({ ordinal }) => filter?.(ordinal) ?? true);
            const titles = all.map(({ ordinal }) => title(ordinal));
            const documents = all.filter((_, rank) => titles.indexOf(titles[rank]!) === rank);
            if (exact) same(hits, documents.slice(0, topK));
            else conforms(hits, all, Math.min(topK, documents.length));
            assert.is(new Set(hits.map(({ ordinal }) => title(ordinal))).size, hits.length);
          }
        }
    },
  );

  suite(
    name("finds what was added and not what was deleted; an open index stays as it was"),
    async () => {
      await using directory = await temporary();
      await build(directory.path, makePassages(900), options);
      await using before = await open(directory.path);
      const old = await searchAll(before);
      await deletePassages(
        Array.from({ length: 300 }, (_, i) => `p${3 * i}`),
        { directory: directory.path },
      );
      const added = makePassages(100, 2).map((passage, i) => ({ ...passage, id: `q${i}` }));
      await addPassages(added, { directory: directory.path, header, encode: options.encode });
      assert.equal(await searchAll(before), old);
      await using index = await open(directory.path);
      assert.is(index.generation, before.generation + 2);
      const naive = await openNaive(directory.path);
      const id = (ordinal: number) => (ordinal < 900 ? `p${ordinal}` : `q${ordinal - 900}`);
      for (const question of QUESTIONS) {
        const all = naive(question);
        const alive = all.filter(({ ordinal }) => ordinal >= 900 || ordinal % 3 !== 0);
        for (const topK of [10, 800]) {
          const hits = await index.search(question, { topK });
          conforms(hits, alive, topK);
          for (const hit of hits) assert.is(hit.id, id(hit.ordinal));
        }
      }
    },
  );

  suite(name("finds nothing where nothing is left"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(100), options);
    await deletePassages(
      makePassages(100).map(({ id }) => id),
      { directory: directory.path },
    );
    await using index = await open(directory.path);
    assert.equal(await index.search(QUESTIONS[0]!, { topK: 5 }), []);
  });

  suite(name("stops when it is told to"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(100), options);
    await using index = await open(directory.path);
    const signal = AbortSignal.abort(new Error("enough"));
    await rejects(index.search(QUESTIONS[0]!, { topK: 1, signal }), /enough/);
    assert.is((await index.search(QUESTIONS[0]!, { topK: 1 })).length, 1);
  });

  suite(
    name("refuses a number of passages that is none, and an index that is not there"),
    async () => {
      await using directory = await temporary();
      await build(directory.path, makePassages(100), options);
      await using index = await open(directory.path);
      await rejects(
        index.search(QUESTIONS[0]!, { topK: 0 }),
        /^topK: expected a whole number from 1 on, got 0/,
      );
      await rejects(open(join(directory.path, "none")), /expected an index, got no index\.json/);
    },
  );
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

/** Ranks all passages by loops over the keys as the index has them, deleted ones too. */
async function openNaive(directory: string): Promise<(question: Float32Array) => NaiveHit[]> {
  const manifest = await readManifest(directory);
  const { dimension } = manifest.header;
  const { decoder, codebook } = await readCodec(directory, manifest);
  const keys: Float32Array[] = [];
  for (const record of manifest.segments) {
    await using segment = await openSegment(segmentPath(directory, record.name), record, {
      decoder,
    });
    for (let p = 0; p < record.passages; p++) keys.push(await segment.keys(p, 1));
  }
  return (question) => {
    const query = codebook ? rotate(question, codebook.rotation, dimension) : question;
    return naiveSearch(query, keys, keys.length, dimension);
  };
}

const searchAll = (index: TokenIndex) => index.searchBatch(QUESTIONS, { topK: 20 });

function same(hits: readonly NaiveHit[], expected: readonly NaiveHit[]): void {
  assert.equal(
    hits.map(({ ordinal, score }) => ({ ordinal, score })),
    expected.map(({ ordinal, score }) => ({ ordinal, score })),
  );
}

/** The loop sums in another order: equal up to the rounding of float64. */
function closeTo(score: number, expected: number): void {
  assert.ok(
    Math.abs(score - expected) <= 1e-12 * (1 + Math.abs(expected)),
    `${score} is not ${expected}`,
  );
}
