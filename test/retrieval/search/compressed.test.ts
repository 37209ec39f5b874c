import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import {
  type Bits,
  type Codebook,
  centroidsOf,
  codeStarts,
  decodeKeys,
  subquantiserCounts,
} from "../../../src/retrieval/codec/codec.ts";
import { openKeyEncoder } from "../../../src/retrieval/codec/key-encoder.ts";
import { kMeans } from "../../../src/retrieval/codec/kmeans.ts";
import { openNearestFinder } from "../../../src/retrieval/codec/nearest.ts";
import { rotate } from "../../../src/retrieval/codec/opq-rotation.ts";
import { trainCodebook } from "../../../src/retrieval/codec/train-codebook.ts";
import { decodeLists, encodeList, encodeLists } from "../../../src/retrieval/index/format/lists.ts";
import {
  codebookPath,
  type Manifest,
  readManifest,
  segmentPath,
  writeManifest,
} from "../../../src/retrieval/index/format/manifest.ts";
import { verifyIndex } from "../../../src/retrieval/index/maintain/verify.ts";
import { openIndex } from "../../../src/retrieval/open-index.ts";
import type { Passage } from "../../../src/text/passage.ts";
import {
  build,
  DIMENSION,
  encodeText,
  header,
  makePassages,
  noise,
  rejects,
  sameBytes,
  temporary,
} from "../support.ts";

test("the nearest row is that of a naive loop", async () => {
  for (const [size, count] of [
    [1, 256],
    [4, 1],
    [8, 33],
  ] as const) {
    const [rows, table] = [noise(500 * size), noise(count * size, 7)];
    await using finder = await openNearestFinder(size);
    const found = await finder.nearest(rows, table);
    const distance = (row: number, c: number) => {
      let sum = 0;
      for (let d = 0; d < size; d++) sum += (rows[row * size + d]! - table[c * size + d]!) ** 2;
      return sum;
    };
    for (let row = 0; row < 500; row++) {
      let least = Infinity;
      for (let c = 0; c < count; c++) least = Math.min(least, distance(row, c));
      assert.ok(distance(row, found[row]!) <= least + 1e-6);
    }
  }
});

test("k-means finds heaps that lie apart", async () => {
  const heaps = [0, 10, 20, 30];
  const sample = noise(400).map((value, i) => heaps[Math.floor(i / 100)]! + 0.01 * value);
  const centroids = [...(await kMeans(sample, 1, 4, undefined))].sort((a, b) => a - b);
  for (const [i, heap] of heaps.entries())
    assert.ok(Math.abs(centroids[i]! - heap) < 0.01, String(centroids));
});

test("a code names its centroid, its ratio and its residual; more bits are nearer", async () => {
  // half of the keys lie near a few points, the others anywhere
  const keys = noise(4000 * DIMENSION).map((value, i) =>
    (i / DIMENSION) % 8 < 4 ? 0.1 * value + Math.sign(value) : 2 * value,
  );
  const errors = [];
  for (const bits of [1, 2, 4, 8] as const) {
    const codebook = await trainCodebook(keys, DIMENSION, 16, bits);
    const { long, short } = subquantiserCounts(DIMENSION, bits);
    assert.is(long + short, 2 * bits); // of 8 dimensions
    await using encoder = await openKeyEncoder(codebook);
    const codes = await encoder.encode(keys);
    const starts = codeStarts(codes, codebook);
    assert.is(starts.length, 4001);
    assert.is(starts.at(-1), codes.length);
    const centroids = centroidsOf(codes, codebook);
    for (const [token, centroid] of centroids.entries()) {
      assert.is(centroid, codes[starts[token]!]! + 256 * codes[starts[token]! + 1]!);
      assert.is(starts[token + 1]! - starts[token]!, 3 + codebook.subquantisers[centroid]!);
    }
    const decoded = decodeKeys(codes, codebook);
    assert.equal(decoded.subarray(0, 50 * DIMENSION), decodeNaively(codes, codebook, 50));
    const rotated = rotate(keys, codebook.rotation, DIMENSION);
    errors.push(rotated.reduce((sum, key, i) => sum + (key - decoded[i]!) ** 2, 0) / keys.length);
    const length = (rows: Float32Array, row: number) =>
      Math.hypot(...rows.subarray(row * DIMENSION, (row + 1) * DIMENSION));
    for (let row = 0; row < 4000; row += 7)
      assert.ok(Math.abs(length(decoded, row) / length(keys, row) - 1) < 0.1);
  }
  for (let i = 1; i < 4; i++)
    assert.ok(errors[i]! < 0.6 * errors[i - 1]!, `squared errors ${errors}`);
});

