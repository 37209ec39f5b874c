import promises, { readdir } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Bits } from "../../../../src/retrieval/codec/codec.ts";
import { readManifest } from "../../../../src/retrieval/index/format/manifest.ts";
import { compactIndex, mergeShards } from "../../../../src/retrieval/index/maintain/compact.ts";
import {
  addPassages,
  type UpdateOptions,
} from "../../../../src/retrieval/index/maintain/update.ts";
import { deletePassages, verifyIndex } from "../../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../../src/retrieval/open-index.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import {
  build,
  encode,
  encodeText,
  header,
  makePassages,
  naiveSearch,
  rejects,
  sameBytes,
  temporary,
} from "../../support.ts";
import { addingStates, checkStates, statesHeader } from "../../toy-states.ts";
import { advance, contentsOf } from "./generations.ts";

const QUESTION = encodeText("w1 w2 w3");

/** `makePassages` with ids from `first`. */
const numbered = (first: number, count: number, seed: number): Passage[] =>
  makePassages(count, seed).map((passage, i) => ({ ...passage, id: `p${first + i}` }));

const add = (
  directory: string,
  passages: readonly Passage[],
  options: Pick<UpdateOptions, "header" | "encode"> = { header, encode },
) => addPassages(passages, { directory, ...options });
const HOLDING_STATES = { header: statesHeader, encode: addingStates() };

const change = fc.oneof(
  fc.record({
    kind: fc.constant("add" as const),
    first: fc.nat(40),
    count: fc.integer({ min: 1, max: 12 }),
    seed: fc.nat(1000),
  }),
  fc.record({ kind: fc.constant("delete" as const), ids: fc.array(fc.nat(60), { maxLength: 10 }) }),
  fc.record({ kind: fc.constant("compact" as const) }),
  fc.record({
    kind: fc.constant("label" as const),
    labels: fc.uniqueArray(fc.record({ from: fc.nat(60), to: fc.nat(60), page: fc.nat(9) }), {
      minLength: 1,
      maxLength: 5,
      selector: ({ to }) => to,
    }),
    added: fc.nat(2),
  }),
);

for (const [bits, states] of [[undefined], [8], [undefined, "states"], [4, "states"]] as const)
  test(`random changes give the content of a list of passages, ${bits ? `${bits} bits` : "float32"}, ${states ?? "no states"}`, () =>
    fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
        await using directory = await temporary();
        let expected = numbered(0, 30, 1);
        const options = states ? HOLDING_STATES : { header, encode };
        await build(directory.path, expected, { bits, ...options });
        for (const step of changes) {
          if (step.kind === "compact") await compactIndex(directory.path);
          if (step.kind === "delete") {
            const ids = new Set(step.ids.map((id) => `p${id}`));
            const left = expected.filter(({ id }) => !ids.has(id));
            const count = await deletePassages(ids, { directory: directory.path });
            assert.is(count, expected.length - left.length);
            expected = left;
          }
          if (step.kind === "add") {
            const added = numbered(step.first, step.count, step.seed);
            const ids = new Set(added.map(({ id }) => id));
            await add(directory.path, added, options);
            expected = [...expected.filter(({ id }) => !ids.has(id)), ...added];
          }
          if (step.kind === "label") {
            const before = new Map(expected.map((passage) => [passage.id, passage]));
            const labels = step.labels.flatMap(({ from, to, page }) =>
              before.has(`p${from}`)
                ? [{ from: `p${from}`, id: `p${to}`, document: "d", metadata: { page } }]
                : [],
            );
            const added = numbered(70, step.added, step.added);
            const update = { directory: directory.path, ...options, labels };
            await addPassages(added.length > 0 ? added : undefined, update);
            const ids = new Set([...labels, ...added].map(({ id }) => id));
            expected = [
              ...expected.filter(({ id }) => !ids.has(id)),
              ...labels.map(({ from, ...label }) => ({ ...before.get(from)!, ...label })),
              ...added,
            ];
          }
          await checkContents(directory.path, expected, bits);
          if (!states) continue;
          await using index = await openIndex(directory.path);
          await checkStates(index);
          assert.equal(await verifyIndex(directory.path), []);
        }
      }),
      { numRuns: 8 },
    ));

