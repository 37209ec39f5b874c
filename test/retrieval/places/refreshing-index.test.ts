/** An open index moves to the newest generation, and calls that are running finish on theirs. */

import { rm } from "node:fs/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { addPassages } from "../../../src/retrieval/index/maintain/update.ts";
import { deletePassages } from "../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../src/retrieval/open-index.ts";
import type { TokenIndex } from "../../../src/retrieval/search/token-index.ts";
import { build, encode, encodeText, header, makePassages, rejects, temporary } from "../support.ts";

const PASSAGES = makePassages(300);
const QUESTION = encodeText("w1 w2 w3");
const ids = async (index: Pick<TokenIndex, "search">) =>
  (await index.search(QUESTION, { topK: 500 })).map(({ id }) => id).sort();

test("shows changes after refresh, and not before", async () => {
  await using directory = await temporary();
  const { path } = directory;
  await build(path, PASSAGES);
  await using index = await openIndex(path);
  assert.is(await index.refresh(), false);
  await deletePassages(["p7"], { directory: path });
  await addPassages([{ id: "new", title: "", text: "w1" }], { directory: path, header, encode });
  assert.is(index.passageCount, 300);
  assert.is(await index.find("new"), undefined);
  assert.is(await index.refresh(), true);
  assert.is(index.passageCount, 300);
  assert.is(index.generation, 3);
  assert.is(await index.find("p7"), undefined);
  assert.equal(
    await ids(index),
    [...PASSAGES.map(({ id }) => id).filter((id) => id !== "p7"), "new"].sort(),
  );
});

test("notices an index that was removed and built again with the same generation", async () => {
  await using directory = await temporary();
  const { path } = directory;
  await build(path, PASSAGES.slice(0, 20));
  await using index = await openIndex(path);
  await rm(path, { recursive: true });
  await build(path, PASSAGES.slice(0, 30));
  assert.is(await index.refresh(), true);
  assert.is(index.generation, 1);
  assert.is(index.passageCount, 30);
});

test("a snapshot stays at its generation until its work ends", async () => {
  await using directory = await temporary();
  const { path } = directory;
  await build(path, PASSAGES);
  const index = await openIndex(path);
  const before = await ids(index);
  await index.snapshot(async (generation) => {
    await deletePassages(["p1", "p2"], { directory: path });
    const [first, second] = await Promise.all([index.refresh(), index.refresh()]);
    assert.equal([first, second], [true, true]); // both waited for the same
    assert.is(index.passageCount, 298);
    assert.is(generation.passageCount, 300);
    assert.equal(await ids(generation), before);
    assert.is((await generation.passages([1]))[0]!.id, "p1");
  });
  await index.close();
  await index.close();
  await rejects(index.refresh(), /expected to be open/);
  await rejects(index.search(QUESTION, { topK: 1 }), /expected to be open/);
});

test("searches beside changes and refreshes see one generation each", async () => {
  await using directory = await temporary();
  const { path } = directory;
  await build(path, PASSAGES);
  await using index = await openIndex(path);
  let done = false;
  const search = async () => {
    while (!done)
      await index.snapshot(async (generation) => {
        const found = await ids(generation);
        assert.is(found.length, generation.passageCount);
      });
  };
  const searches = [search(), search()];
  for (let i = 0; i < 15; i++) {
    await deletePassages([`p${i}`], { directory: path });
    await index.refresh();
  }
  done = true;
  await Promise.all(searches);
  assert.is(index.passageCount, 285);
});

test("entries fail if the generation is released meanwhile", async () => {
  await using directory = await temporary();
  await build(directory.path, PASSAGES);
  await using index = await openIndex(directory.path);
  const entries = index.entries();
  await entries.next();
  await deletePassages(["p1"], { directory: directory.path });
  await index.refresh();
  await rejects(entries.next(), /start again: the index was refreshed meanwhile/);
});

test("a failed refresh leaves the index as it is", async () => {
  await using directory = await temporary();
  await build(directory.path, PASSAGES);
  await using index = await openIndex(directory.path, {}, header);
  await build(directory.path, PASSAGES, { header: { ...header, fingerprint: "other" } });
  await rejects(index.refresh(), /expected an index of the model toy, got one of the model other/);
  assert.is((await ids(index)).length, 300);
});

test.run();
