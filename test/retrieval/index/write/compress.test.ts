/** An interrupted compression resumes and ends with the same bytes as an uninterrupted one. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { cp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  codebookPath,
  findManifest,
  readManifest,
  segmentPath,
} from "../../../../src/retrieval/index/format/manifest.ts";
import { mergeShards } from "../../../../src/retrieval/index/maintain/compact.ts";
import { addPassages } from "../../../../src/retrieval/index/maintain/update.ts";
import type { BuildOptions, BuildProgress } from "../../../../src/retrieval/index/write/build.ts";
import { verifyIndex } from "../../../../src/retrieval/maintain.ts";
import { LOADER, programBeside } from "../../../support/node-program.ts";
import {
  build,
  damage,
  encodeVaried,
  header,
  makePassages,
  rejects,
  sameBytes,
  temporary,
} from "../../support.ts";
import { COMPRESSED, CORPUS } from "../maintain/long-passages.ts";

/** About 1 s each. `KILLS=100 npx tsx test/retrieval/index/write/compress.test.ts` runs longer. */
const KILLS = Number(process.env.KILLS ?? 4);
const BUILDER = programBeside("compressing-builder", import.meta.url);

type Run = Pick<BuildOptions, "signal" | "onProgress">;

const builds = await temporary();
const whole = join(builds.path, "whole");
/** Stopped after the codebook is learned, and after two of three pieces. */
const [learned, interrupted] = [join(builds.path, "learned"), join(builds.path, "interrupted")];
const buildCorpus = (directory: string) => (run: Run) =>
  build(directory, CORPUS, { ...COMPRESSED, ...run });

/**
 * Passages that are compressed: while the codebook is learned, after that, and after each piece.
 */
const STEPS = [0, 0, 300, 500, 600];
const steps = await compressedPassages(buildCorpus(whole));
await stopAt(buildCorpus(learned), 1);
await cp(learned, interrupted, { recursive: true });
await stopAt(buildCorpus(interrupted), 2);

test.after(async () => {
  await builds[Symbol.asyncDispose]();
});

test("an uninterrupted build compresses piece by piece", () => {
  assert.equal(steps, STEPS);
});

test("resumes with the compressed pieces and leaves no other files", async () => {
  await using directory = await copyOf(interrupted);
  assert.equal(await compressedPassages(buildCorpus(directory.path)), STEPS.slice(3));
  await sameIndex(directory.path, whole);
});

test("keeps the codebook of a build that was interrupted before the first codes", async () => {
  await using directory = await copyOf(learned);
  assert.equal(await compressedPassages(buildCorpus(directory.path)), STEPS.slice(1));
  await sameIndex(directory.path, whole);
});

test("resumes beside an index that it replaces", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(100), { bits: 4 });
  await stopAt(buildCorpus(directory.path), 3);
  assert.equal(await compressedPassages(buildCorpus(directory.path)), STEPS.slice(3));
  await sameIndex(directory.path, whole);
});

test("keys wait as int8 once there are enough for a codebook, also those before", async () => {
  await using builds = await temporary();
  const whole = join(builds.path, "whole");
  const sizes = await buildShort(whole, Number.POSITIVE_INFINITY, "automatic");
  const [float32, int8] = [4 * header.dimension, header.dimension + 4];
  assert.equal(
    sizes,
    [1, 2, 3, 4, 5].map((windows) => ({
      "keys.f32": Math.min(windows, 3) * 512 * SHORT_TOKENS * float32,
      "keys.i8": windows < 4 ? 0 : windows * 512 * SHORT_TOKENS * int8,
    })),
  );
  for (const windows of [2, 3, 4]) {
    const stopped = join(builds.path, `stopped-${windows}`);
    await rejects(buildShort(stopped, windows, "automatic"), /stopped/);
    const rest = await buildShort(stopped, Number.POSITIVE_INFINITY, 4); // as many as are automatic
    assert.is(rest.length, 5 - windows);
    await sameIndex(stopped, whole);
  }
});

