/** Tests that every store must pass. The reference is the local index, or loops over passages. */

import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import type { Test } from "uvu";
import * as assert from "uvu/assert";
import { rotate } from "../../../../src/retrieval/codec/opq-rotation.ts";
import { openLexicalIndex } from "../../../../src/retrieval/lexical-index.ts";
import { openIndex } from "../../../../src/retrieval/open-index.ts";
import { digestOf } from "../../../../src/retrieval/places/stores/digest.ts";
import {
  type ImportOptions,
  importPassages,
} from "../../../../src/retrieval/places/stores/import.ts";
import { missingParts } from "../../../../src/retrieval/places/stores/import-parts.ts";
import { openCollection } from "../../../../src/retrieval/places/stores/open-store-index.ts";
import { readProperties } from "../../../../src/retrieval/places/stores/properties.ts";
import { retrying } from "../../../../src/retrieval/places/stores/retry.ts";
import type { NewPassage, Store } from "../../../../src/retrieval/places/stores/store.ts";
import { type RankRequest, rank } from "../../../../src/retrieval/rank.ts";
import type { IndexGeneration } from "../../../../src/retrieval/search/generation.ts";
import { passes } from "../../../../src/retrieval/where/where.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import {
  build,
  DIMENSION,
  encode,
  encodeText,
  encodeVaried,
  header,
  makePassages,
  naiveSearch,
  rejects,
  temporary,
  withMetadata,
} from "../../support.ts";
import { conditionsOn } from "./conditions.ts";

/** Opens a new collection, which is empty; the suite disposes of it. */
export type OpenEmpty = () => Promise<Store>;

const QUESTIONS = ["w1 w2 w3", "w4", "w7 w8 w9 w10 w11 w12 w13", "unknown words here"];

/** Ids in the order of both indexes, which decides between equal scores. */
const numbered = (passages: readonly Passage[]): Passage[] =>
  passages.map((passage, i) => ({ ...passage, id: `p${String(i).padStart(4, "0")}` }));

const PASSAGES = numbered(withMetadata(makePassages(300)));

const OPENING = { memoryLimit: 2 ** 24, threads: 1, candidates: 1_000 };

const importing: ImportOptions = { header, encode, bits: undefined, isImport: true };

