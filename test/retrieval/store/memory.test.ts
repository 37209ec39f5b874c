import { test } from "uvu";
import * as assert from "uvu/assert";
import { importPassages } from "../../../src/retrieval/store/import.ts";
import { generationOf, openCollection } from "../../../src/retrieval/store/open-store-index.ts";
import { memoryStore } from "../../support/memory-store.ts";
import { encode, header, makePassages } from "../support.ts";
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
    const { generation, release } = await generationOf(await openCollection(store), options);
    assert.is(generation.header.linkBase, linkBase ?? stored);
    await release();
  }
});

test.run();
