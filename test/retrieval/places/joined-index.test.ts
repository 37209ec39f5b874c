/** A search over several indexes finds what one index of all their passages finds. */

import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { addPassages } from "../../../src/retrieval/index/maintain/update.ts";
import { openLexicalIndex } from "../../../src/retrieval/lexical-index.ts";
import { deletePassages } from "../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../src/retrieval/open-index.ts";
import { joinIndexes, oneIndex } from "../../../src/retrieval/places/joined-index.ts";
import { type RankRequest, rank } from "../../../src/retrieval/rank.ts";
import type { IndexGeneration } from "../../../src/retrieval/search/generation.ts";
import type { TokenIndex } from "../../../src/retrieval/search/token-index.ts";
import type { Passage } from "../../../src/text/passage.ts";
import {
  build,
  encode,
  encodeText,
  encodeVaried,
  header,
  makePassages,
  rejects,
  temporary,
  withMetadata,
} from "../support.ts";

const QUESTIONS = ["w1 w2 w3", "w4", "w7 w8 w9 w10 w11", "w49"].map((text) => ({
  text,
  vectors: encodeText(text),
}));
/** Equal ids and equal texts are in both. A title names a document of one collection only. */
const FIRST = withMetadata(makePassages(170));
const SECOND = [...makePassages(110, 2), ...FIRST.slice(100, 130)].map((passage, i) => ({
  ...passage,
  id: `p${i}`,
  title: passage.title.replace("T", "U"),
}));
const of = (collection: string, passages: readonly Passage[]): Passage[] =>
  passages.map((passage) => ({
    ...passage,
    id: `${collection} ${passage.id}`,
    ...(passage.document && { document: `${collection} ${passage.document}` }),
    metadata: { ...passage.metadata, collection },
  }));

const folder = await temporary();
const at = (name: string): string => join(folder.path, name);
await build(at("first"), FIRST);
await build(at("second"), SECOND);
await build(at("merged"), [...of("first", FIRST), ...of("second", SECOND)]);
for (const [name, ids] of [
  ["first", ["p3", "p101"]],
  ["second", ["p7"]],
  ["merged", ["first p3", "first p101", "second p7"]],
] as const)
  await deletePassages(ids, { directory: at(name) });
const merged = await openIndex(at("merged"));
const indexes = [await openIndex(at("first")), await openIndex(at("second"))];
const [first, second] = indexes as [TokenIndex, TokenIndex];
const joined = joinIndexes(indexes);
test.after(async () => {
  await joined.close();
  await merged.close();
  await folder[Symbol.asyncDispose]();
});

const hybrid = { lambda: 0.3 };
const REQUESTS: Record<string, Omit<RankRequest, "topK">> = {
  "by scores": { granularity: "passage" },
  "with states and similarities": { granularity: "passage", states: 2, similarities: 3 },
  "hybrid, with the words that the indexes hold": { granularity: "passage", hybrid },
  documents: { granularity: "document", hybrid },
  "with a condition": { granularity: "passage", hybrid, where: { number: { lt: 40 } } },
  "of one collection": { granularity: "passage", where: { collection: "second" } },
  "not of a collection, of few": {
    granularity: "passage",
    hybrid,
    where: { not: { collection: { eq: "first" } }, lang: "en" },
  },
};

/** What is found, by the names in the merged index. */
async function found(index: TokenIndex, request: Omit<RankRequest, "topK">, topK: number) {
  const lists = await index.snapshot((generation) =>
    rank(generation, QUESTIONS, { ...request, topK } as RankRequest),
  );
  return lists.map((list) =>
    list.map(({ passage: { id, collection, title, text, document }, ...scored }) => ({
      id: collection === undefined ? id : `${collection} ${id}`,
      document: collection && document ? `${collection} ${document}` : document,
      ...{ title, text, ...scored },
    })),
  );
}

for (const [name, request] of Object.entries(REQUESTS))
  for (const topK of [1, 10, 400])
    test(`the same passages in the same order, ${name}, topK ${topK}`, async () => {
      const expected = await found(merged, request, topK);
      assert.equal(await found(joined, request, topK), expected);
      assert.ok(expected[0]!.length > 0);
    });

test("BM25 in memory has the statistics of all passages", async () => {
  const [own, expected] = [await openLexicalIndex(joined), await openLexicalIndex(merged)];
  for (const { text } of QUESTIONS)
    assert.equal(
      own.search(text, { topK: 20 }).map(({ ordinal, score }) => [ordinal, score]),
      expected.search(text, { topK: 20 }).map(({ ordinal, score }) => [ordinal, score]),
    );
});

