import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  BLOCK_PASSAGES,
  indexedText,
  OpenBlock,
} from "../../../src/retrieval/bm25/inverted-index.ts";
import { findPostings, termHash, termPages } from "../../../src/retrieval/bm25/term-pages.ts";
import { hybridParameters } from "../../../src/retrieval/hybrid.ts";
import { readManifest, segmentPath } from "../../../src/retrieval/index/format/manifest.ts";
import { WORDS_FILE } from "../../../src/retrieval/index/format/words-file.ts";
import { compactIndex, mergeShards } from "../../../src/retrieval/index/maintain/compact.ts";
import { addPassages } from "../../../src/retrieval/index/maintain/update.ts";
import { openLexicalIndex } from "../../../src/retrieval/lexical-index.ts";
import { deletePassages, indexInfo, verifyIndex } from "../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../src/retrieval/open-index.ts";
import type { Passage } from "../../../src/text/passage.ts";
import { termsOf } from "../../../src/text/terms.ts";
import {
  build,
  damage,
  encodeVaried,
  header,
  makePassages,
  rejects,
  sameBytes,
  temporary,
} from "../support.ts";

/** The words of an index give the scores, bit for bit, that its texts give. */
async function same(directory: string, queries: readonly string[]): Promise<void> {
  await using index = await openIndex(directory);
  const words = (await index.words())!;
  assert.ok(words, "the index has words");
  const { bm25 } = await openLexicalIndex(index);
  assert.equal(words.analyser.languages, bm25.analyser.languages);
  const ordinals = Uint32Array.from(bm25.ids.keys()).filter(
    (ordinal) => bm25.ids[ordinal] !== "" && (ordinal < 1_000 || ordinal % 100 === 0),
  );
  for (const query of [...queries, "", "unknownword"])
    for (const parameters of [{}, { k1: 2, b: 1 }, { k1: 0, b: 0 }])
      for (const accept of [undefined, (ordinal: number) => ordinal % 3 === 1])
        for (const topK of [1, 10, 10_000]) {
          const found = await words.rank(query, topK, { accept, ...parameters });
          assert.equal(found, bm25.rank(query, topK, { accept, ...parameters }), query);
          assert.equal(
            await words.score(query, ordinals, parameters),
            bm25.score(query, ordinals, parameters),
          );
        }
}

const QUERIES = ["w1 w2 w3", "w4 w4 w4 w7", "w9", "t 3 w11 unknown w12"];

async function addTo(directory: string, passages: readonly Passage[]): Promise<void> {
  await addPassages(passages, { directory, header, encode: encodeVaried });
}

const wordsPath = async (directory: string, segment = 0): Promise<string> =>
  join(segmentPath(directory, (await readManifest(directory)).segments[segment]!.name), WORDS_FILE);

test("words complete a question as the texts do, over all segments", async () => {
  await using directory = await temporary();
  const { path } = directory;
  const [first, second] = makePassages(2, 1, 40);
  await build(path, [{ ...first!, text: "a minimum salary of 5kg" }], { encode: encodeVaried });
  await addTo(path, [{ ...second!, text: "the salaries of a celery" }]);
  await using index = await openIndex(path);
  const words = (await index.words())!;
  const { bm25 } = await openLexicalIndex(index);
  for (const query of ["minimun", "salery", "celary 5 kg", "seven"])
    for (const parameters of [hybridParameters(), {}]) {
      const found = await words.rank(query, 10, parameters);
      assert.equal(found, bm25.rank(query, 10, parameters), query);
      assert.is(found.ordinals.length > 0, "completes" in parameters && query !== "seven", query);
    }
});

