/** Documents as values: one open index adds, replaces, removes and finds them. */

import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { type OpenIndex, ReAtt } from "../../src/reatt.ts";
import { deletePassages, indexInfo } from "../../src/retrieval/maintain.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import { temporary } from "../retrieval/support.ts";
import { temporaryFolder, writeLexicalModel } from "../support/training.ts";

const parent = temporaryFolder();
const modelFolder = join(parent.path, "model");
await writeLexicalModel(modelFolder, { retrievalLayer: 0 });
const model = await ReAtt.load(modelFolder, { threads: 1 });
const folder = await temporary();
test.after(async () => {
  await model.close();
  await parent[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
let next = 0;
const newPlace = (): string => join(folder.path, `${next++}`);

const LION = { id: "lion", title: "", text: "The lion lives in Africa." };
const GUIDE = {
  id: "guide",
  content: "# Keys\n\nPress the green key.\n\n# Doors\n\nThe door is open.",
  format: "markdown",
  metadata: { year: 2024 },
};
const PAGE = { id: "a#b", content: Buffer.from("<p>The mill opens at nine.</p>"), format: "html" };

/** The ids that a question finds: all of a small index. */
const found = async (index: TokenIndex): Promise<string[]> =>
  (await model.retrieve("Where is it?", index, { hybrid: false })).map(({ id }) => id).sort();

test("one handle adds, replaces, removes and finds", async () => {
  const directory = newPlace();
  await using index: OpenIndex = await model.openOrIndex([LION, GUIDE], { directory });
  assert.equal(await found(index), ["guide#1", "guide#2", "lion"]);
  assert.equal(await index.upsert([GUIDE, PAGE, { ...LION, text: "The lion sleeps." }]), {
    changes: [
      { id: "a#b", change: "added", passages: 1 },
      { id: "lion", change: "replaced", passages: 1 },
    ],
    unchanged: 1,
  });
  assert.equal(await found(index), ["a%23b#1", "guide#1", "guide#2", "lion"]);
  const shorter = { ...GUIDE, content: "# Doors\n\nThe door is shut." };
  async function* stream() {
    yield shorter;
  }
  assert.equal((await index.upsert(stream())).changes, [
    { id: "guide", change: "replaced", passages: 1 },
  ]);
  assert.equal(await found(index), ["a%23b#1", "guide#1", "lion"]);
  assert.is(await index.remove("a#b"), 1);
  assert.is(await index.remove(["guide", "nothing"]), 1);
  assert.is(await index.remove("guide"), 0);
  assert.equal(await found(index), ["lion"]);
  assert.match(
    String(await index.upsert([LION, LION]).catch(String)),
    /documents: expected an id of its own .*, got 'lion' twice/,
  );
  assert.match(String(await index.upsert([{ id: "x" } as never]).catch(String)), /text/);
  assert.match(String(await index.remove([5 as never]).catch(String)), /id 1: expected/);
});

test("in an index of passages, and after a change by another writer", async () => {
  const directory = newPlace();
  const parts = ["1", "2"].map((n) => ({
    id: `p${n}`,
    title: "",
    text: `Part ${n}.`,
    document: "whole",
  }));
  await using index = await model.index([LION, ...parts], { directory });
  assert.is(await index.remove("whole"), 2);
  assert.is(await index.remove("lion"), 1);
  await index.upsert([LION, GUIDE, PAGE]);
  assert.is(await index.remove("a#b"), 1);
  await (await model.add([{ id: "guide#7", text: "An older part." }], { directory })).close();
  assert.equal(await found(index), ["guide#1", "guide#2", "guide#7", "lion"]);
  assert.equal((await index.upsert([GUIDE])).changes, [
    { id: "guide", change: "replaced", passages: 2 },
  ]);
  assert.equal(await found(index), ["guide#1", "guide#2", "lion"]);
});

test("openOrIndex splits no document again that did not change", async () => {
  const directory = newPlace();
  const { tokenizer } = model;
  const { encode } = tokenizer;
  let counted = 0;
  tokenizer.encode = (text: string) => {
    counted++;
    return encode.call(tokenizer, text);
  };
  const contents = async (documents: Parameters<ReAtt["openOrIndex"]>[0]) => {
    counted = 0;
    await using index = await model.openOrIndex(documents, { directory, delete: true });
    const count = counted;
    return { count, ids: await found(index) };
  };
  try {
    const first = await contents([LION, GUIDE, PAGE]);
    assert.ok(first.count > 0);
    const { generation } = await indexInfo(directory);
    assert.equal(await contents([LION, GUIDE, PAGE]), { ...first, count: 0 });
    assert.is((await indexInfo(directory)).generation, generation);
    const less = await contents([LION, GUIDE]);
    assert.equal(less, { count: 0, ids: ["guide#1", "guide#2", "lion"] });
    // A writer that does not keep the record, so that it counts no more.
    await deletePassages(["guide#2"], { directory });
    assert.equal((await contents([LION, GUIDE])).ids, less.ids);
    {
      await using index = await model.openIndex(directory);
      await index.upsert([PAGE]);
      await index.remove("lion");
    }
    assert.equal(await contents([GUIDE, PAGE]), {
      count: 0,
      ids: ["a%23b#1", "guide#1", "guide#2"],
    });
    assert.ok((await contents([{ ...GUIDE, metadata: { year: 2025 } }, PAGE])).count > 0);
  } finally {
    tokenizer.encode = encode;
  }
});

test("a question notices what another handle did, also rm and a new build", async () => {
  const directory = newPlace();
  await using index = await model.index([LION], { directory });
  const other = await model.add([{ id: "cat", text: "Cats sleep." }], { directory });
  await other.close();
  assert.is(index.passageCount, 1);
  assert.equal(await found(index), ["cat", "lion"]);
  assert.is(index.passageCount, 2);
  await rm(directory, { recursive: true });
  assert.equal(await found(index), ["cat", "lion"]); // as long as there is no other
  await (await model.index([{ id: "bee", text: "Bees fly." }], { directory })).close();
  assert.equal(await found(index), ["bee"]);
  const reply = await model.answer("Who flies?", index);
  assert.equal(
    reply.passages.map(({ id }) => id),
    ["bee"],
  );
  await deletePassages(["bee"], { directory });
  await (await model.add([LION], { directory })).close();
  assert.equal((await model.explain("Who?", { id: "lion" }, index)).tokens.length > 0, true);
  const { sources } = await model.context("Who?", index);
  assert.equal(
    sources.map(({ id }) => id),
    ["lion"],
  );
});

test("a filter by ordinals, and many readers of one index, keep their generation", async () => {
  const directory = newPlace();
  await using index = await model.index([LION, { id: "cat", text: "Cats sleep." }], { directory });
  const filter = (ordinal: number): boolean => ordinal === 1;
  await deletePassages(["lion"], { directory });
  const hits = await model.retrieve("Where?", index, { filter, hybrid: false });
  assert.equal(
    hits.map(({ id }) => id),
    ["cat"],
  );
  assert.is(index.passageCount, 2);
  assert.equal(await found(index), ["cat"]);
});

test("an index that another model replaced stays as it was, with one warning", async () => {
  const directory = newPlace();
  await using index = await model.index([LION], { directory });
  const otherFolder = join(parent.path, "other");
  await writeLexicalModel(otherFolder, { retrievalLayer: 0, headSize: 8 });
  await using other = await ReAtt.load(otherFolder, { threads: 1 });
  const warnings: string[] = [];
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error) => void warnings.push(String(warning));
  try {
    const built = await other.index([{ id: "new", text: "New." }], { directory, replace: true });
    await built.close();
    assert.equal(await found(index), ["lion"]);
    assert.equal(await found(index), ["lion"]);
  } finally {
    process.emitWarning = emitWarning;
  }
  assert.is(warnings.length, 1);
  assert.match(warnings[0]!, /searches go on without the change: .*expected an index of the model/);
});

test("the record says which documents an index has, and a folder cannot take it over", async () => {
  const directory = newPlace();
  await (await model.openOrIndex([LION], { directory })).close();
  assert.ok((await readdir(join(directory, "sync"))).includes("record.json"));
  assert.ok((await stat(join(directory, "sync", "record.json"))).size > 0);
  const refused = String(await model.sync("docs", { directory }).catch(String));
  assert.match(refused, /expected documents as values, got .*docs; use another index/);
});

test.run();