test("lists give back what was listed, whatever the pieces", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.nat(5), { minLength: 1, maxLength: 4 }), {
        minLength: 1,
        maxLength: 300,
      }),
      fc.integer({ min: 1, max: 50 }),
      async (passages, size) => {
        async function* pieces() {
          for (let first = 0; first < passages.length; first += size) {
            const part = passages.slice(first, first + size);
            yield { first, centroids: part.map((tokens) => Uint32Array.from(tokens)) };
          }
        }
        let centroid = 0;
        for await (const bytes of encodeLists(6, pieces)) {
          const expected = passages.flatMap((tokens, p) => (tokens.includes(centroid) ? [p] : []));
          assert.equal([...decodeLists([bytes], [0])], expected);
          centroid++;
        }
        assert.is(centroid, 6);
      },
    ),
    { numRuns: 50 },
  ));

test("a list of distant ordinals takes several bytes each", () => {
  const ordinals = Uint32Array.of(0, 1, 127, 300, 20_000_000);
  assert.equal(decodeLists([encodeList(ordinals)], [0]), ordinals);
});

test("lists of several segments count from where each segment begins", () => {
  const lists = [Uint32Array.of(0, 3), new Uint32Array(), Uint32Array.of(0, 200)].map(encodeList);
  assert.equal(decodeLists(lists, [0, 4, 1000]), Uint32Array.of(0, 3, 1000, 1200));
});

test("pruned search returns as many as asked, with the scores of exact search, and most of its passages", async () => {
  await using directory = await temporary();
  // a word's keys differ from passage to passage, as those of a model do
  let seed = 0;
  const encode = async (passages: readonly Passage[]) =>
    passages.map(({ text }) => {
      const keys = encodeText(text);
      const change = noise(keys.length, seed++);
      return keys.map((key, i) => key + 0.7 * change[i]!);
    });
  await build(directory.path, makePassages(3000), { bits: 4, encode });
  await using exact = await openIndex(directory.path, { preset: "exact" });
  for (const [preset, least] of [
    ["fast", 0.5],
    ["balanced", 0.9],
  ] as const) {
    await using index = await openIndex(directory.path, { preset });
    let shared = 0;
    for (let i = 0; i < 15; i++) {
      const question = encodeText(`w${i} w${(3 * i) % 50} w${(7 * i + 1) % 50} u${i}`);
      const all = new Map(
        (await exact.search(question, { topK: 3000 })).map((hit) => [hit.ordinal, hit]),
      );
      const best = (await exact.search(question, { topK: 10 })).at(-1)!.score;
      const hits = await index.search(question, { topK: 10 });
      assert.is(hits.length, 10);
      for (const hit of hits) assert.equal(hit, all.get(hit.ordinal));
      shared += hits.filter(({ score }) => score >= best).length / 10;
    }
    assert.ok(shared / 15 >= least, `${preset} found ${shared / 15}`);
    assert.is((await index.search(encodeText("w1"), { topK: 5000 })).length, 3000);
  }
});

