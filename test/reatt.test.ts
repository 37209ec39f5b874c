/** What a user of the library does with an index, with the embedded model. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  compactIndex,
  deletePassages,
  indexInfo,
  type Passage,
  ReAtt,
  verifyIndex,
} from "../src/index.ts";
import { rejects, temporary } from "./retrieval/support.ts";

const PASSAGES: Passage[] = [
  { id: "lion", title: "Lion", text: "The lion is a large cat that lives in Africa and in India." },
  { id: "bark", title: "Dog", text: "Dogs bark at night. They sleep by day." },
  { id: "rhine", title: "Rhine", text: "The Rhine flows from the Alps to the North Sea." },
];
const ids = (hits: readonly Passage[]): string[] => hits.map(({ id }) => id);

test("an index is built compressed, searched with a filter, and changed", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const directory = join(folder.path, "index");
  const options = { directory, bits: 2 } as const;
  assert.is((await model.forecast(PASSAGES, options)).passages, 3);
  await using index = await model.index(PASSAGES, options);
  const question = "Where does the lion live?";
  const filter = new Set(["bark", "rhine"]);
  assert.equal(ids(await model.retrieve(question, index, { topK: 2, filter })).sort(), [
    "bark",
    "rhine",
  ]);
  const first = await model.retrieve([question], index, { filter: (ordinal) => ordinal === 0 });
  assert.equal(first.map(ids), [["lion"]]);

  await using larger = await model.add([{ id: "cat", title: "Cat", text: "Cats purr." }], {
    directory,
  });
  assert.equal([index.passageCount, larger.passageCount], [3, 4]);
  assert.is(await deletePassages(["lion"], { directory }), 1);
  await compactIndex({ directory });
  await using now = await model.openIndex(directory, { preset: "exact" });
  assert.equal(ids(await model.retrieve(question, now)).sort(), ["bark", "cat", "rhine"]);
  assert.equal(await verifyIndex(directory), []);
  assert.is((await indexInfo(directory)).generation, 4);
});

test("an index of some of the tokens says so, and is added to in the same way", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const directory = join(folder.path, "index");
  await using whole = await model.index(PASSAGES, { directory: join(folder.path, "whole") });
  for (const bits of [undefined, 2] as const) {
    const options = { directory, bits, keepTokens: 0.5 };
    const { tokens } = await model.forecast(PASSAGES, options);
    assert.ok(tokens < 0.6 * whole.tokenCount);
    await using index = await model.index(PASSAGES, options);
    assert.is(index.header.keepTokens, 0.5);
    assert.ok(Math.abs(index.tokenCount - whole.tokenCount / 2) <= 1.5, `${index.tokenCount}`);
    const question = "Where does the lion live?";
    const [all, some] = [
      await model.retrieve(question, whole),
      await model.retrieve(question, index),
    ];
    assert.is(some[0]!.id, "lion");
    assert.ok(bits || some[0]!.score <= all[0]!.score); // a maximum over fewer tokens
    await using larger = await model.add([PASSAGES[1]!], { directory });
    assert.is(larger.tokenCount, index.tokenCount);
  }
  await rejects(
    model.index(PASSAGES, { directory, keepTokens: 0.1 }),
    /^keepRatio: expected a share/,
  );
});

test("a shard is not compressed, and keys are coded in whole bytes", async () => {
  await using folder = await temporary();
  await using model = await ReAtt.load("models/reatt-mini");
  const directory = join(folder.path, "index");
  await rejects(
    model.index(PASSAGES, { directory, bits: 2, shard: { index: 0, count: 2 } }),
    /^shard: .*give the bits to the merge/,
  );
  await rejects(model.index(PASSAGES, { directory, bits: 3 as 2 }), /^bits: expected 1, 2, 4 or 8/);
});

test.run();
