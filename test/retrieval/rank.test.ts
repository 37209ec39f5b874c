/** Compares rankings of passages and documents, dense and hybrid, with loops over all passages. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { resolveOptions } from "../../src/options/resolve.ts";
import { documentKey, rankGroups } from "../../src/retrieval/documents.ts";
import { type HybridOptions, MIN_CANDIDATES } from "../../src/retrieval/hybrid.ts";
import { segmentPath } from "../../src/retrieval/index/format/manifest.ts";
import { WORDS_FILE } from "../../src/retrieval/index/format/words-file.ts";
import { openLexicalIndex } from "../../src/retrieval/lexical-index.ts";
import { deletePassages } from "../../src/retrieval/maintain.ts";
import { openIndex } from "../../src/retrieval/open-index.ts";
import {
  type Granularity,
  type RankOptions,
  RETRIEVE_OPTIONS,
  rank,
} from "../../src/retrieval/rank.ts";
import type { IndexGeneration } from "../../src/retrieval/search/generation.ts";
import type { Passage } from "../../src/text/passage.ts";
import { naiveScores } from "./bm25/naive.ts";
import {
  build,
  encodeText,
  encodeVaried,
  makePassages,
  naiveSearch,
  rejects,
  temporary,
} from "./support.ts";

const QUESTIONS = ["w1 w2 w3", "w4", "w7 w8 w9 w10 w11"].map((text) => ({
  text,
  vectors: encodeText(text),
}));

/**
 * Half of the passages belong to one document. The others belong to documents of three or four
 * passages or have no title.
 */
const PASSAGES: Passage[] = makePassages(500).map((passage, i) => ({
  ...passage,
  title: i % 2 ? "w1 large" : i % 3 ? `w${i % 130}` : "",
}));

const DELETED = new Set(PASSAGES.filter((_, i) => i % 5 === 1).map(({ id }) => id));
const ALIVE = PASSAGES.map((passage, ordinal) => ({ ...passage, ordinal })).filter(
  ({ id }) => !DELETED.has(id),
);

interface Ranked {
  readonly id: string;
  readonly title: string;
  readonly ordinal: number;
  readonly score: number;
}

const best = (ranking: Ranked[]): Ranked[] =>
  ranking.sort((a, b) => b.score - a.score || a.ordinal - b.ordinal);

/** The weight of rare terms in hybrid search. */
const RARE = 0.5;
const KEYS = await encodeVaried(PASSAGES);
const NAIVE = new Map(
  QUESTIONS.map(({ text, vectors }) => {
    const dense = naiveSearch(vectors, KEYS, KEYS.length).map(
      ({ ordinal, score }) => [ordinal, score] as const,
    );
    return [
      text,
      { dense: new Map(dense), lexical: naiveScores(ALIVE, text, 0.9, 0.4, ALIVE, RARE) },
    ];
  }),
);

/** Every accepted passage by its dense score. */
function naiveDense(text: string, accept: (passage: Ranked) => boolean): Ranked[] {
  const { dense } = NAIVE.get(text)!;
  return best(
    ALIVE.map((passage) => ({ ...passage, score: dense.get(passage.ordinal)! })).filter(accept),
  );
}

/** The union of the best by either score, by both. */
function naiveBoth(
  text: string,
  accept: (passage: Ranked) => boolean,
  { topK, lambda }: { topK: number; lambda: number },
): Ranked[] {
  const { lexical } = NAIVE.get(text)!;
  const words = text.split(" ").length; // none of them is a stop word
  const dense = naiveDense(text, accept);
  const byBm25 = best(
    dense.map((passage) => ({ ...passage, score: lexical.get(passage.id) ?? 0 })),
  );
  const depth = Math.max(MIN_CANDIDATES, topK);
  const matched = byBm25.filter(({ score }) => score > 0).slice(0, depth);
  const union = new Set([...matched, ...dense.slice(0, depth)].map(({ id }) => id));
  return best(
    dense
      .filter(({ id }) => union.has(id))
      .map((passage) => ({
        ...passage,
        score: (lexical.get(passage.id) ?? 0) / words + lambda * passage.score,
      })),
  );
}

/** The best passage of each title. */
function naiveDocuments(ranking: readonly Ranked[]): Ranked[] {
  const isFirst = ({ title, id }: Ranked, i: number) =>
    title === "" ? !!id : ranking.findIndex((other) => other.title === title) === i;
  return ranking.filter(isFirst);
}

type Hit = Pick<Ranked, "id" | "ordinal" | "score">;

/** The checks of `retrieve`, then `rank`. */
async function ranking(
  index: IndexGeneration,
  { hybrid, ...given }: Omit<RankOptions, "hybrid"> & { hybrid?: HybridOptions | undefined },
  questions = QUESTIONS,
): Promise<Hit[][]> {
  const options = resolveOptions(RETRIEVE_OPTIONS, { ...given, hybrid });
  const found = await rank(index, questions, { ...options, hybrid });
  return found.map((own) =>
    own.map(({ passage, ordinal, score }) => ({ id: passage.id, ordinal, score })),
  );
}