test("readers keep the generation that they opened", async () => {
  await using directory = await temporary();
  await build(directory.path, numbered(0, 600, 1));
  await using reader = await openIndex(directory.path, { memoryLimit: 0 });
  const before = await reader.search(QUESTION, { topK: 20 });
  await deletePassages(
    before.map(({ id }) => id),
    { directory: directory.path },
  );
  await add(directory.path, numbered(1000, 10, 5));
  await compactIndex(directory.path);
  assert.equal(await reader.search(QUESTION, { topK: 20 }), before);
  await using after = await openIndex(directory.path);
  assert.is(after.generation, 4);
  assert.is(after.passageCount, 600 - 20 + 10);
  assert.equal(await readdir(join(directory.path, "segments")), ["000004"]);
  assert.equal(await verifyIndex(directory.path), []);
});

for (const bits of [undefined, 4] as const)
  test(`many small additions leave few segments, ${bits ? `${bits} bits` : "float32"}`, async () => {
    await using directory = await temporary();
    let expected = numbered(0, 64, 1);
    await build(directory.path, expected, { bits });
    for (let i = 0; i < 20; i++) {
      const added = numbered(60 + i, 1, i); // the first four replace
      expected = [...expected.filter(({ id }) => id !== added[0]!.id), ...added];
      await add(directory.path, added);
    }
    await checkContents(directory.path, expected, bits);
    assert.ok((await readManifest(directory.path)).segments.length <= 5);
    assert.equal(await verifyIndex(directory.path), []);
  });

test("a reader always sees one complete generation", async () => {
  await using directory = await temporary();
  await advance(directory.path, 1);
  let writing = true;
  const writer = (async () => {
    for (let generation = 2; generation <= 6; generation++)
      await advance(directory.path, generation);
    writing = false;
  })();
  const seen = new Set<number>();
  while (writing) {
    await using index = await openIndex(directory.path);
    const contents = contentsOf(index.generation);
    const hits = await index.search(QUESTION, { topK: 20 });
    const keys = contents.map(({ text }) => encodeText(text));
    assert.equal(
      await index.passages(hits.map(({ ordinal }) => ordinal)),
      naiveSearch(QUESTION, keys, 20).map(({ ordinal }) => contents[ordinal]),
    );
    seen.add(index.generation);
    await sleep(20);
  }
  await writer;
  assert.ok(seen.size > 1, `saw ${[...seen]}`);
});

test("a later transaction removes files that were in use", async () => {
  await using directory = await temporary();
  await build(directory.path, numbered(0, 20, 1));
  const segments = () => readdir(join(directory.path, "segments"));
  const { rm } = promises;
  const refused: string[] = [];
  // As on NFS, which keeps open files under other names.
  promises.rm = async (path, options) => {
    if (!String(path).includes("segments")) return rm(path, options);
    refused.push(String(path));
    throw Object.assign(new Error("in use"), {
      code: refused.length % 2 ? "EBUSY" : "ENOTEMPTY",
      syscall: "rmdir",
    });
  };
  syncBuiltinESMExports();
  try {
    for (const id of ["p1", "p2"]) {
      await deletePassages([id], { directory: directory.path });
      await compactIndex(directory.path);
    }
  } finally {
    promises.rm = rm;
    syncBuiltinESMExports();
  }
  assert.ok(refused.length > 2);
  assert.equal(await segments(), ["000001", "000003", "000005"]);
  await deletePassages(["p3"], { directory: directory.path });
  assert.equal(await segments(), ["000005"]);
  await checkContents(
    directory.path,
    numbered(0, 20, 1).filter(({ id }) => !["p1", "p2", "p3"].includes(id)),
    undefined,
  );
});

