/** Small indexes keep float32 keys, and an addition that makes them larger compresses them. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { readManifest } from "../../../../src/retrieval/index/format/manifest.ts";
import { addPassages } from "../../../../src/retrieval/index/maintain/update.ts";
import {
  bitsFor,
  bitsOption,
  COMPRESSED_TOKENS,
} from "../../../../src/retrieval/index/write/automatic-bits.ts";
import { indexInfo, verifyIndex } from "../../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../../src/retrieval/open-index.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import {
  build,
  encodeText,
  encodeVaried,
  header,
  naiveSearch,
  rejects,
  temporary,
  withMetadata,
} from "../../support.ts";

const TOKENS = 400;
const HALF = Math.ceil(COMPRESSED_TOKENS / TOKENS / 2);
const passage = (i: number): Passage => ({
  id: `p${i}`,
  title: "",
  text: Array.from({ length: TOKENS }, (_, w) => `w${(i * 37 + w * w * 11) % 600}`).join(" "),
});
const PASSAGES = withMetadata(Array.from({ length: 2 * HALF + 10 }, (_, i) => passage(i)));
const OPTIONS = { encode: encodeVaried, bits: "automatic" } as const;

const bitsOf = async (directory: string) => (await indexInfo(directory)).bits;

test("the option says what the index has", () => {
  assert.is(bitsOption({}), "automatic");
  assert.is(bitsOption({ shard: {} }), undefined);
  assert.is(bitsOption({ bits: 32 }), undefined);
  assert.is(bitsOption({ bits: 2 }), 2);
  const [few, many] = [{ dimension: 64 }, { dimension: 256 }];
  assert.is(bitsFor("automatic", COMPRESSED_TOKENS - 1, many), undefined);
  assert.is(bitsFor("automatic", COMPRESSED_TOKENS, few), 4);
  assert.is(bitsFor("automatic", COMPRESSED_TOKENS, many), 2);
  assert.is(bitsFor("automatic", COMPRESSED_TOKENS, { ...many, pooling: "mean" }), 4);
  assert.is(bitsFor(undefined, 1e9, many), undefined);
  assert.is(bitsFor(1, 1, few), 1);
});

for (const count of [1, 3, 10])
  test(`an index of ${count} passages is exact, and the same as one of 32 bits`, async () => {
    await using directory = await temporary();
    const passages = PASSAGES.slice(0, count);
    await build(directory.path, passages, OPTIONS);
    await using index = await openIndex(directory.path);
    const question = encodeText("w1 w2 w3");
    const hits = await index.search(question, { topK: 10 });
    const expected = naiveSearch(question, await encodeVaried(passages), 10);
    assert.equal(
      hits.map(({ ordinal }) => ordinal),
      expected.map(({ ordinal }) => ordinal),
    );
    assert.equal((await readManifest(directory.path)).codec, {
      name: "float32",
      bits: "automatic",
    });
    assert.equal(await verifyIndex(directory.path), []);
  });

test("a large index is compressed at once, and a small one when it grows", async () => {
  await using whole = await temporary();
  await using grown = await temporary();
  await build(whole.path, PASSAGES, OPTIONS);
  assert.is(await bitsOf(whole.path), 4);
  await build(grown.path, PASSAGES.slice(0, HALF), OPTIONS);
  assert.is(await bitsOf(grown.path), 32);
  const replaced = { ...PASSAGES[3]!, metadata: { lang: "fr" } };
  const added = [...PASSAGES.slice(HALF), replaced];
  await addPassages(added, { directory: grown.path, header, encode: encodeVaried });
  assert.is(await bitsOf(grown.path), 4);
  assert.equal(await verifyIndex(grown.path), []);
  const { segments } = await readManifest(grown.path);
  assert.is(segments.length, 1);
  await using index = await openIndex(grown.path);
  const found: Passage[] = [];
  for await (const [, passage] of index.entries()) found.push(passage);
  assert.equal(found, [...PASSAGES.filter(({ id }) => id !== "p3"), replaced]);
  // With the codebook of all keys, each passage is found by its own words.
  for (const { id, text } of PASSAGES.slice(0, 200).filter((_, i) => i % 40 === 0))
    assert.is((await index.search(encodeText(text), { topK: 1 }))[0]!.id, id);
});

test("a growing index resumes, and stays complete if the addition is stopped", async () => {
  await using directory = await temporary();
  const { path } = directory;
  await build(path, PASSAGES.slice(0, HALF), OPTIONS);
  const add = (signal?: AbortSignal, onEvent = (_: string) => {}) =>
    addPassages(PASSAGES.slice(HALF), {
      ...{ directory: path, header, encode: encodeVaried, signal },
      onProgress: ({ event }) => onEvent(event),
    });
  const controller = new AbortController();
  await rejects(
    add(controller.signal, (event) => {
      if (event === "compressed") controller.abort(new Error("stopped"));
    }),
    /stopped/,
  );
  assert.is(await bitsOf(path), 32);
  assert.is((await indexInfo(path)).passages, HALF);
  assert.equal(await verifyIndex(path), []);
  await add();
  assert.is(await bitsOf(path), 4);
  assert.is((await indexInfo(path)).passages, PASSAGES.length);
});

test("an index of 32 bits stays one", async () => {
  await using directory = await temporary();
  const { path } = directory;
  await build(path, PASSAGES.slice(0, HALF), { encode: encodeVaried });
  await addPassages(PASSAGES.slice(HALF), { directory: path, header, encode: encodeVaried });
  assert.is(await bitsOf(path), 32);
});

test.run();
