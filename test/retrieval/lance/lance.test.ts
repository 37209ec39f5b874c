import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { compactIndex } from "../../../src/retrieval/index/maintain/compact.ts";
import { addPassages, deletePassages } from "../../../src/retrieval/index/maintain/update.ts";
import {
  exportToLance,
  type LanceExportProgress,
} from "../../../src/retrieval/lance/lance-export.ts";
import { type OpenOptions, openIndex } from "../../../src/retrieval/open-index.ts";
import { conformance } from "../conformance.ts";
import {
  build,
  encodeText,
  encodeVaried,
  header,
  isInstalled,
  makePassages,
  rejects,
  temporary,
} from "../support.ts";

if (isInstalled("@lancedb/lancedb")) lanceTests();
else test.skip("lancedb: the package @lancedb/lancedb is not installed");

function lanceTests(): void {
  const uriOf = (directory: string) => join(directory, "table");

  const openOnly = (directory: string, options?: OpenOptions) =>
    openIndex(directory, { engine: { name: "lancedb", uri: uriOf(directory) }, ...options });

  /** The events of an export, and their token counts. */
  const exported = async (directory: string): Promise<LanceExportProgress[]> => {
    const progress: LanceExportProgress[] = [];
    await exportToLance(directory, {
      uri: uriOf(directory),
      onProgress: (event) => progress.push(event),
    });
    return progress;
  };

  conformance(test, {
    name: "lancedb",
    recall: 0.9,
    open: async (directory, options) => {
      await exported(directory);
      return openOnly(directory, options);
    },
  });

  test("a table follows its index, and readers keep their version", async () => {
    await using directory = await temporary();
    const { path } = directory;
    const question = encodeText("w1 w2 w3");
    const find = async () => {
      await using index = await openOnly(path);
      return await index.search(question, { topK: 50 });
    };
    const exact = async () => {
      await using index = await openIndex(path);
      return await index.search(question, { topK: 50 });
    };
    await build(path, makePassages(1000), { encode: encodeVaried });
    await rejects(
      openOnly(path),
      /table: expected a table with the token keys of this generation .* reatt index export/,
    );
    const events = await exported(path);
    const total = events.at(-1)!.total;
    assert.equal(
      events.map(({ event, tokens }) => [event, tokens]),
      [
        ["copied", total],
        ["indexing", total],
        ["finished", total],
      ],
    );
    assert.equal(
      (await exported(path)).map(({ event }) => event),
      ["finished"],
    );
    await using first = await openOnly(path);
    const before = await first.search(question, { topK: 50 });

    const added = makePassages(60, 3).map((passage, i) => ({ ...passage, id: `new${i}` }));
    await addPassages(added, { directory: path, header, encode: encodeVaried });
    await rejects(openOnly(path), /of this generation/);
    await exported(path);
    assert.equal(await find(), await exact());

    await deletePassages(["p0", "p1"], { directory: path });
    assert.equal(await find(), await exact()); // the same keys
    await compactIndex(path);
    await rejects(openOnly(path), /of this generation/);
    await exported(path);
    assert.equal(await find(), await exact());
    assert.equal(await first.search(question, { topK: 50 }), before);
  });

  test("an interrupted export resumes without duplicates", async () => {
    await using directory = await temporary();
    const { path } = directory;
    await build(path, makePassages(300), { encode: encodeVaried });
    const enough = new AbortController();
    const interrupted = exportToLance(path, {
      uri: uriOf(path),
      signal: enough.signal,
      onProgress: ({ event }) => {
        if (event === "copied") enough.abort(new Error("enough"));
      },
    });
    await rejects(interrupted, /enough/);
    const lancedb = createRequire(import.meta.url)("@lancedb/lancedb");
    const table = await (await lancedb.connect(uriOf(path))).openTable("token_keys");
    const rows = await table.countRows();
    await table.delete("passage < 100"); // as after an interrupted copy
    await exported(path);
    await table.checkoutLatest();
    assert.is(await table.countRows(), rows);
    await using index = await openOnly(path);
    assert.is(index.tokenCount, rows);
  });

  test("exports the decoded keys of a compressed index", async () => {
    await using directory = await temporary();
    const { path } = directory;
    await build(path, makePassages(1000), { encode: encodeVaried, bits: 2 });
    await exported(path);
    await using index = await openOnly(path);
    await using exact = await openIndex(path, { preset: "exact" });
    const question = encodeText("w1 w2 w3");
    assert.equal(
      await index.search(question, { topK: 10 }),
      await exact.search(question, { topK: 10 }),
    );
  });

  test("rejects the table of another model and a place that cannot be written", async () => {
    await using directory = await temporary();
    const { path } = directory;
    await build(path, makePassages(20), { encode: encodeVaried });
    await exported(path);
    await build(path, makePassages(20), { header: { ...header, fingerprint: "other" } });
    await rejects(
      exported(path),
      /table: expected a table of the model other, got one of the model toy/,
    );
    const place = join(path, "index.json", "table");
    await rejects(
      exportToLance(path, { uri: place }),
      /index\.json.table: expected to be able to write the table/,
    );
  });
}

test.run();
