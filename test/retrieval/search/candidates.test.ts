import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { CompressedStore } from "../../../src/retrieval/index/format/compressed-store.ts";
import { encodeList } from "../../../src/retrieval/index/format/lists.ts";
import { CandidateFinder } from "../../../src/retrieval/search/candidates.ts";
import { copyTo } from "../support.ts";

const CENTROIDS = 5;

/** The passages of a segment in the list of each centroid. */
type SegmentLists = readonly (readonly number[])[];

/** A store of lists. The other parts are not read. */
function storeOf(
  segments: readonly { readonly passages: number; readonly lists: SegmentLists }[],
): CompressedStore {
  const bases = segments.map((_, i) =>
    segments.slice(0, i).reduce((sum, { passages }) => sum + passages, 0),
  );
  const unread = async (): Promise<never> => {
    throw new Error("the test reads lists only");
  };
  return {
    dimension: 1,
    ordinalCount: segments.reduce((sum, { passages }) => sum + passages, 0),
    longestKey: 1,
    decode: () => new Float32Array(),
    keys: unread,
    codes: unread,
    async lists(centroids, allocate) {
      const all = segments.flatMap(({ lists }) =>
        Array.from(centroids, (centroid) => encodeList(Uint32Array.from(lists[centroid]!))),
      );
      const ranges = copyTo(allocate, all);
      const size = 2 * centroids.length;
      return segments.map(({ passages }, i) => ({
        path: "lists.bin",
        base: bases[i]!,
        passages,
        ranges: ranges.subarray(i * size, (i + 1) * size),
      }));
    },
  };
}

const SEGMENT = fc.integer({ min: 1, max: 40_000 }).chain((passages) =>
  fc.record({
    passages: fc.constant(passages),
    lists: fc.array(
      fc
        .uniqueArray(fc.nat(passages - 1), { maxLength: 30 })
        .map((list) => list.sort((a, b) => a - b)),
      { minLength: CENTROIDS, maxLength: CENTROIDS },
    ),
  }),
);

const PRODUCTS = fc.array(
  fc.array(fc.integer({ min: -9, max: 9 }), { minLength: CENTROIDS, maxLength: CENTROIDS }),
  { minLength: 1, maxLength: 4 },
);

/** The gain of each passage in one of the lists that are read, by ordinal. */
function gainsOf(
  segments: readonly { readonly passages: number; readonly lists: SegmentLists }[],
  products: readonly (readonly number[])[],
  nprobe: number,
): Map<number, number> {
  const gains = new Map<number, number>();
  for (const row of products) {
    const best = [...row.keys()].sort((a, b) => row[b]! - row[a]! || a - b).slice(0, nprobe);
    const bound = row[best.at(-1)!]!;
    let base = 0;
    for (const { passages, lists } of segments) {
      for (let p = 0; p < passages; p++) {
        const met = best.filter((centroid) => lists[centroid]!.includes(p));
        if (met.length > 0) gains.set(base + p, (gains.get(base + p) ?? 0) + row[met[0]!]! - bound);
      }
      base += passages;
    }
  }
  return gains;
}

test("rounds hold the passages with the greatest gains, in descending order", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(SEGMENT, { minLength: 1, maxLength: 2 }),
      PRODUCTS,
      fc.integer({ min: 1, max: CENTROIDS }),
      fc.integer({ min: 1, max: 60 }),
      async (segments, products, nprobe, most) => {
        const finder = new CandidateFinder(storeOf(segments));
        const scores = {
          data: Float32Array.from(products.flat()),
          questionTokens: products.length,
        };
        const accept = (ordinal: number) => ordinal % 3 > 0;
        for (let repeat = 0; repeat < 2; repeat++) {
          const rounds = await finder.find(scores, { nprobe, most, least: 0 }, accept);
          const gains = gainsOf(segments, products, nprobe);
          const wanted = [...gains].filter(([ordinal]) => accept(ordinal));
          const found = rounds.flatMap((round) => [...round]);
          const last = wanted.map(([, gain]) => gain).sort((a, b) => b - a)[most - 1] ?? -Infinity;
          // all with the gain of the last are found
          const expected = wanted.filter(([, gain]) => gain >= last).map(([ordinal]) => ordinal);
          assert.equal(found.slice().sort(), expected.sort());
          for (const [i, round] of rounds.entries()) {
            assert.ok(round.length > 0);
            assert.equal([...round], [...round.slice().sort()]);
            const next = rounds[i + 1] ?? new Uint32Array();
            const least = Math.min(...Array.from(round, (ordinal) => gains.get(ordinal)!));
            for (const ordinal of next) assert.ok(gains.get(ordinal)! <= least);
          }
        }
      },
    ),
    { numRuns: 200 },
  ));

test("if a filter leaves too few passages, more lists are read", async () => {
  const lists = [[0, 1], [2], [3], [4], [5]];
  const finder = new CandidateFinder(storeOf([{ passages: 6, lists }]));
  const scores = { data: Float32Array.of(5, 4, 3, 2, 1), questionTokens: 1 };
  const find = (least: number) =>
    finder.find(scores, { nprobe: 1, most: 10, least }, (ordinal) => ordinal > 0);
  assert.equal(await find(1), [Uint32Array.of(1)]);
  assert.equal(
    (await find(2)).flatMap((round) => [...round]),
    [1, 2, 3, 4],
  );
});

test("a list with a passage that the segment does not have names the file", async () => {
  const finder = new CandidateFinder(
    storeOf([{ passages: 3, lists: [[0, 70_000], [], [], [], []] }]),
  );
  const scores = { data: new Float32Array(CENTROIDS), questionTokens: 1 };
  try {
    await finder.find(scores, { nprobe: 2, most: 5, least: 0 }, () => true);
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, /lists.bin: expected ordinals below 3/);
  }
});

test.run();
