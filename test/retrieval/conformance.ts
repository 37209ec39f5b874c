/** Tests that every search engine must pass. */

import { join } from "node:path";
import * as fc from "fast-check";
import type { Test } from "uvu";
import * as assert from "uvu/assert";
import { mean } from "../../src/math/mean.ts";
import type { Bits } from "../../src/retrieval/codec/codec.ts";
import { rotate } from "../../src/retrieval/codec/opq-rotation.ts";
import { readCodec } from "../../src/retrieval/index/format/codebook-file.ts";
import { readManifest, segmentPath } from "../../src/retrieval/index/format/manifest.ts";
import { openSegment } from "../../src/retrieval/index/format/segment.ts";
import { addPassages } from "../../src/retrieval/index/maintain/update.ts";
import { buildIndex } from "../../src/retrieval/index/write/build.ts";
import { deletePassages } from "../../src/retrieval/maintain.ts";
import { type OpenOptions, openIndex } from "../../src/retrieval/open-index.ts";
import { type RankRequest, rank } from "../../src/retrieval/rank.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import type { Where } from "../../src/retrieval/where/where.ts";
import type { Passage } from "../../src/text/passage.ts";
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
  withMetadata,
} from "./support.ts";
import { addingStates, checkStates, statesHeader, toyStates } from "./toy-states.ts";

const QUESTIONS = ["w1 w2 w3", "w4", "w7 w8 w9 w10 w11 w12 w13", "unknown words here"].map(
  encodeText,
);

/** A codec and an engine. */
export interface Variant {
  readonly name: string;
  /** Bits of a compressed index. */
  readonly bits?: Bits;
  /**
   * The least share of the best passages that an approximate search finds. Undefined for exact
   * search.
   */
  readonly recall?: number;
  /** Opens an index for search with the engine. */
  readonly open: (directory: string, options?: OpenOptions) => Promise<TokenIndex>;
}

export const opening =
  (how: OpenOptions): Variant["open"] =>
  (directory, options) =>
    openIndex(directory, { ...how, ...options });