test("a list of ids is looked for in all collections, and an id in one of them", async () => {
  const hits = await joined.search(QUESTIONS[0]!.vectors, { topK: 9, filter: new Set(["p5"]) });
  assert.equal(hits.map(({ ordinal }) => ordinal).sort(), [5, FIRST.length + 5].sort());
  assert.is(await joined.find("p5"), 5);
  assert.is(await joined.find("p5", "second"), FIRST.length + 5);
  assert.is(await joined.find("p7", "second"), undefined);
  assert.is(await joined.find("p5", "third"), undefined);
});

test("keys, products and scores are those of the index of a passage", async () => {
  const question = QUESTIONS[2]!.vectors;
  await joined.snapshot(async (generation: IndexGeneration) => {
    const last = FIRST.length + 4;
    assert.equal(await generation.keys(last), await second.keys(4));
    assert.equal(await generation.products(question, last), await second.products(question, 4));
    assert.equal(await generation.matches(question, 2), await first.matches(question, 2));
    const scores = await generation.score(question, [last, 2]);
    assert.equal(scores, [
      (await second.score(question, [4]))[0],
      (await first.score(question, [2]))[0],
    ]);
    assert.is(generation.ownerOf(last).collection, "second");
  });
  const entries = [];
  for await (const [ordinal, { id, collection }] of joined.entries())
    entries.push([ordinal, `${collection} ${id}`]);
  const expected = [];
  for await (const [ordinal, { id }] of merged.entries()) expected.push([ordinal, id]);
  assert.equal(entries, expected);
});

test("compressed indexes keep their codebooks, and passages their scores", async () => {
  const parts = [makePassages(300, 5), makePassages(260, 6)];
  for (const [i, passages] of parts.entries())
    await build(at(`codes-${i}`), passages, { encode: encodeVaried, bits: 4 });
  for (const preset of ["fast", "exact"] as const) {
    const members = await Promise.all(parts.map((_, i) => openIndex(at(`codes-${i}`), { preset })));
    await using all = joinIndexes(members);
    for (const hybridOrNot of [undefined, hybrid]) {
      const request = { granularity: "passage", hybrid: hybridOrNot, topK: 20 } as const;
      const lists = await all.snapshot((generation) =>
        rank(generation, QUESTIONS, { ...request, similarities: 20 } as RankRequest),
      );
      for (const [i, list] of lists.entries())
        for (const { ordinal, similarity } of list) {
          const isFirst = ordinal < 300;
          const own = isFirst ? members[0]! : members[1]!;
          const [score] = await own.score(QUESTIONS[i]!.vectors, [
            isFirst ? ordinal : ordinal - 300,
          ]);
          assert.is(similarity, score);
        }
    }
  }
});

test("a change of one index shows after refresh", async () => {
  await build(at("a"), FIRST);
  await build(at("b"), SECOND);
  await using all = joinIndexes([await openIndex(at("a")), await openIndex(at("b"))]);
  const count = all.passageCount;
  assert.is(await all.refresh(), false);
  await addPassages([{ id: "new", title: "", text: "w1" }], { directory: at("b"), header, encode });
  assert.is(all.passageCount, count);
  assert.is(await all.refresh(), true);
  assert.is(all.passageCount, count + 1);
  assert.is(all.generation, 3);
  await deletePassages(["p1"], { directory: at("a") });
  await all.catchUp();
  assert.is(all.passageCount, count);
  assert.is(await all.find("p1"), FIRST.length + 1);
});

test("a list of indexes is joined once", async () => {
  assert.is(oneIndex([first, second]), oneIndex([first, second]));
  assert.is.not(oneIndex([first, second]), oneIndex([second, first]));
  assert.is(oneIndex([first]), first);
  assert.is(oneIndex(first), first);
  assert.equal(joined.indexes, [first, second]);
  assert.equal(first.indexes, [first]);
});

test("what cannot be joined is one error", async () => {
  await build(at("other"), FIRST, { header: { ...header, fingerprint: "other" } });
  await using other = await openIndex(at("other"));
  await using again = await openIndex(at("first"));
  await using named = await openIndex(at("first"), { collection: "again" });
  assert.throws(
    () => joinIndexes([first, other]),
    /indexes: expected indexes of one model.*, got .*first of toy, and .*other of other; build/,
  );
  assert.throws(() => joinIndexes([first, again]), /two that are called "first"; name one/);
  assert.is(joinIndexes([first, named]).passageCount, 2 * first.passageCount);
  assert.throws(() => joinIndexes([]), /indexes: expected a list of open indexes, got none/);
  await rejects(
    joined.snapshot((all) => all.accepting({ where: { collectio: "first" } })),
    /did you mean collection\?/,
  );
});

test.run();