test("an index can lose all its passages and get new ones", async () => {
  await using directory = await temporary();
  await build(directory.path, numbered(0, 5, 1), { bits: 2 });
  await deletePassages(["p0", "p1", "p2", "p3", "p4"], { directory: directory.path });
  for (const preset of ["exact", "balanced"] as const) {
    await using empty = await openIndex(directory.path, { preset });
    assert.equal(await empty.search(QUESTION, { topK: 3 }), []);
  }
  await add(directory.path, numbered(7, 2, 1));
  await using index = await openIndex(directory.path);
  assert.is((await index.search(QUESTION, { topK: 3 })).length, 2);
});

test("rejects additions without an index or by another model", async () => {
  await using directory = await temporary();
  await rejects(add(directory.path, numbered(0, 5, 1)), /expected an index, got no index\.json/);
  await build(directory.path, numbered(0, 5, 1));
  const options = {
    directory: directory.path,
    header: { ...header, fingerprint: "other" },
    encode,
  };
  await rejects(addPassages(numbered(0, 5, 1), options), /with fingerprint "toy", got "other"/);
  assert.is((await readManifest(directory.path)).generation, 1);
});

test("an index with states takes only passages with the same states, and one without none", async () => {
  await using directory = await temporary();
  await build(directory.path, numbered(0, 5, 1), HOLDING_STATES);
  const other = { ...statesHeader, states: { fingerprint: "other", size: 5 } };
  for (const given of [header, other])
    await rejects(
      add(directory.path, numbered(5, 5, 1), { header: given, encode: addingStates() }),
      /expected passages encoded with states \{"fingerprint":"toy states","size":5\}, got /,
    );
  await build(directory.path, numbered(0, 5, 1));
  await rejects(
    add(directory.path, numbered(5, 5, 1), HOLDING_STATES),
    /expected passages encoded with states none, got \{"fingerprint":"toy states"/,
  );
});

for (const [bits, states] of [[undefined], [2], [2, "states"]] as const)
  test(`merged shards equal a single build, ${bits ? `${bits} bits` : "float32"}, ${states ?? "no states"}`, async () => {
    const passages = makePassages(2300); // five windows
    const options = states ? HOLDING_STATES : {};
    await using whole = await temporary();
    await build(whole.path, passages, { bits, ...options });
    await using directory = await temporary();
    const shards = [1, 0, 2].map((index) => join(directory.path, `shard-${index}`));
    for (const [i, index] of [1, 0, 2].entries())
      await build(shards[i]!, passages, { shard: { index, count: 3 }, ...options });
    const joined = join(directory.path, "joined");
    await mergeShards(shards, { directory: joined, bits });
    await sameBytes(joined, whole.path);
    await rejects(
      mergeShards(shards.slice(1), { directory: joined, replace: true }),
      /expected shard 1 of 2, got shard 1 of 3; name every shard/,
    );
    assert.is((await readManifest(joined)).generation, 1);
  });

async function checkContents(
  directory: string,
  expected: readonly Passage[],
  bits: Bits | undefined,
): Promise<void> {
  await using index = await openIndex(directory, { preset: "exact" });
  assert.is(index.passageCount, expected.length);
  assert.is(
    index.tokenCount,
    expected.reduce((sum, { text }) => sum + text.split(" ").length, 0),
  );
  const hits = await index.search(QUESTION, { topK: 100 });
  const naive = naiveSearch(
    QUESTION,
    expected.map(({ text }) => encodeText(text)),
    100,
  );
  if (!bits)
    assert.equal(
      hits.map(({ id, score }) => ({ id, score })),
      naive.map(({ ordinal, score }) => ({ id: expected[ordinal]!.id, score })),
    );
  const passages = await index.passages(hits.map(({ ordinal }) => ordinal));
  const byId = (a: Passage, b: Passage) => (a.id < b.id ? -1 : 1);
  assert.equal(passages.sort(byId), [...expected].sort(byId));
  for (const id of ["p0", "p25", "p45"])
    assert.is(
      (await index.find(id)) !== undefined,
      expected.some((passage) => passage.id === id),
      id,
    );
}

test.run();
