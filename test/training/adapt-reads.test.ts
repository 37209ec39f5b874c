/** How often an adaptation reads its corpus. Counts bytes, because the file is read at offsets. */

import { mkdirSync, statSync } from "node:fs";
import promises, { type FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { adapt } from "../../src/training/adapt.ts";
import { finish, PASSAGES, writeAdaptationFiles } from "../support/adaptation.ts";
import { temporaryFolder, writeLines, writeTinyModel } from "../support/training.ts";

const reads = { opens: 0, bytes: 0 };

/** Counts what is read of `path` from now on, by streams and by position. */
function countReads(path: string): void {
  const { open } = promises;
  promises.open = async (...args) => {
    const handle = await open(...args);
    return args[0] === path ? counting(handle) : handle;
  };
  syncBuiltinESMExports();
}

function counting(handle: FileHandle): FileHandle {
  reads.opens++;
  const read = handle.read.bind(handle) as (...args: unknown[]) => Promise<{ bytesRead: number }>;
  const count = async (...args: unknown[]) => {
    const result = await read(...args);
    reads.bytes += result.bytesRead;
    return result;
  };
  return Object.assign(handle, { read: count });
}

test("an adaptation reads its corpus three times: to open it, for BM25, and to index it", async () => {
  await using folder = temporaryFolder();
  const at = (name: string): string => join(folder.path, name);
  mkdirSync(at("model"));
  await writeTinyModel(at("model"));
  const { data, queries, qrels } = writeAdaptationFiles(folder.path);
  const ignored = "x".repeat(20_000); // passages far apart are read one by one
  const others = Array.from({ length: 988 }, (_, i) => ({ id: `o${i}`, title: "", text: `${i}` }));
  const corpus = writeLines(
    at("large.jsonl"),
    [...PASSAGES, ...others].map((passage) => ({ ...passage, ignored })),
  );
  countReads(corpus);
  const few = { steps: 2, questions: 2, candidatesPerQuestion: 2, monitorSteps: 10 };
  const sources = { data, queries, qrels }; // masked sentences would read a random sample, too
  const { index } = await finish(
    adapt({ model: at("model"), corpus, out: at("out"), ...sources, ...few, maxPassageTokens: 16 }),
  );
  assert.ok(index);
  assert.is(reads.opens, 2, "one stream, and one file that is read at offsets");
  const passes = reads.bytes / statSync(corpus).size;
  assert.ok(passes > 3 && passes < 4, `${passes}: 3, and about 700 of 1,000 passages at random`);
});

test.run();