export function storeConformance(suite: Test, name: string, open: OpenEmpty): void {
  const test = (what: string, run: (store: Store) => Promise<void>) =>
    suite(`${name}: ${what}`, async () => {
      await using store = await open();
      await run(store);
    });

  test("ranks as the local index does", async (store) => {
    await importPassages(store, PASSAGES, importing);
    await using local = await localIndex(PASSAGES);
    await withIndex(store, async (index) => {
      const questions = QUESTIONS.map((text) => ({ text, vectors: encodeText(text) }));
      const lexical = await openLexicalIndex(local.index);
      const ids = new Set(PASSAGES.filter((_, i) => i % 9 === 0).map(({ id }) => id));
      const filters: Partial<RankRequest>[] = [
        {},
        { filter: ids },
        { where: { number: { gte: 100 }, lang: "en" } },
        { where: { not: { tags: "t1" } }, filter: ids },
      ];
      for (const granularity of ["passage", "document"] as const)
        for (const filter of filters)
          for (const lambda of [undefined, 0, 0.5]) {
            const request = { topK: 10, granularity, filter: undefined, where: undefined };
            const ranked = async (index: IndexGeneration, own: object) => {
              const hybrid = lambda === undefined ? undefined : { lambda, ...own };
              const found = await rank(index, questions, {
                ...request,
                ...filter,
                minScore: undefined,
                signal: undefined,
                hybrid,
              });
              return found.map((hits) => hits.map(({ passage, score }) => ({ passage, score })));
            };
            const expected = await ranked(local.index, { lexical });
            assert.equal(await ranked(index, {}), expected, JSON.stringify({ filter, lambda }));
          }
    });
  });

  test("scores are those of all tokens, whatever the engine chose", async (store) => {
    const passages = numbered(makePassages(2_000, 1, 5_000));
    const keys = await encodeVaried(passages);
    const byId = new Map(passages.map(({ id }, i) => [id, keys[i]!]));
    const encodeKnown: ImportOptions["encode"] = async (window) =>
      window.map(({ id }) => byId.get(id)!);
    await importPassages(store, passages, { ...importing, encode: encodeKnown });
    await withIndex(
      store,
      async (index) => {
        let found = 0;
        for (const { text } of passages.slice(0, 20)) {
          const naive = naiveSearch(encodeText(text), keys, passages.length);
          const scores = new Map(naive.map(({ ordinal, score }) => [passages[ordinal]!.id, score]));
          const best = new Set(naive.slice(0, 10).map(({ ordinal }) => passages[ordinal]!.id));
          const hits = await index.search(encodeText(text), { topK: 10 });
          assert.is(hits.length, 10);
          for (const { id, score } of hits) {
            assert.ok(Math.abs(score - scores.get(id)!) < 1e-9, id);
            found += Number(best.has(id));
          }
        }
        assert.ok(found >= 80, `${found} of 200 found`);
      },
      200,
    );
  });

  test("compressed keys give the scores of all their decoded keys, bit for bit", async (store) => {
    const options: ImportOptions = { ...importing, encode: encodeVaried, bits: 4 };
    await importPassages(store, PASSAGES, options);
    const { header, codec } = await readProperties(store);
    const { dimension } = header;
    const rows = (await collect(store.rows())).sort((a, b) =>
      a.passage.id < b.passage.id ? -1 : 1,
    );
    const keys = rows.map(({ codes }) => codec.decoder.decode(codes));
    await withIndex(store, async (index) => {
      for (const text of QUESTIONS) {
        const question = encodeText(text);
        const rotated = rotate(question, codec.codebook!.rotation, dimension);
        const naive = naiveSearch(rotated, keys, rows.length);
        for (const topK of [1, 10, rows.length]) {
          const expected = naive
            .slice(0, topK)
            .map(({ ordinal, score }) => ({ id: rows[ordinal]!.passage.id, score }));
          const hits = await index.search(question, { topK });
          assert.equal(
            hits.map(({ id, score }) => ({ id, score })),
            expected,
          );
          for (const { ordinal, score } of hits.slice(0, 3))
            assert.equal(await index.score(question, [ordinal]), [score]);
        }
      }
    });
  });

  test("keeps every byte of codes and texts", async (store) => {
    await store.create(DIMENSION, "{}");
    const texts = [
      "",
      " ",
      "it's",
      "\\x00 \\' \" $1 {a,b} \n\t",
      "größe 日本語 👩‍👩‍👧 \u{10ffff}",
      "x".repeat(100_000),
    ];
    const rows = texts.map((text, i) =>
      rowOf(
        {
          id: `${i} ${[...text].slice(0, 20).join("")}`,
          title: text.slice(0, 2_000),
          text,
          ...(i % 2 && {
            document: [...text].slice(0, 100).join(""),
            metadata: { [`a${[...text].slice(0, 9).join("")}`]: [text], b: -1.5e-7 },
          }),
        },
        Uint8Array.from({ length: i === 0 ? 0 : 37 ** i % 20_011 }, (_, at) => at * (i + 7)),
      ),
    );
    await store.put(rows);
    const found = new Map(
      (await store.get(rows.map(({ passage }) => passage.id))).map((row) => [row.passage.id, row]),
    );
    for (const { passage, codes } of rows) {
      assert.equal(found.get(passage.id)!.passage, passage);
      assert.ok(Buffer.from(codes).equals(found.get(passage.id)!.codes), passage.id);
    }
    const stored = await collect(store.rows());
    assert.equal(stored.length, rows.length);
    for (const { passage, digest, codes, checksum } of stored)
      assert.equal([digestOf(passage), crc32(codes)], [digest, checksum]);
  });

  test("replaces, deletes and counts", async (store) => {
    await store.create(DIMENSION, "{}");
    const row = (id: string, text: string, tokens = 1) =>
      rowOf({ id, title: "", text }, new Uint8Array(4 * DIMENSION * tokens), tokens);
    await store.put([row("a", "one two two", 3), row("b", "two", 5)]);
    await store.put([row("a", "three", 2), row("c", "it's"), row("c", "two ' \\ three")]);
    const { passages, tokens, terms } = await store.statistics();
    assert.equal([passages, tokens, terms], [3, 8, 6]);
    assert.equal(
      await store.frequencies(["two", "one", "three", "none", "'", "\\"]),
      [2, 0, 2, 0, 1, 1],
    );
    assert.is(await store.delete(["a", "b", "x"]), 2);
    assert.equal(
      (await collect(store.rows())).map(({ passage }) => passage.id),
      ["c"],
    );
    assert.equal((await store.statistics()).passages, 1);
    assert.equal([...(await store.digests(["a", "c"])).keys()], ["c"]);
  });

  test("its version changes with each passage, also between equal counts", async (store) => {
    await store.create(DIMENSION, "{}");
    const row = (text: string) => rowOf({ id: "a", title: "", text }, new Uint8Array(8), 1);
    await store.put([row("one")]);
    const before = await store.statistics();
    assert.equal(await store.statistics(), before);
    await store.put([row("two")]);
    const { version, ...counts } = await store.statistics();
    assert.equal({ ...counts, version: before.version }, before);
    assert.is.not(version, before.version);
  });

  test("conditions leave out no passage that passes", async (store) => {
    const passages = numbered(withMetadata(makePassages(40)));
    await importPassages(store, passages, importing);
    const value = fc.constantFrom<string | number | boolean>(
      "en",
      "größe",
      "t1",
      "all",
      "d3",
      "",
      7,
      7.5,
      -1,
      1e300,
      true,
    );
    const ordered = fc.constantFrom<string | number>("en", "f", 7, 20.5);
    const where = conditionsOn(["number", "lang", "tags", "document", "none", "a'b"], {
      value,
      ordered,
      part: fc.constantFrom("", "e", "t1", "rö", "'"),
    });
    await fc.assert(
      fc.asyncProperty(where, async (condition) => {
        const found = (await collect(store.matching(condition))).map(({ id }) => id);
        const expected = passages.filter((one) => passes(condition, one)).map(({ id }) => id);
        assert.equal(
          expected.filter((id) => !found.includes(id)),
          [],
        );
      }),
      { numRuns: 60 },
    );
  });

  test("dates are compared by time, texts in NFC, lists by each value", async (store) => {
    const values = [
      "2024-05-31",
      "2024-05-31T10:00:00+02:00",
      "2024-05-31T08:00:00.000001Z",
      "2024-06-01T00:30+02:00",
      "2024-02-31",
      "2024-13-01",
      "Zürich",
      "Zürich".normalize("NFD"),
      "zurich",
      7,
    ];
    const found = values.map((value, i) => ({ ...PASSAGES[i]!, metadata: { value } }));
    const lists = values.map((value, i) => ({
      ...PASSAGES[values.length + i]!,
      metadata: { value: [value, values[(i + 4) % values.length]!] },
    }));
    const passages = [...found, ...lists];
    await importPassages(store, passages, importing);
    const operand = fc.constantFrom<string | number>(...values, "2024-05", "2024-06", "u", 6);
    const where = conditionsOn(["value"], {
      value: operand,
      ordered: operand,
      part: fc.constantFrom("rich", "ü", "u\u0308", "2024-05-31"),
    });
    await withIndex(store, async (index) => {
      for (const condition of fc.sample(where, 60)) {
        const expected = passages.filter((one) => passes(condition, one)).map(({ id }) => id);
        const all = new Set((await collect(store.matching(condition))).map(({ id }) => id));
        assert.ok(
          expected.every((id) => all.has(id)),
          JSON.stringify(condition),
        );
        const matches = await index.matching(condition).catch((error: unknown) => {
          if (expected.length > 0) throw error; // else it can be a condition that cannot pass
          return () => false;
        });
        for (const { id } of passages)
          assert.is(matches((await index.find(id))!), expected.includes(id), id);
      }
    });
  });

  test("a condition that cannot pass is an error, as in a local index", async (store) => {
    await importPassages(store, PASSAGES, importing);
    await withIndex(store, async (index) => {
      await rejects(index.matching({ langg: "en" }), /got "langg"; did you mean lang\?$/);
      await rejects(index.matching({ number: "x" }), /^where: /);
      const none = await index.matching({ number: { gt: 1000 } });
      await index.find("p0001");
      assert.is(none(0), false);
    });
  });

  test("an import goes on where it was stopped, in parts too", async (store) => {
    const passages = numbered(makePassages(2_000));
    const encoded: string[] = [];
    const stop = new AbortController();
    const slow: ImportOptions = {
      ...importing,
      encode: async (window) => {
        encoded.push(...window.map(({ id }) => id));
        if (encoded.length > 1_000) stop.abort(new Error("stopped"));
        return encode(window);
      },
    };
    await rejects(importPassages(store, passages, { ...slow, signal: stop.signal }), /stopped/);
    assert.match((await missingParts(store))!, /^part 1\/1 not finished$/);
    const before = (await store.statistics()).passages;
    assert.ok(before > 0 && before < 2_000, `${before}`);
    encoded.length = 0;
    await importPassages(store, passages, slow);
    assert.is(encoded.length, 2_000 - before);
    assert.is(await missingParts(store), undefined);
    assert.is((await store.statistics()).passages, 2_000);

    await store.drop();
    encoded.length = 0;
    const part = (index: number) =>
      importPassages(store, passages, { ...slow, signal: undefined, shard: { index, count: 3 } });
    await part(1);
    assert.is(await missingParts(store), "part 1/3, part 3/3 not finished");
    await Promise.all([part(0), part(2)]);
    assert.equal(
      [...encoded].sort(),
      passages.map(({ id }) => id),
    );
    assert.is(await missingParts(store), undefined);
    assert.is((await store.statistics()).passages, 2_000);
  });

  test("parts that begin together make one collection", async (store) => {
    const passages = numbered(makePassages(1_600));
    const part = (index: number) =>
      importPassages(store, passages, { ...importing, bits: 4, shard: { index, count: 3 } });
    await Promise.all([part(0), part(1), part(2)]);
    assert.is(await missingParts(store), undefined);
    assert.is((await store.statistics()).passages, 1_600);
    await withIndex(store, async (index) => {
      for (const id of ["p0000", "p0700", "p1599"]) {
        const keys = await index.keys((await index.find(id))!); // in the one codebook
        const expected = encodeText(passages[Number(id.slice(1))]!.text);
        for (const [i, value] of keys.entries()) assert.ok(Math.abs(value - expected[i]!) < 1);
      }
    });
  });

  test("only what changed is encoded and replaced", async (store) => {
    const encoded: string[] = [];
    const options: ImportOptions = {
      ...importing,
      encode: async (window) => {
        encoded.push(...window.map(({ id }) => id));
        return encode(window);
      },
    };
    await importPassages(store, PASSAGES, options);
    encoded.length = 0;
    const [first, second] = PASSAGES as [Passage, Passage];
    const changed = [{ ...first, text: "w1 w99" }, second, { ...second, id: "new" }];
    await importPassages(store, changed, { ...options, isImport: false });
    assert.equal(encoded, [first.id, "new"]);
    await withIndex(store, async (index) => {
      const ordinal = (await index.find(first.id))!;
      assert.equal((await index.passages([ordinal]))[0], changed[0]);
      assert.equal(await index.keys(ordinal), encodeText("w1 w99"));
      assert.is(index.passageCount, 301);
    });
  });

  test("another model, and a collection that is none, are refused", async (store) => {
    await store.drop();
    await rejects(
      openCollection(store, OPENING),
      /expected a collection that reatt index has made, got none/,
    );
    await importPassages(store, PASSAGES.slice(0, 3), importing);
    const other = { ...importing, header: { ...header, fingerprint: "other" } };
    await rejects(importPassages(store, PASSAGES, other), /fingerprint "toy", got "other"/);
    await store.writeRecord("properties", "{}");
    await rejects(
      openCollection(store, OPENING),
      /expected the properties that reatt wrote, got format/,
    );
  });
}

/** An index in a folder, of the same keys. */
async function localIndex(passages: readonly Passage[]) {
  const directory = await temporary();
  await build(directory.path, passages);
  const index = await openIndex(directory.path);
  const dispose = async () => {
    await index.close();
    await directory[Symbol.asyncDispose]();
  };
  return { index, [Symbol.asyncDispose]: dispose };
}

/** @param candidates by default all passages */
async function withIndex(
  store: Store,
  work: (index: IndexGeneration) => Promise<void>,
  candidates = OPENING.candidates,
): Promise<void> {
  // The suite disposes of the store.
  const kept: Store = { ...retrying(store, []), async [Symbol.asyncDispose]() {} };
  const { generation, release } = await openCollection(kept, { ...OPENING, candidates });
  await work(generation).finally(release);
}

function rowOf(passage: Passage, codes: Uint8Array, tokens = 0): NewPassage {
  return {
    passage,
    codes,
    digest: digestOf(passage),
    checksum: crc32(codes),
    tokens,
    cutTokens: 0,
    vector: new Float32Array(DIMENSION).fill(DIMENSION ** -0.5),
    terms: passage.text.split(" ").filter(Boolean),
  };
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