function same(hits: readonly Hit[], expected: readonly Ranked[]): void {
  assert.equal(
    hits.map(({ id, ordinal }) => ({ id, ordinal })),
    expected.map(({ id, ordinal }) => ({ id, ordinal })),
  );
  for (const [i, { score }] of hits.entries())
    assert.ok(Math.abs(score - expected[i]!.score) <= 1e-12 * (1 + Math.abs(score)), `${score}`);
}

const ids = new Set(PASSAGES.filter((_, i) => i % 3 === 0).map(({ id }) => id));
const FILTERS = [
  { name: "all", filter: undefined, accept: () => true },
  { name: "a set of ids", filter: ids, accept: ({ id }: Ranked) => ids.has(id) },
  {
    name: "a predicate",
    filter: (ordinal: number) => ordinal % 90 === 3,
    accept: ({ ordinal }: Ranked) => ordinal % 90 === 3,
  },
];

for (const { name, filter, accept } of FILTERS)
  test(`ranks as loops do: ${name}`, async () => {
    await using directory = await temporary();
    await build(directory.path, PASSAGES, { encode: encodeVaried });
    await deletePassages(DELETED, { directory: directory.path });
    await using index = await openIndex(directory.path);
    const lexical = await openLexicalIndex(index);
    for (const topK of [1, 5, 120, 1000])
      for (const lambda of [undefined, 0.05]) {
        const hybrid = lambda === undefined ? undefined : { lexical, lambda };
        const ranked = (granularity: Granularity) =>
          ranking(index, { topK, granularity, filter, hybrid });
        const [passages, documents] = [await ranked("passage"), await ranked("document")];
        for (const [i, { text }] of QUESTIONS.entries()) {
          const naive = (depth: number) =>
            lambda === undefined
              ? naiveDense(text, accept)
              : naiveBoth(text, accept, { topK: depth, lambda });
          same(passages[i]!, naive(topK).slice(0, topK));
          same(documents[i]!, naiveDocuments(naive(depthOf(naive, topK))).slice(0, topK));
        }
      }
  });

/** The number of passages requested: 2 topK, doubled until they belong to `topK` documents. */
function depthOf(naive: (depth: number) => readonly Ranked[], topK: number): number {
  for (let depth = 2 * topK; depth < ALIVE.length; depth *= 2)
    if (naiveDocuments(naive(depth).slice(0, depth)).length >= topK) return depth;
  return ALIVE.length;
}

test("a document of thousands of passages does not hide the others", async () => {
  await using directory = await temporary();
  const passages = Array.from({ length: 3000 }, (_, i) => ({
    id: `p${i}`,
    title: i < 2900 ? "large" : `small ${i}`,
    text: i < 2900 ? "w1 w2 w3" : `w1 w${i}`,
  }));
  await build(directory.path, passages);
  await using index = await openIndex(directory.path);
  const counts: number[] = [];
  const search = (questions: readonly Float32Array[], topK: number) => {
    counts.push(topK);
    return index.rankings(questions, { topK });
  };
  const best = async (topK: number): Promise<Hit[]> => {
    const keyOf = async (ordinal: number) => documentKey(passages[ordinal]!);
    const [found] = await rankGroups(3000, keyOf, search, [question], {
      ...{ topK, first: 2 * topK },
    });
    const { ordinals, scores } = found!;
    return Array.from(ordinals, (ordinal, i) => ({
      ...passages[ordinal]!,
      ordinal,
      score: scores[i]!,
    }));
  };
  const question = encodeText("w1 w2 w3");
  const keys = passages.map(({ text }) => encodeText(text));
  const all = naiveSearch(question, keys, keys.length).map(({ ordinal, score }) => ({
    ...passages[ordinal]!,
    ordinal,
    score,
  }));
  same(await best(10), naiveDocuments(all).slice(0, 10));
  assert.equal(counts, [20, 40, 80, 160, 320, 640, 1280, 2560, 3000]);
  counts.length = 0;
  same(await best(500), naiveDocuments(all));
  assert.equal(counts, [1000, 2000, 3000]);
  counts.length = 0;
  same(await best(1), all.slice(0, 1));
  assert.equal(counts, [2]);
});