test("resumes a merge", async () => {
  await using directory = await temporary();
  const shards = [0, 1].map((index) => join(directory.path, `shard-${index}`));
  for (const [index, shard] of shards.entries())
    await build(shard, CORPUS, { encode: encodeVaried, shard: { index, count: 2 } });
  const joined = join(directory.path, "joined");
  const merge = (run: Run) => mergeShards(shards, { directory: joined, bits: 2, ...run });
  await stopAt(merge, 3);
  assert.equal(await compressedPassages(merge), STEPS.slice(3));
  await sameIndex(joined, whole);
});

test("resumes additions", async () => {
  await using directory = await temporary();
  const [expected, index] = [join(directory.path, "expected"), join(directory.path, "index")];
  const add = (directory: string) => (run: Run) =>
    addPassages(CORPUS, { directory, header, encode: encodeVaried, ...run });
  await build(expected, makePassages(100, 3), { bits: 4 });
  await cp(expected, index, { recursive: true });
  assert.equal(await compressedPassages(add(expected)), STEPS.slice(1)); // the codebook exists
  await stopAt(add(index), 2);
  assert.equal(await compressedPassages(add(index)), STEPS.slice(3));
  await sameIndex(index, expected);
});

test("compresses damaged pieces of an interrupted build again, and all that follow", () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom("codes.bin", "codes.u64", "journal"),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.boolean(),
      async (name, where, torn) => {
        await using directory = await copyOf(interrupted);
        await damage(join(segmentPath(directory.path, "000001"), name), where, torn);
        await build(directory.path, CORPUS, COMPRESSED);
        await sameIndex(directory.path, whole);
      },
    ),
    { numRuns: 7 },
  ));

test("learns a damaged codebook again and keeps its codes, since it is the same", async () => {
  await using directory = await copyOf(interrupted);
  await damage(join(codebookPath(directory.path, "000001"), "parts.u8"), 0.5, false);
  assert.equal(await compressedPassages(buildCorpus(directory.path)), [0, ...STEPS.slice(3)]);
  await sameIndex(directory.path, whole);
});

test("keeps the codes before a flipped bit", async () => {
  await using directory = await copyOf(interrupted);
  const codes = join(segmentPath(directory.path, "000001"), "codes.bin");
  await damage(codes, 0.9, false); // in the second piece
  assert.equal(await compressedPassages(buildCorpus(directory.path)), STEPS.slice(2));
  await sameIndex(directory.path, whole);
});

for (const [what, passages, bits] of [
  ["bits", CORPUS, 1],
  ["passages", CORPUS.with(599, { id: "other", title: "", text: "w1 w2" }), 2],
] as const)
  test(`starts again for other ${what}`, async () => {
    await using fresh = await temporary();
    await build(fresh.path, passages, { ...COMPRESSED, bits });
    await using directory = await copyOf(interrupted);
    const again = (run: Run) => build(directory.path, passages, { ...COMPRESSED, bits, ...run });
    assert.equal(await compressedPassages(again), STEPS);
    await sameIndex(directory.path, fresh.path);
  });

test(`survives ${KILLS} kills at random moments`, async () => {
  await using directory = await temporary();
  const index = join(directory.path, "index");
  await cp(learned, index, { recursive: true });
  let reached = 0;
  let patience = 400;
  for (let kill = 0; kill < KILLS; kill++) {
    const { compressed, milliseconds } = await killedBuild(index, Math.random() * patience);
    assert.ok(compressed[0]! >= reached, `${compressed[0]} after ${reached}`);
    reached = compressed.at(-1)!;
    const manifest = await findManifest(index);
    if (!manifest) continue;
    // Finished, although perhaps killed before it ended or removed unneeded files.
    assert.equal(manifest, await readManifest(whole));
    assert.equal(await verifyIndex(index), []);
    patience = milliseconds;
    reached = 0;
    await rm(index, { recursive: true });
    await cp(learned, index, { recursive: true });
  }
  await build(index, CORPUS, COMPRESSED);
  await sameIndex(index, whole);
});

