import { test } from "uvu";
import * as assert from "uvu/assert";
import { type FaissFactory, largestCodebook } from "../../../src/retrieval/faiss/faiss-factory.ts";
import { type OpenOptions, openIndex } from "../../../src/retrieval/open-index.ts";
import type { FillProgress } from "../../../src/retrieval/search/token-search.ts";
import {
  build,
  encodeText,
  encodeVaried,
  isInstalled,
  makePassages,
  rejects,
  temporary,
} from "../support.ts";

test("the largest codebook of a factory string", () => {
  for (const [factory, centroids] of [
    ["HNSW32", 1],
    ["PCA32,SQ8", 1],
    ["IVF4096,Flat", 4096],
    ["IVF16,PQ8", 256],
    ["IVF16,PQ8x4fs", 16],
    ["PQ16x10np", 1024],
    ["OPQ16_64,IVF16,PQ16x4fs", 256],
    ["IVF65536_HNSW32,PQ16", 65_536],
    ["IMI2x9,Flat", 512],
  ] as const)
    assert.is(largestCodebook(factory), centroids, factory);
});

if (isInstalled("faiss-node")) faissTests();
else test.skip("faiss factory: the package faiss-node is not installed");

function faissTests(): void {
  const questions = makePassages(10, 5, 5000).map(({ text }) => encodeText(text));

  const open = (directory: string, factory: FaissFactory, options?: OpenOptions) =>
    openIndex(directory, { engine: { name: "faiss", ...factory }, ...options });

  test("nprobe limits the lists that are read; with all lists the search is exact", async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(1200, 1, 5000), { encode: encodeVaried });
    await using exact = await openIndex(directory.path);
    const best = await exact.searchBatch(questions, { topK: 10 });
    const found = async (factory: FaissFactory) => {
      await using index = await open(directory.path, factory);
      const hits = await index.searchBatch(questions, { topK: 10 });
      const ids = best.map((hits) => new Set(hits.map(({ id }) => id)));
      return hits.flatMap((hits, q) => hits.filter(({ id }) => ids[q]!.has(id))).length;
    };
    assert.is(await found({ factory: "IVF64,Flat", nprobe: 64 }), 100);
    assert.ok((await found({ factory: "IVF64,Flat", nprobe: 1 })) < 90);
    // The lists are also found behind a rotation and with codes.
    const rotated = "PCAR8,IVF64,PQ8x4np";
    const [one, all] = [
      await found({ factory: rotated, nprobe: 1 }),
      await found({ factory: rotated, nprobe: 64 }),
    ];
    assert.ok(one < all && all >= 95, `${one}, ${all}`);
  });

  test("trains an optimised product quantisation", async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(100, 1, 5000), { encode: encodeVaried });
    await using index = await open(directory.path, { factory: "OPQ2,IVF4,PQ4x4np", nprobe: 4 });
    await using exact = await openIndex(directory.path);
    for (const question of questions)
      assert.equal(
        await index.search(question, { topK: 1 }),
        await exact.search(question, { topK: 1 }),
      );
  });

  test("searches a compressed index by its decoded keys", async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(1000), { encode: encodeVaried, bits: 2 });
    await using index = await open(directory.path, { factory: "IVF16,Flat", nprobe: 16 });
    await using exact = await openIndex(directory.path, { preset: "exact" });
    assert.equal(
      await index.searchBatch(questions, { topK: 5 }),
      await exact.searchBatch(questions, { topK: 5 }),
    );
  });

  test("reports progress and stops on a signal", async () => {
    await using directory = await temporary();
    const passages = makePassages(6000, 1, 5000); // three pieces
    await build(directory.path, passages, { encode: encodeVaried });
    const progress: FillProgress[] = [];
    const stop = new AbortController();
    const factory = { factory: "IVF16,Flat" };
    await using index = await open(directory.path, factory, {
      onProgress: (event) => progress.push(event),
    });
    assert.is(progress.length, 4);
    assert.equal(progress[0], { tokens: 0, total: index.tokenCount });
    assert.equal(progress[3], { tokens: index.tokenCount, total: index.tokenCount });
    const opening = open(directory.path, factory, {
      signal: stop.signal,
      onProgress: () => stop.abort(new Error("enough")),
    });
    await rejects(opening, /enough/);
  });

  test("rejects indexes that faiss cannot create or train, in one line", async () => {
    await using directory = await temporary();
    await build(directory.path, makePassages(20), { encode: encodeVaried });
    for (const [factory, message] of [
      [
        { factory: "Tree7" },
        /^faiss factory "Tree7": expected .*, got could not parse index string Tree7 \(8 dim/,
      ],
      [{ factory: "PQ3" }, /dimension of the vector \(d\) should be a multiple/],
      [{ factory: "LSH" }, /metric == METRIC_L2/],
      [{ factory: "IDMap,Flat" }, /got IDMap/],
      [
        { factory: "IVF1024,Flat" },
        /got \d+ token keys to learn 1024 centroids from; choose another/,
      ],
      [
        { factory: "HNSW32", nprobe: 4 },
        /^nprobe of HNSW32: expected an index with lists, such as IVF256,PQ16/,
      ],
    ] as const) {
      await rejects(open(directory.path, factory), message);
    }
  });
}

test.run();
