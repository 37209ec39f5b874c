import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../src/io/errors.ts";
import { importPassages } from "../../../../src/retrieval/places/stores/import.ts";
import { openCollection } from "../../../../src/retrieval/places/stores/open-store-index.ts";
import { checkStorable } from "../../../../src/retrieval/places/stores/storable.ts";
import type { IndexGeneration } from "../../../../src/retrieval/search/generation.ts";
import type { Where } from "../../../../src/retrieval/where/where.ts";
import { memoryStore } from "../../../support/memory-store.ts";
import { encode, encodeText, encodeVaried, header, makePassages, rejects } from "../../support.ts";
import { storeConformance } from "./conformance.ts";

storeConformance(test, "memory", async () => memoryStore());

test("links begin as the option says, or as the import said", async () => {
  const stored = "https://example.org/stored";
  const given = {
    header: { ...header, linkBase: stored },
    encode,
    bits: undefined,
    isImport: true,
  };
  const store = memoryStore();
  await importPassages(store, makePassages(3), given);
  for (const linkBase of [undefined, "https://example.org/now"]) {
    const options = { linkBase, memoryLimit: 2 ** 20, threads: 1, candidates: 10 };
    const { generation, release } = await openCollection(store, options);
    assert.is(generation.header.linkBase, linkBase ?? stored);
    await release();
  }
});

/** An index over a store that counts what it is asked. */
async function withCounts(
  count: number,
  work: (index: IndexGeneration, asked: Record<string, unknown[]>) => Promise<void>,
): Promise<void> {
  const store = memoryStore();
  await importPassages(store, makePassages(count), {
    header,
    encode,
    bits: undefined,
    isImport: true,
  });
  const asked: Record<string, unknown[]> = { get: [], frequencies: [], matching: [] };
  const counting = new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        asked[String(name)]?.push(given[0]);
        return value.apply(target, given);
      };
    },
  });
  const options = { memoryLimit: 1, threads: 1, candidates: 10 };
  const { generation, release } = await openCollection(counting, options);
  await work(generation, asked);
  await release();
}

test("many passages are one question to the store, also when they are not in memory", () =>
  withCounts(700, async (index, asked) => {
    const ordinals: number[] = [];
    const ids: string[] = [];
    for await (const [ordinal, { id }] of index.entries()) {
      ordinals.unshift(ordinal);
      ids.unshift(id);
    }
    const found = await index.passages(ordinals);
    assert.equal(
      found.map(({ id }) => id),
      ids,
    );
    assert.ok(asked.get!.length <= 2, `${asked.get!.length} questions`);
  }));

test("what was asked about is forgotten after very many words and conditions", () =>
  withCounts(3, async (index, asked) => {
    const words = (await index.words())!;
    const rank = (query: string) => words.rank(query, 1, {});
    const first = await rank("w1");
    await rank("w1");
    assert.is(asked.frequencies!.length, 1);
    await rank(Array.from({ length: 10_001 }, (_, i) => `x${i}`).join(" "));
    assert.equal(await rank("w1"), first);
    assert.is(asked.frequencies!.length, 3);
    const where = (i: number) =>
      index.accepting({ where: { or: [{ n: i }, { n: { exists: false } }] } });
    await where(0);
    const once = asked.matching!.length;
    await where(0);
    assert.is(asked.matching!.length, once);
    for (let i = 1; i <= 1_000; i++) await where(i);
    await where(0);
    assert.is(asked.matching!.length, 1_002 * once);
  }));

test("a passage that no store keeps is refused before it is encoded", async () => {
  const passages = [...makePassages(3), { id: "odd", title: "", text: "w1 \0" }];
  let encoded = 0;
  const counting: typeof encode = (window) => {
    encoded += window.length;
    return encode(window);
  };
  const store = memoryStore();
  const given = { header, encode: counting, bits: undefined, isImport: true };
  await rejects(importPassages(store, passages, given), /got others in the passage "odd"/);
  assert.is(encoded, 0);
});

test("codes of another length than reatt wrote are one line", async () => {
  const store = memoryStore();
  const given = { header, encode: encodeVaried, bits: 4 as const, isImport: true };
  await importPassages(store, makePassages(300), given);
  const options = { memoryLimit: 2 ** 20, threads: 1, candidates: 300 };
  const { generation, release } = await openCollection(store, options);
  const search = () => generation.search(encodeText("w1 w2"), { topK: 3 });
  assert.is((await search()).length, 3);
  for await (const row of store.rows()) {
    (row as { codes: Uint8Array }).codes = row.codes.subarray(0, -1);
    break;
  }
  const error = await search().catch((reason: InputError) => reason);
  assert.instance(error, InputError);
  assert.is((error as InputError).code, "ERR_REATT_DAMAGED_INDEX");
  assert.match((error as InputError).message, /expected the codes of the passage "p0" as reatt/);
  await release();
});

test("a condition with a text that no store keeps is one line", () =>
  withCounts(3, async (index) => {
    for (const where of [
      { a: "x\0" },
      { "\0": 1 },
      { not: { a: { in: ["\ud800"] } } },
    ] as Where[]) {
      const error = await index.accepting({ where }).catch((reason: InputError) => reason);
      assert.ok(error instanceof InputError);
      assert.is(error.code, "ERR_REATT_BAD_CONDITION");
      assert.match(
        error.message,
        /^where: expected texts of Unicode without the character U\+0000/,
      );
    }
    await index.accepting({ where: { not: { a: "\\u0000 😀" } } });
    assert.is(await index.find("p1\0"), undefined);
    const accept = await index.accepting({ filter: new Set(["p1\0", "p1"]) });
    assert.is(accept!((await index.find("p1"))!), true);
    for (const metadata of [{ a: "\0" }, { "\0": 1 }, { a: ["\ud800"] }])
      assert.throws(() => checkStorable({ id: "1", title: "", text: "", metadata }, "store"));
    checkStorable({ id: "1", title: "", text: "😀", metadata: { a: "\\u0000" } }, "store");
  }));

test.run();
