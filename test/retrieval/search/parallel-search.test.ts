import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { hybridSearch } from "../../../src/retrieval/hybrid.ts";
import { segmentPath } from "../../../src/retrieval/index/format/manifest.ts";
import { addPassages } from "../../../src/retrieval/index/maintain/update.ts";
import { deletePassages } from "../../../src/retrieval/maintain.ts";
import { type OpenOptions, openIndex } from "../../../src/retrieval/open-index.ts";
import type { Ranking } from "../../../src/retrieval/scoring/top-k.ts";
import type { SearchOptions } from "../../../src/retrieval/search/generation.ts";
import {
  build,
  encodeVaried as encode,
  encodeText,
  header,
  makePassages,
  rejects,
  temporary,
} from "../support.ts";

const QUESTIONS = Array.from({ length: 24 }, (_, i) =>
  encodeText(`w${i} w${(3 * i) % 50} ${"w1 ".repeat(i)}w${(7 * i + 1) % 50}`),
);

/** Two segments with deleted passages. */
async function buildTwoSegments(directory: string): Promise<void> {
  await build(directory, makePassages(1500), { bits: 2, encode });
  const added = makePassages(300, 2).map((passage, i) => ({ ...passage, id: `q${i}` }));
  await addPassages(added, { directory, header, encode });
  const deleted = Array.from({ length: 200 }, (_, i) => `p${3 * i}`);
  await deletePassages(deleted, { directory });
}

const openParallel = (directory: string, options?: OpenOptions) =>
  openIndex(directory, { preset: "balanced", threads: 2, ...options });

test("a batch on several threads has the hits of each question alone, bit for bit", async () => {
  await using directory = await temporary();
  await buildTwoSegments(directory.path);
  await using single = await openIndex(directory.path, { preset: "balanced", threads: 1 });
  const filters: SearchOptions["filter"][] = [undefined, (ordinal: number) => ordinal % 2 === 1];
  for (const [memoryLimit, threads] of [
    [0, 2],
    [100_000, 3], // for some of the blocks
    [2 ** 30, 2],
  ] as const) {
    await using index = await openParallel(directory.path, { memoryLimit, threads });
    for (const filter of filters)
      for (const topK of [1, 25]) {
        const expected = [];
        for (const question of QUESTIONS)
          expected.push(await single.search(question, { topK, filter }));
        const both = await Promise.all([
          index.searchBatch(QUESTIONS, { topK, filter }),
          index.searchBatch(QUESTIONS, { topK, filter }),
        ]);
        assert.equal(both, [expected, expected]);
      }
  }
});

test("a hybrid batch has the hits of each question alone, with any memory", async () => {
  await using directory = await temporary();
  await buildTwoSegments(directory.path);
  const texts = QUESTIONS.map((_, i) => `w${i} w${(5 * i) % 50} w${(11 * i + 2) % 50}`);
  const questions = QUESTIONS.map((vectors, i) => ({ text: texts[i]!, vectors }));
  const found: Ranking[][] = [];
  for (const [memoryLimit, threads] of [
    [2 ** 30, 1],
    [100_000, 2], // for some of the blocks
  ] as const) {
    await using index = await openParallel(directory.path, { memoryLimit, threads });
    await index.snapshot(async (generation) => {
      const search = (some: typeof questions) =>
        hybridSearch(generation, { lambda: 0.1 }, some, { topK: 6 });
      const alone = [];
      for (const question of questions) alone.push(...(await search([question])));
      found.push(alone, await search(questions));
    });
  }
  for (const other of found) assert.equal(other, found[0]);
  assert.is(new Set(found[0]!.map(({ ordinals }) => `${ordinals}`)).size, QUESTIONS.length);
});

test("an error of a thread reaches the caller as that of one question does", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(1500), { bits: 2, encode });
  await using index = await openParallel(directory.path, { memoryLimit: 0 });
  await index.searchBatch(QUESTIONS, { topK: 5 });
  const segment = segmentPath(directory.path, "000001");
  assert.ok((await readdir(segment)).includes("codes.bin"));
  await writeFile(join(segment, "codes.bin"), "other bytes");
  const failing = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => new Error("no error"),
      (error: Error) => error,
    );
  const alone = await failing(index.search(QUESTIONS[0]!, { topK: 5 }));
  const together = await failing(index.searchBatch(QUESTIONS, { topK: 5 }));
  assert.instance(together, InputError);
  assert.is(together.message, alone.message);
});

test("a signal stops a batch, and the next one runs", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(1500), { bits: 2, encode });
  await using index = await openParallel(directory.path);
  const expected = await index.searchBatch(QUESTIONS, { topK: 5 });
  const controller = new AbortController();
  const stopped = index.searchBatch(QUESTIONS, { topK: 5, signal: controller.signal });
  controller.abort(new Error("enough"));
  await rejects(stopped, /enough/);
  assert.equal(await index.searchBatch(QUESTIONS, { topK: 5 }), expected);
});

// The process of this file would not end if a thread did not.
test("threads end with the index, and do not keep a process that leaves it open", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(1500), { bits: 2, encode });
  const closed = await openParallel(directory.path);
  await closed.searchBatch(QUESTIONS, { topK: 5 });
  await closed.close();
  await rejects(closed.searchBatch(QUESTIONS, { topK: 5 }), /closed/);
  const left = await openParallel(directory.path);
  await left.searchBatch(QUESTIONS, { topK: 5 });
});

test.run();