/** Builds in a separate process and kills it this long after the start of compression. */
async function killedBuild(
  directory: string,
  milliseconds: number,
): Promise<{ compressed: number[]; milliseconds: number }> {
  const child = fork(BUILDER, [directory], { execArgv: [...LOADER] });
  const compressed: number[] = [];
  let began = 0;
  let timer: NodeJS.Timeout | undefined;
  child.on("message", ({ event, passages }: BuildProgress) => {
    if (event !== "compressed") return;
    compressed.push(passages);
    began ||= performance.now();
    timer ??= setTimeout(() => child.kill("SIGKILL"), milliseconds);
  });
  const [code, signal] = await once(child, "exit");
  clearTimeout(timer);
  assert.ok(code === 0 || signal === "SIGKILL", `exit ${code}`);
  return { compressed, milliseconds: performance.now() - began };
}

/** Stops `run` after `step` progress reports of compression, not counting the first. */
async function stopAt(run: (run: Run) => Promise<void>, step: number): Promise<void> {
  const controller = new AbortController();
  let left = step;
  const onProgress = ({ event }: BuildProgress) => {
    if (event === "compressed" && left-- === 0) controller.abort(new Error("stopped"));
  };
  await rejects(run({ signal: controller.signal, onProgress }), /stopped/);
}

async function compressedPassages(run: (run: Run) => Promise<void>): Promise<number[]> {
  const passages: number[] = [];
  await run({
    onProgress: (progress) => {
      if (progress.event === "compressed") passages.push(progress.passages);
    },
  });
  return passages;
}

async function copyOf(path: string): Promise<AsyncDisposable & { path: string }> {
  const directory = await temporary();
  await cp(path, directory.path, { recursive: true });
  return directory;
}

const SHORT_TOKENS = 40; // 20,480 in a window, so the fourth has enough for a codebook
const SHORT = Array.from({ length: 5 * 512 }, (_, i) => ({
  ...{ id: `p${i}`, title: "" },
  text: Array.from({ length: SHORT_TOKENS }, (_, w) => `w${(i * 37 + w * w * 11) % 600}`).join(" "),
}));

/** Stops after a number of windows. Returns the sizes of the waiting keys after each. */
async function buildShort(
  directory: string,
  stopAfter: number,
  bits: 4 | "automatic",
): Promise<Record<string, number>[]> {
  const sizes: Record<string, number>[] = [];
  const controller = new AbortController();
  const sizeOf = (name: string): number =>
    statSync(join(segmentPath(directory, "000001.stage"), name)).size;
  await build(directory, SHORT, {
    ...{ bits, encode: encodeVaried, signal: controller.signal },
    onProgress: ({ event }) => {
      if (event !== "encoded") return;
      sizes.push({ "keys.f32": sizeOf("keys.f32"), "keys.i8": sizeOf("keys.i8") });
      if (sizes.length === stopAfter) controller.abort(new Error("stopped"));
    },
  });
  return sizes;
}

/** Compares all files with those of `expected`, the codebook included. */
async function sameIndex(directory: string, expected: string): Promise<void> {
  await sameBytes(directory, expected);
  const [{ codec, segments }, { codec: other }] = [
    await readManifest(directory),
    await readManifest(expected),
  ];
  assert.ok(codec.name === "quantised" && other.name === "quantised");
  assert.equal(codec.files, other.files);
  assert.equal((await readdir(directory)).sort(), ["codebooks", "index.json", "segments"]);
  assert.equal(await readdir(join(directory, "segments")), [segments[0]!.name]);
  assert.equal(await readdir(join(directory, "codebooks")), [codec.codebook]);
  const files = await readdir(codebookPath(directory, codec.codebook));
  assert.equal(files.sort(), Object.keys(codec.files).sort());
}

test.run();