test("without words, hybrid search makes the lexical index of an open index once, for every k1 and b", async () => {
  await using directory = await temporary();
  await build(directory.path, PASSAGES.slice(0, 60), { encode: encodeVaried });
  await rm(join(segmentPath(directory.path, "000001"), WORDS_FILE));
  await using index = await openIndex(directory.path);
  let reads = 0;
  const { entries } = index;
  index.entries = () => {
    reads++;
    return entries();
  };
  const search = (hybrid: HybridOptions, signal?: AbortSignal) =>
    ranking(index, { topK: 10, hybrid, signal });
  const stopped = AbortSignal.abort(new Error("stopped"));
  await rejects(search({ lambda: 0.05 }, stopped), /stopped/); // a failed build is not cached
  await rejects(search({ lambda: 0.05, b: 2 }), /^hybrid\.b: expected a number from 0 to 1, got 2/);
  reads = 0;
  const [first, second] = await Promise.all([
    search({ lambda: 0.05 }),
    search({ lambda: 0.05, k1: 0.9, b: 0.4 }),
  ]);
  const other = await search({ lambda: 0.05, k1: 2, b: 1 });
  assert.equal(await search({ lambda: 0.05, k1: 2, b: 1 }), other);
  assert.is(reads, 1);
  const prebuilt = async (k1: number, b: number) =>
    search({ lambda: 0.05, lexical: await openLexicalIndex(index, { k1, b }) });
  assert.equal(first, await prebuilt(0.9, 0.4));
  assert.equal(second, first);
  assert.equal(other, await prebuilt(2, 1));
  const lexical = await openLexicalIndex(index);
  assert.equal(other, await search({ lambda: 0.05, lexical, k1: 2, b: 1 }));
  assert.not.equal(other, first);
});

test("a hybrid search of one question finds what that of a batch finds", async () => {
  await using directory = await temporary();
  const passages = makePassages(1500, 4, 300);
  await build(directory.path, passages, { encode: encodeVaried, bits: 2 });
  await deletePassages(DELETED, { directory: directory.path });
  const questions = Array.from({ length: 12 }, (_, i) => `w${i} w${2 * i + 1} w${299 - i}`).map(
    (text) => ({ text, vectors: encodeText(text) }),
  );
  for (const preset of ["fast", "balanced", "exact"] as const) {
    await using index = await openIndex(directory.path, { preset });
    const lexical = await openLexicalIndex(index);
    for (const filter of [undefined, (ordinal: number) => ordinal % 2 === 1])
      for (const [topK, lambda] of [
        [1, 0],
        [1, 0.01],
        [5, 0.2],
        [25, 5],
        [25, 0.05],
      ] as const) {
        const options = { topK, filter, hybrid: { lexical, lambda } };
        const together = await ranking(index, options, questions);
        for (const [i, question] of questions.entries())
          assert.equal((await ranking(index, options, [question]))[0], together[i]);
      }
  }
});

test("empty results and rejected options", async () => {
  await using directory = await temporary();
  await build(directory.path, PASSAGES.slice(0, 20));
  await using index = await openIndex(directory.path);
  const lexical = await openLexicalIndex(index);
  const none = { topK: 3, filter: () => false } as const;
  assert.equal(await ranking(index, { ...none, granularity: "document" }), [[], [], []]);
  assert.equal(await ranking(index, { ...none, hybrid: { lexical, lambda: 1 } }), [[], [], []]);
  assert.equal(await ranking(index, { topK: 3, granularity: "document" }, []), []);
  for (const topK of [0, 1.5, Number.NaN])
    await rejects(
      ranking(index, { topK, granularity: "document" }),
      /^topK: expected a whole number/,
    );
  for (const lambda of [-1, Number.NaN, Infinity])
    await rejects(
      ranking(index, { topK: 1, hybrid: { lexical, lambda } }),
      /^hybrid\.lambda: expected a number from 0 on/,
    );
  await deletePassages(
    PASSAGES.map(({ id }) => id),
    { directory: directory.path },
  );
  await using empty = await openIndex(directory.path);
  const hybrid = { lexical: await openLexicalIndex(empty), lambda: 1 };
  assert.equal(await ranking(empty, { topK: 3, granularity: "document", hybrid }), [[], [], []]);
});

for (const bits of [undefined, 4] as const)
  test(`scores of given passages equal those of a search, ${bits ? `${bits} bits` : "float32"}`, async () => {
    await using directory = await temporary();
    await build(directory.path, PASSAGES, { encode: encodeVaried, bits });
    await using index = await openIndex(directory.path, { preset: "exact" });
    for (const { vectors } of QUESTIONS) {
      const hits = await index.search(vectors, { topK: 500 });
      assert.equal(
        await index.score(
          vectors,
          hits.map(({ ordinal }) => ordinal),
        ),
        hits.map(({ score }) => score),
      );
    }
    assert.equal(await index.score(QUESTIONS[0]!.vectors, []), []);
    const entries = [];
    for await (const [ordinal, passage] of index.entries()) entries.push({ ...passage, ordinal });
    assert.equal(
      entries,
      PASSAGES.map((passage, ordinal) => ({ ...passage, ordinal })),
    );
  });

test.run();
