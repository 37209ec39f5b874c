/** Two calls that change an index at once, in one process. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../../../src/reatt.ts";
import { compactIndex } from "../../../../src/retrieval/index/maintain/compact.ts";
import { deletePassages } from "../../../../src/retrieval/maintain.ts";
import { makePassages, rejects, temporary } from "../../support.ts";

test("additions, deletions and compactions at once: each sees the ones before", async () => {
  await using folder = await temporary();
  const directory = join(folder.path, "index");
  await using model = await ReAtt.load(undefined, { threads: 1 });
  await (await model.index(makePassages(3), { directory })).close();
  const added = [1, 2, 3].map((i) => [{ id: `new ${i}`, title: "", text: `Passage ${i}.` }]);
  const adding = added.map(async (passages) => (await model.add(passages, { directory })).close());
  await Promise.all([
    ...adding,
    deletePassages([makePassages(1)[0]!.id], { directory }),
    compactIndex(directory),
  ]);
  await using index = await model.openIndex(directory);
  assert.is(index.passageCount, 5);
  for (const { id } of added.flat()) assert.ok((await index.find(id)) !== undefined, id);
});

test("two builds at once: the second finds an index, unless it replaces it", async () => {
  await using folder = await temporary();
  const directory = join(folder.path, "index");
  await using model = await ReAtt.load(undefined, { threads: 1 });
  const building = [2, 3].map(async (count) =>
    (await model.index(makePassages(count), { directory })).close(),
  );
  const outcomes = await Promise.allSettled(building);
  const [refused] = outcomes.filter(({ status }) => status === "rejected");
  assert.is(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  await rejects(
    Promise.reject((refused as PromiseRejectedResult).reason),
    /expected a folder without an index, got an index/,
  );
  const replacing = [4, 5].map((count) =>
    model.index(makePassages(count), { directory, replace: true }),
  );
  for (const index of await Promise.all(replacing)) await index.close();
  await using index = await model.openIndex(directory);
  assert.ok([4, 5].includes(index.passageCount), `${index.passageCount}`);
});

test.run();