export function conformance(suite: Test, { name: variant, bits, recall, open }: Variant): void {
  const name = (what: string) => `${variant}: ${what}`;
  const exact = recall === undefined;
  // Equal keys test the order of equal scores. Approximate engines need keys that differ.
  const options = { bits, encode: exact ? encode : encodeVaried };

  /** `all` holds every passage that the search may return, best first. */
  const conforms = (hits: readonly NaiveHit[], all: readonly NaiveHit[], topK: number) => {
    if (exact) return same(hits, all.slice(0, topK));
    assert.is(hits.length, Math.min(topK, all.length));
    const scores = new Map(all.map(({ ordinal, score }) => [ordinal, score]));
    for (const { ordinal, score } of hits) closeTo(score, scores.get(ordinal)!);
    same(
      hits,
      [...hits].sort((a, b) => b.score - a.score || a.ordinal - b.ordinal),
    );
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

  suite(name("the mean of the matches of a passage is its score"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(100), options);
    await using index = await open(directory.path);
    for (const { ordinal, score } of await index.search(QUESTIONS[2]!, { topK: 20 })) {
      const matches = await index.matches(QUESTIONS[2]!, ordinal);
      assert.is(matches.length, 7);
      closeTo(mean(matches.map((match) => match.score)), score);
    }
  });

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
      assert.ok(mean(shares) >= recall, `found ${mean(shares)}: ${shares}`);
    });

  suite(name("returns every passage if topK is larger than the index"), async () => {
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

  suite(name("a batch of questions gives the results of single questions"), async () => {
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
    suite(name("results do not depend on the memory limit"), async () => {
      await using directory = await temporary();
      await build(directory.path, makePassages(3000), options); // some 19,500 tokens: two pieces
      const results = [];
      for (const memoryLimit of [undefined, 0, 300_000]) {
        await using index = await open(directory.path, { memoryLimit });
        results.push(await searchAll(index), await searchAll(index));
      }
      for (const result of results) assert.equal(result, results[0]);
    });

  suite(name("finds the topK best passages that a filter accepts"), async () => {
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
      // so few that all are scored
      same(await index.search(question, { topK: 6, filter: ids }), byId);
      assert.equal(await index.search(question, { topK: 6, filter: () => false }), []);
    }
  });

  suite(
    name("finds the topK best passages that pass a condition, if one of 1,000 does"),
    async () => {
      await using directory = await temporary();
      const passages = withMetadata(makePassages(2000));
      await build(directory.path, passages, options);
      await deletePassages(["p4", "p1000"], { directory: directory.path });
      await using index = await open(directory.path);
      const naive = await openNaive(directory.path);
      const ask = async (options: Partial<RankRequest> & { topK: number }) => {
        const questions = QUESTIONS.map((vectors) => ({ text: "", vectors }));
        return rank(index, questions, { granularity: "passage", ...options });
      };
      const conditions: [where: Where, passes: (passage: Passage) => boolean][] = [
        [{ number: { in: [3, 997] } }, ({ id }) => id === "p3" || id === "p997"],
        [{ number: { gte: 500, lt: 1003 } }, ({ metadata }) => isBetween(metadata, 500, 1003)],
        [{ lang: "en", tags: { contains: "t1" } }, ({ metadata }) => isEnglish(metadata, "t1")],
        [{ not: { document: { exists: true } } }, ({ document }) => document === undefined],
      ];
      for (const [where, passes] of conditions)
        for (const topK of [1, 6, 600]) {
          const found = await ask({ topK, where });
          for (const [i, hits] of found.entries()) {
            const all = naive(QUESTIONS[i]!).filter(
              ({ ordinal }) => ordinal !== 4 && ordinal !== 1000 && passes(passages[ordinal]!),
            );
            if (all.length <= 512) same(hits, all.slice(0, topK));
            else conforms(hits, all, topK);
          }
        }
      const filter = new Set(["p3", "p4", "p5", "p700"]);
      const both = await ask({ topK: 9, where: { number: { lt: 600 } }, filter });
      for (const hits of both)
        assert.equal(new Set(hits.map(({ passage }) => passage.id)), new Set(["p3", "p5"]));
    },
  );

  suite(name("finds the topK best documents by their best passages"), async () => {
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
  });

  suite(
    name("finds added passages and not deleted ones; an open index keeps its generation"),
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

  suite(name("gives the states of its passages, also after changes"), async () => {
    await using directory = await temporary();
    const held = { header: statesHeader, encode: addingStates(options.encode) };
    await build(directory.path, makePassages(100), { bits, ...held });
    await deletePassages(["p3", "p98"], { directory: directory.path });
    const added = makePassages(9, 2).map((passage, i) => ({ ...passage, id: `p${95 + i}` }));
    await addPassages(added, { directory: directory.path, ...held });
    await using index = await open(directory.path);
    assert.is(index.passageCount, 103);
    await checkStates(index);
    const [hit] = await index.search(QUESTIONS[0]!, { topK: 1 });
    await index.snapshot(async (generation) => {
      const [states] = (await generation.states([hit!.ordinal]))!;
      const [passage] = await generation.passages([hit!.ordinal]);
      assert.is(states!.unpack().length, toyStates(passage!).length);
    });
    await rejects(index.states([104_000]), /^ordinals\[0\]|^ordinal/);
  });

  suite(name("finds nothing in an index without passages"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(100), options);
    await deletePassages(
      makePassages(100).map(({ id }) => id),
      { directory: directory.path },
    );
    await using index = await open(directory.path);
    assert.equal(await index.search(QUESTIONS[0]!, { topK: 5 }), []);
  });

  suite(name("stops on a signal"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(100), options);
    await using index = await open(directory.path);
    const signal = AbortSignal.abort(new Error("enough"));
    await rejects(index.search(QUESTIONS[0]!, { topK: 1, signal }), /enough/);
    assert.is((await index.search(QUESTIONS[0]!, { topK: 1 })).length, 1);
  });

  suite(name("rejects an invalid topK and a missing index"), async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(100), options);
    await using index = await open(directory.path);
    await rejects(
      index.search(QUESTIONS[0]!, { topK: 0 }),
      /^topK: expected a whole number from 1 on, got 0/,
    );
    await rejects(open(join(directory.path, "none")), /expected an index, got no index\.json/);
  });
}

/** Codes take whole bytes, so the dimension must be a multiple of `multiple`. */
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

/** Ranks all passages, deleted ones included, by loops over the keys of the index. */
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

const isBetween = (metadata: Passage["metadata"], from: number, to: number): boolean =>
  Number(metadata?.number) >= from && Number(metadata?.number) < to;

const isEnglish = (metadata: Passage["metadata"], tag: string): boolean =>
  metadata?.lang === "en" && (metadata.tags as readonly string[]).includes(tag);

const searchAll = (index: TokenIndex) => index.searchBatch(QUESTIONS, { topK: 20 });

function same(hits: readonly NaiveHit[], expected: readonly NaiveHit[]): void {
  assert.equal(
    hits.map(({ ordinal, score }) => ({ ordinal, score })),
    expected.map(({ ordinal, score }) => ({ ordinal, score })),
  );
}

/** The loop sums in another order, so scores are equal up to the rounding of float64. */
function closeTo(score: number, expected: number): void {
  assert.ok(
    Math.abs(score - expected) <= 1e-12 * (1 + Math.abs(expected)),
    `${score} is not ${expected}`,
  );
}