for (const bits of [undefined, 2] as const)
  test(`words give the scores of the texts after every change, ${bits ?? 32} bits`, async () => {
    await using directory = await temporary();
    const { path } = directory;
    await build(path, makePassages(700, 1, 300), { encode: encodeVaried, bits });
    await same(path, QUERIES);
    await deletePassages(["p0", "p3", "p699"], { directory: path });
    await same(path, QUERIES);
    for (const [count, seed] of [
      [200, 2],
      [60, 3],
      [5, 4],
    ] as const) {
      const added = makePassages(count, seed, 400).map((one) => ({
        ...one,
        id: `${seed}-${one.id}`,
      }));
      await addTo(path, [...added, { id: `p${seed}`, title: "", text: "w1 replaced" }]);
      await same(path, QUERIES);
    }
    assert.ok((await readManifest(path)).segments.length > 2);
    await deletePassages(["2-p1", "4-p4"], { directory: path });
    await same(path, QUERIES);
    const before = (await indexInfo(path)).bytes;
    await compactIndex(path);
    assert.ok((await indexInfo(path)).bytes < before);
    await same(path, QUERIES);
    assert.equal(await verifyIndex(path), []);
    await deletePassages(
      makePassages(700).map(({ id }) => id),
      { directory: path },
    );
    await same(path, QUERIES);
  });

test("the words of merged shards are those of a single build", async () => {
  await using directory = await temporary();
  const [a, b, whole, merged] = ["a", "b", "whole", "merged"].map((name) =>
    join(directory.path, name),
  ) as [string, string, string, string];
  const passages = makePassages(1_200, 5, 200);
  await build(whole, passages);
  for (const [index, shard] of [a, b].entries())
    await build(shard, passages, { shard: { index, count: 2 } });
  await mergeShards([a, b], { directory: merged });
  await sameBytes(merged, whole);
  await same(merged, QUERIES);
});

const GERMAN = (i: number): Passage => ({
  id: `d${i}`,
  title: "",
  text: `Der Hund und die Katze sind in den Häusern, das ist ${i} nicht von mir auf dem Dach`,
});
const ENGLISH = (i: number): Passage => ({
  id: `e${i}`,
  title: "",
  text: `The dog and the cats are in the houses for that as it was ${i} on the roof`,
});
const OTHERS: readonly Passage[] = [
  { id: "ru", title: "Дом", text: "Собаки и кошки в домах".repeat(9) },
  { id: "zh", title: "", text: "諾曼第是法國的一個地區。東京都に住む人々" },
];
const IN_WORDS = ["dogs houses", "Hunde Häuser", "собака дома", "地區 東京", "cafe"];

test("words have the languages of the index, also when a change gives it others", async () => {
  await using directory = await temporary();
  const { path } = directory;
  const many = (make: (i: number) => Passage, count: number) =>
    Array.from({ length: count }, (_, i) => make(i));
  const language = async () => {
    await using index = await openIndex(path);
    return (await index.words())?.analyser.languages[0];
  };
  await build(path, [...many(ENGLISH, 150), ...OTHERS]);
  assert.is(await language(), "en");
  await same(path, IN_WORDS);
  await addTo(path, many(GERMAN, 90));
  assert.is(await language(), "en");
  await same(path, IN_WORDS);
  await deletePassages(
    many(ENGLISH, 130).map(({ id }) => id),
    { directory: path },
  );
  assert.equal((await readManifest(path)).segments.length, 2);
  assert.is(await language(), "de");
  await same(path, IN_WORDS);
  await build(path, OTHERS);
  assert.is(await language(), "ru");
  await same(path, IN_WORDS);
});

test("an index without words, with those of other texts, or of another version is as before", async () => {
  await using directory = await temporary();
  const { path } = directory;
  await build(path, makePassages(300));
  const file = await wordsPath(path);
  const bytes = await readFile(file);
  const hasWords = async () => {
    await using index = await openIndex(path);
    return (await index.words()) !== undefined;
  };
  assert.ok(await hasWords());
  const withHeader = (change: object): Buffer => {
    const start = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
    const old = JSON.parse(bytes.subarray(start, -8).toString());
    const json = Buffer.from(JSON.stringify({ ...old, ...change }));
    const tail = Uint32Array.of(json.length, crc32(json));
    return Buffer.concat([bytes.subarray(0, start), json, new Uint8Array(tail.buffer)]);
  };
  for (const change of [
    { version: 2 },
    { analysis: 0 },
    { dictionary: "1.0" },
    { texts: 1 },
    { passages: 299 },
    { languages: ["de"] },
  ]) {
    await writeFile(file, withHeader(change));
    assert.not(await hasWords(), JSON.stringify(change));
  }
  await writeFile(file, withHeader({}));
  assert.ok(await hasWords());
  await rm(file);
  assert.not(await hasWords());
  assert.equal(await verifyIndex(path), []);
  const without = (await indexInfo(path)).bytes;
  await compactIndex(path); // writes them
  assert.ok((await readFile(file)).equals(bytes));
  const { bytes: size, generation } = await indexInfo(path);
  assert.ok(Math.abs(size - without - bytes.length) < 10, "the number of the generation is longer");
  assert.is(generation, 2);
  await compactIndex(path); // has nothing to do
  assert.is((await indexInfo(path)).generation, 2);
  await rm(file);
  await deletePassages(["p7"], { directory: path });
  await same(path, QUERIES);
});