test("a compressed build goes on after an interrupt, and ends with the same bytes", async () => {
  const passages = makePassages(1200);
  await using whole = await temporary();
  await build(whole.path, passages, { bits: 2 });
  await using directory = await temporary();
  for (const stop of ["encoded", "compressed"]) {
    const controller = new AbortController();
    await rejects(
      build(directory.path, passages, {
        bits: 2,
        signal: controller.signal,
        onProgress: ({ event }) => {
          if (event === stop) controller.abort(new Error("stopped"));
        },
      }),
      /stopped/,
    );
  }
  await build(directory.path, passages, { bits: 2 });
  await sameBytes(directory.path, whole.path);
  assert.equal(await readdir(join(directory.path, "segments")), ["000001"]);
});

test("an index of float32 keys and a compressed one replace each other", async () => {
  await using directory = await temporary();
  for (const [generation, bits] of (
    [undefined, 8, 2, undefined] as (Bits | undefined)[]
  ).entries()) {
    await build(directory.path, makePassages(100 + generation), { bits });
    await using index = await openIndex(directory.path);
    assert.is(index.generation, generation + 1);
    assert.is((await index.search(encodeText("w1 w2"), { topK: 200 })).length, 100 + generation);
  }
  assert.equal(await readdir(join(directory.path, "codebooks")), []);
});

test("names the file that was damaged", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(300), { bits: 2 });
  const folders = [segmentPath(directory.path, "000001"), codebookPath(directory.path, "000001")];
  for (const folder of folders)
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const before = await readFile(path);
      await writeFile(
        path,
        before.map((byte, i) => (i === before.length >> 1 ? byte ^ 1 : byte)),
      );
      assert.equal(
        (await verifyIndex(directory.path)).map(({ path }) => path),
        [path],
      );
      await appendFile(path, "x");
      await rejects(openIndex(directory.path), new RegExp(`${name}: expected`));
      await writeFile(path, before);
    }
});

test("refuses an index whose codec it does not know, in one line", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(30), { bits: 2 });
  const manifest = await readManifest(directory.path);
  const codec = { ...manifest.codec, name: "residual" } as unknown as Manifest["codec"];
  await writeManifest(directory.path, { ...manifest, codec });
  const error = await openIndex(directory.path).catch((error: unknown) => error);
  assert.instance(error, InputError);
  assert.match(
    (error as Error).message,
    /^[^\n]*index\.json: expected a known codec\.name, got [^\n]*build the index again$/,
  );
});

test("refuses a number of bits that there is not", async () => {
  await using directory = await temporary();
  const error = await build(directory.path, makePassages(5), { bits: 3 as Bits }).catch(
    (error: unknown) => error,
  );
  assert.instance(error, InputError);
  assert.match((error as Error).message, /^bits: expected 1, 2, 4 or 8/);
  const odd = { ...header, dimension: 4 };
  await rejects(
    build(directory.path, makePassages(5), { bits: 1, header: odd }),
    /whole bytes for 4 dimensions/,
  );
});

/** Key by key, part by part. */
function decodeNaively(codes: Uint8Array, codebook: Codebook, tokens: number): Float32Array {
  const keys = [];
  let at = 0;
  for (let token = 0; token < tokens; token++) {
    const centroid = codes[at]! + 256 * codes[at + 1]!;
    const ratio = codebook.ratios[codes[at + 2]!]!;
    at += 3;
    const subquantisers = codebook.subquantisers[centroid]!;
    let table = [...codebook.codewords.get(subquantisers)!];
    const key = [...codebook.centroids.subarray(centroid * DIMENSION, (centroid + 1) * DIMENSION)];
    let d = 0;
    for (let subspace = 0; subspace < subquantisers; subspace++, at++) {
      const width =
        Math.floor(((subspace + 1) * DIMENSION) / subquantisers) -
        Math.floor((subspace * DIMENSION) / subquantisers);
      for (const value of table.slice(codes[at]! * width, (codes[at]! + 1) * width))
        key[d++]! += value;
      table = table.slice(256 * width);
    }
    keys.push(...key.map((value) => ratio * value));
  }
  return Float32Array.from(keys);
}

test.run();
