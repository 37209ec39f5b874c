/** Document ids and metadata go through every change of an index, and old indexes still open. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readManifest } from "../../../src/retrieval/index/format/manifest.ts";
import { compactIndex, mergeShards } from "../../../src/retrieval/index/maintain/compact.ts";
import { addPassages } from "../../../src/retrieval/index/maintain/update.ts";
import { deletePassages, verifyIndex } from "../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../src/retrieval/open-index.ts";
import { parseWhere } from "../../../src/retrieval/where/parse-where.ts";
import type { Passage } from "../../../src/text/passage.ts";
import {
  build,
  damage,
  encodeVaried,
  header,
  makePassages,
  rejects,
  sameBytes,
  temporary,
  withMetadata,
} from "../support.ts";

const PASSAGES = withMetadata(makePassages(700));
const OPTIONS = { encode: encodeVaried };

async function holds(directory: string, passages: readonly Passage[]): Promise<void> {
  assert.equal(await verifyIndex(directory), []);
  await using index = await openIndex(directory);
  const found: Passage[] = [];
  for await (const [, passage] of index.entries()) found.push(passage);
  assert.equal(found, passages);
  const where = { lang: "en", number: { gte: 20 } };
  if (!passages.some(({ metadata }) => metadata)) {
    await rejects(index.matching(where), /passages with metadata, and there is none, got "lang"/);
    return;
  }
  const matches = await index.matching(where);
  const asText = await index.matching('lang = "en" and number >= 20');
  for await (const [ordinal, { id, metadata }] of index.entries())
    for (const match of [matches, asText])
      assert.is(match(ordinal), metadata?.lang === "en" && Number(metadata.number) >= 20, id);
}

for (const bits of [undefined, 2] as const)
  test(`metadata survives add, replace, delete and compact: ${bits ?? 32} bits`, async () => {
    await using directory = await temporary();
    const { path } = directory;
    await build(path, PASSAGES, { ...OPTIONS, bits });
    await holds(path, PASSAGES);
    const changed = PASSAGES.slice(10, 14).map((passage, i) => ({
      ...passage,
      document: "changed",
      metadata: { lang: "en", number: 1000 + i },
    }));
    const plain = makePassages(3).map((passage, i) => ({ ...passage, id: `plain ${i}` }));
    await addPassages([...changed, ...plain], { directory: path, header, ...OPTIONS });
    const added = [...PASSAGES.slice(0, 10), ...PASSAGES.slice(14), ...changed, ...plain];
    await holds(path, added);
    await deletePassages(["p0", "p11"], { directory: path });
    const left = added.filter(({ id }) => id !== "p0" && id !== "p11");
    await holds(path, left);
    await compactIndex(path);
    await holds(path, left);
    assert.is((await readManifest(path)).segments.length, 1);
  });

test("merged shards have the bytes of one build", async () => {
  await using directory = await temporary();
  const at = (name: string) => join(directory.path, name);
  const shards = [at("a"), at("b")];
  const passages = [...makePassages(512), ...PASSAGES.slice(512)]; // one shard has no metadata
  for (const [index, shard] of shards.entries())
    await build(shard, passages, { ...OPTIONS, shard: { index, count: 2 } });
  for (const bits of [32, 2] as const) {
    await mergeShards(shards, { directory: at(`merged ${bits}`), bits });
    await build(at(`whole ${bits}`), passages, {
      ...OPTIONS,
      bits: bits === 32 ? undefined : bits,
    });
    await sameBytes(at(`merged ${bits}`), at(`whole ${bits}`));
    await holds(at(`merged ${bits}`), passages);
  }
  await rejects(
    mergeShards(shards, { directory: at("merged 2") }),
    /expected a folder without an i/,
  );
  await mergeShards(shards, { directory: at("merged 2"), replace: true });
});

test("an index of passages without metadata has the files of earlier versions", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(30), OPTIONS);
  const [segment] = (await readManifest(directory.path)).segments;
  assert.equal(Object.keys(segment!.files), [
    "passages.deflate",
    "offsets.u64",
    "ids.u64",
    "keys.f32",
    "blocks.u32",
  ]);
  await holds(directory.path, makePassages(30));
  await addPassages(PASSAGES.slice(50, 60), { directory: directory.path, header, ...OPTIONS });
  await holds(directory.path, [...makePassages(30), ...PASSAGES.slice(50, 60)]);
});

test("a condition on an unknown field, or on another type, lists the fields and their types", async () => {
  await using directory = await temporary();
  const metadata = [
    { price: 9.5, draft: false, date: "2024-05-01", tags: ["hr", "it"], years: [2020, 2021] },
    { price: 12, draft: true, date: "2024-06-01", tags: [], name: "Lamp" },
  ];
  const passages = makePassages(3).map((passage, i) => ({ ...passage, metadata: metadata[i] }));
  await build(directory.path, passages as Passage[], OPTIONS);
  await using index = await openIndex(directory.path);
  const found = async (condition: string) => {
    const matches = await index.matching(parseWhere(condition));
    return [0, 1, 2].filter((ordinal) => matches(ordinal));
  };
  assert.equal(await found("price >= 9"), [0, 1]);
  assert.equal(await found("draft = false"), [0]);
  assert.equal(await found('tags = "hr"'), [0]);
  assert.equal(await found("years = 2021"), [0]);
  assert.equal(await found("date > 2024-05-01"), [1]);
  assert.equal(await found("other exists"), []);
  assert.equal(await found('name != "Lamp"'), [0, 2]);
  const fields =
    /date \(date\), draft \(true or false\), name \(text\), price \(number\), tags \(list\), years \(list\)/;
  for (const condition of ["prize >= 9", 'price = "9.5"', 'draft = "false"', "not name = 3"]) {
    const error = await found(condition).catch(String);
    assert.match(String(error), fields, condition);
  }
  await rejects(found("prize >= 9"), /got "prize"; did you mean price\?/);
});

test("a resumed build does not keep metadata that has changed", async () => {
  await using directory = await temporary();
  const passages = withMetadata(makePassages(1100));
  const controller = new AbortController();
  const stopped = build(directory.path, passages, {
    ...OPTIONS,
    signal: controller.signal,
    onProgress: ({ event, passages: done }) => {
      if (event === "encoded" && done === 1024) controller.abort(new Error("stopped"));
    },
  });
  await rejects(stopped, /stopped/);
  const changed = passages.map((passage, i) =>
    i === 600 ? { ...passage, metadata: { lang: "fr" } } : passage,
  );
  const events: string[] = [];
  await build(directory.path, changed, {
    ...OPTIONS,
    onProgress: ({ event, passages: done }) => events.push(`${event} ${done}`),
  });
  assert.ok(events.includes("diverged 512"), events.join());
  await holds(directory.path, changed);
});

test("metadata keeps unusual names and values", async () => {
  await using directory = await temporary();
  const metadata = JSON.parse(
    '{"__proto__":"a","toString":1,"":"","and":true,"ü\\ud800":["\\u0000","😀"],"n":-1.5e-7}',
  );
  const passages: Passage[] = [
    { id: "a", title: "", text: "w1", metadata },
    { id: "b", title: "", text: "w2", document: "\n", metadata: {} },
  ];
  await build(directory.path, passages, OPTIONS);
  await using index = await openIndex(directory.path);
  assert.equal(JSON.stringify(await index.passages([0, 1])), JSON.stringify(passages));
  const passing = async (where: object) => {
    const matches = await index.matching(where as never);
    return [0, 1].filter(matches);
  };
  assert.equal(await passing(JSON.parse('{"__proto__":"a"}')), [0]);
  assert.equal(await passing({ toString: 1 }), [0]);
  assert.equal(await passing({ document: "\n" }), [1]);
  assert.equal(await passing({ valueOf: { exists: true } }), []);
});

test("damaged metadata is an error that names the file", async () => {
  for (const name of ["metadata.json", "metadata.u64"]) {
    await using directory = await temporary();
    await build(directory.path, PASSAGES, OPTIONS);
    const file = join(directory.path, "segments", "000001", name);
    await damage(file, 0.5, false);
    await using index = await openIndex(directory.path);
    await rejects(index.matching({ lang: "en" }), new RegExp(`${name}: expected the checksum`));
    assert.equal(
      (await verifyIndex(directory.path)).map(({ path }) => path),
      [file],
    );
  }
});

test.run();