test("damaged words are an error that names the file, until a change writes them again", async () => {
  await using directory = await temporary();
  const { path } = directory;
  await build(path, makePassages(300));
  const file = await wordsPath(path);
  const bytes = await readFile(file);
  const message = /words\.bin: expected its own checksums, got changed contents; remove the file/;
  for (const [where, torn] of [
    [0.01, false],
    [0.6, false],
    [0.8, false],
    [0.97, false],
    [0.9999, false],
    [0, true],
    [0.5, true],
    [0.9999, true],
  ] as const) {
    await damage(file, where, torn);
    const search = async () => {
      await using index = await openIndex(path);
      const words = await index.words();
      for (let i = 0; i < 50; i++) await words!.rank(`w${i} t ${i}`, 5, {});
    };
    await rejects(search(), message);
    assert.equal(await verifyIndex(path), [{ path: file, problem: "changed contents" }]);
    await writeFile(file, bytes);
  }
  await writeFile(file, Buffer.alloc(bytes.length)); // what a power cut can leave
  await rejects(
    openIndex(path).then(async (index) => index.words().finally(() => index.close())),
    message,
  );
  assert.equal(await verifyIndex(path), [{ path: file, problem: "changed contents" }]);
  await damage(file, 0.9999, false);
  await deletePassages(["p7"], { directory: path });
  assert.ok((await readFile(file)).equals(bytes));
  await same(path, QUERIES);
});

test("a term is found in the page of its checksum", () => {
  const vocabulary = new Map<string, number>();
  const block = new OpenBlock(0, vocabulary);
  // "plumless" and "buckeroo" have the same CRC-32
  const texts = Array.from({ length: 3_000 }, (_, i) =>
    i % 500 === 7 ? `plumless buckeroo buckeroo ${"often ".repeat(300)}` : `often x${i} x${i >> 1}`,
  );
  assert.is(termHash("plumless"), termHash("buckeroo"));
  for (const text of texts) block.add(termsOf(text));
  const pages = [...termPages(block.invert(), vocabulary)];
  assert.ok(pages.length > 5);
  const postingsOf = (term: string) => {
    const page = pages.findLast(({ first }) => first <= termHash(term))!;
    const { places, frequencies } = findPostings(page.bytes, term, (place) => place !== 8);
    return Array.from(places, (place, i) => [place, frequencies[i]!]);
  };
  for (const term of ["often", "plumless", "buckeroo", "x0", "x1499", "x2999", "none"]) {
    const expected = texts
      .map((text, place) => [place, termsOf(text).filter((one) => one === term).length] as const)
      .filter(([place, count]) => count > 0 && place !== 8);
    assert.equal(postingsOf(term), expected, term);
  }
});

test("words of several blocks", async () => {
  await using directory = await temporary();
  const passages = Array.from({ length: BLOCK_PASSAGES + 40 }, (_, i) => ({
    id: `${i}`,
    title: "",
    text: i % 1_000 === 0 || i > BLOCK_PASSAGES ? `rare w${i % 7}` : "often",
  }));
  await build(directory.path, passages);
  await deletePassages(["1000", `${BLOCK_PASSAGES + 3}`], { directory: directory.path });
  await same(directory.path, ["rare w3", "often rare"]);
  assert.is(indexedText(passages[0]!), " rare w0");
});

test.run();
