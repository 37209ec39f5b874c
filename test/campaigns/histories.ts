/**
 * What power-cuts.ts and writer-kills.ts interrupt: changes of indexes, synchronisations, models
 * and checkpoints.
 */

import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as assert from "uvu/assert";
import type { ReAtt } from "../../src/reatt.ts";
import type { Bits } from "../../src/retrieval/codec/codec.ts";
import { findManifest } from "../../src/retrieval/index/format/manifest.ts";
import { compactIndex, mergeShards } from "../../src/retrieval/index/maintain/compact.ts";
import { addPassages } from "../../src/retrieval/index/maintain/update.ts";
import { deletePassages, verifyIndex } from "../../src/retrieval/maintain.ts";
import { openIndex } from "../../src/retrieval/open-index.ts";
import type { Passage } from "../../src/text/passage.ts";
import { type ParameterState, parameterState } from "../../src/training/engine/optimizer.ts";
import {
  findCheckpoint,
  restoreCheckpoint,
  writeCheckpoint,
} from "../../src/training/run/checkpoint.ts";
import { saveModel } from "../../src/training/run/parameters.ts";
import {
  build,
  encode,
  encodeVaried,
  header,
  makePassages,
  noise,
  withMetadata,
} from "../retrieval/support.ts";
import { addingStates, checkStates, statesHeader } from "../retrieval/toy-states.ts";
import { tinyConfig } from "../support/tiny-model.ts";
import { trainedStates } from "../support/training.ts";
import { Failed } from "./campaign.ts";
import { syncHistory } from "./sync-history.ts";

export interface History {
  readonly name: string;
  /** Changes files below `root` and calls `done` after each complete change. */
  run(root: string, done: () => void): Promise<void>;
  /**
   * Checks what a fault after `done` changes has left. Returns the number of the change that it
   * found. `resume` also repeats the interrupted change.
   */
  check(root: string, done: number, resume: boolean): Promise<number>;
}

/** A change of an index: from one generation to the next, or an interrupted one. */
interface Step {
  readonly run: (directory: string) => Promise<unknown>;
  /** The passages afterwards; absent if the step does not finish. */
  readonly contents?: readonly Passage[];
}

/**
 * Changes of indexes whose random parts depend on `seed`. `shards` holds the shards to merge, and
 * `model` synchronises.
 */
export const writerHistories = (seed: number, shards: Shards, model: ReAtt): History[] => [
  indexHistory("float32", changes(seed, undefined)),
  indexHistory("2 bits", changes(seed, 2)),
  indexHistory("interrupted builds", interruptedBuilds(seed)),
  indexHistory("merges", merges(shards)),
  syncHistory(model),
];

/** What training writes. */
export const trainingHistories = (seed: number): History[] => [
  checkpointHistory(seed),
  modelHistory,
];

/** Builds, adds, replaces, deletes, compacts, builds again. With bits, the index holds states. */
function changes(seed: number, bits: Bits | undefined): Step[] {
  const options = bits
    ? { header: statesHeader, encode: addingStates(encodeVaried) }
    : { header, encode };
  const first = withMetadata(makePassages(30 + (seed % 40), seed));
  const added = makePassages(6, seed + 1).map((passage, i) => ({ ...passage, id: `p${i * 17}` }));
  const gone = Array.from({ length: 9 }, (_, i) => `p${(i * 7 + seed) % 30}`);
  const more = withMetadata(makePassages(3, seed + 2)).map((passage, i) => ({
    ...passage,
    id: `more${i}`,
  }));
  const without = (passages: readonly Passage[], ids: readonly string[]) =>
    passages.filter(({ id }) => !ids.includes(id));
  const afterAdd = [
    ...without(
      first,
      added.map(({ id }) => id),
    ),
    ...added,
  ];
  const afterDelete = without(afterAdd, gone);
  const afterMore = [...afterDelete, ...more];
  const last = makePassages(40, seed + 3);
  return [
    { run: (directory) => build(directory, first, { ...options, bits }), contents: first },
    { run: (directory) => addPassages(added, { directory, ...options }), contents: afterAdd },
    { run: (directory) => deletePassages(gone, { directory }), contents: afterDelete },
    { run: (directory) => addPassages(more, { directory, ...options }), contents: afterMore },
    { run: (directory) => compactIndex(directory), contents: afterMore },
    { run: (directory) => build(directory, last, { ...options, bits }), contents: last },
  ];
}

/** Builds that stop and resume, the second with a shorter corpus than its resume points cover. */
function interruptedBuilds(seed: number): Step[] {
  const corpus = withMetadata(makePassages(1040, seed));
  const short = corpus.slice(0, 512);
  return [
    { run: (directory) => stopped(directory, corpus, "encoded", 2) },
    { run: (directory) => build(directory, short), contents: short },
    { run: (directory) => stopped(directory, corpus.slice(0, 700), "compressed", 2) },
    {
      run: (directory) => build(directory, corpus.slice(0, 700), { encode: encodeVaried, bits: 2 }),
      contents: corpus.slice(0, 700),
    },
  ];
}

/** Stops a build at report number `count` of `event`. */
async function stopped(
  directory: string,
  passages: readonly Passage[],
  event: "encoded" | "compressed",
  count: number,
): Promise<void> {
  const controller = new AbortController();
  let left = count;
  await build(directory, passages, {
    ...(event === "compressed" && { encode: encodeVaried, bits: 2 }),
    signal: controller.signal,
    onProgress: (progress) => {
      if (progress.event === event && --left === 0) controller.abort(new Error("stopped"));
    },
  }).then(
    () => {
      throw new Error("the build was not stopped");
    },
    (error: Error) => {
      if (error.message !== "stopped") throw error;
    },
  );
}

export interface Shards {
  readonly folders: readonly string[];
  readonly passages: readonly Passage[];
}

export async function makeShards(folder: string): Promise<Shards> {
  const passages = withMetadata(makePassages(530));
  const folders = [0, 1].map((index) => join(folder, `shard-${index}`));
  for (const [index, directory] of folders.entries())
    await build(directory, passages, { encode: encodeVaried, shard: { index, count: 2 } });
  return { folders, passages };
}

const merges = ({ folders, passages: contents }: Shards): Step[] => [
  { run: (directory) => mergeShards(folders, { directory, bits: 32 }), contents },
  { run: (directory) => mergeShards(folders, { directory, bits: 2, replace: true }), contents },
];

function indexHistory(name: string, steps: readonly Step[]): History {
  const finished = steps.filter(({ contents }) => contents);
  const directoryOf = (root: string) => join(root, "new", "index");
  return {
    name,
    async run(root, done) {
      for (const { run, contents } of steps) {
        await run(directoryOf(root));
        if (contents) done();
      }
    },
    async check(root, done, resume) {
      const directory = directoryOf(root);
      const generation = await checkIndex(directory, finished, done);
      const next = finished[generation];
      if (!resume || !next) return generation;
      await next.run(directory);
      await checkIndex(directory, finished, generation + 1);
      return generation;
    },
  };
}

/** The generation of the index, which must be whole and hold its passages. */
async function checkIndex(
  directory: string,
  steps: readonly Step[],
  atLeast: number,
): Promise<number> {
  const generation = (await findManifest(directory))?.generation ?? 0;
  if (generation < atLeast) throw new Failed("lost", `generation ${generation} after ${atLeast}`);
  if (generation === 0) return 0;
  assert.equal(await verifyIndex(directory), []);
  await using index = await openIndex(directory, { preset: "exact", threads: 1 });
  const found: Passage[] = [];
  for await (const [, passage] of index.entries()) found.push(passage);
  assert.equal(found, steps[generation - 1]!.contents);
  if (index.header.states) await checkStates(index);
  return generation;
}

const CHECKPOINTS = 4;

function checkpointHistory(seed: number): History {
  const states = (step: number) =>
    new Map<string, ParameterState>(
      ["a", "b"].map((name, i) => [name, parameterState([40], noise(40, seed + 10 * step + i))]),
    );
  const progress = (step: number) => ({ plan: { seed }, step, seconds: step });
  const directoryOf = (root: string) => join(root, "run", "checkpoint");
  return {
    name: "checkpoints",
    async run(root, done) {
      for (let step = 1; step <= CHECKPOINTS; step++) {
        await writeCheckpoint(directoryOf(root), progress(step), states(step));
        done();
      }
    },
    async check(root, done, resume) {
      const directory = directoryOf(root);
      const checkpoint = await findCheckpoint(directory);
      const step = checkpoint?.step ?? 0;
      if (step < done) throw new Failed("lost", `step ${step} after ${done}`);
      if (!checkpoint) return 0;
      const restored = states(0);
      await restoreCheckpoint(directory, checkpoint, restored);
      assert.equal(restored, states(step));
      if (resume) await writeCheckpoint(directory, progress(step + 1), states(step + 1));
      return step;
    },
  };
}

const SAVED = ["config.json", "model.safetensors", "spiece.model"];
const ORIGINAL = "models/reatt-mini";
const parameters = trainedStates(tinyConfig());
let saved: Map<string, Buffer> | undefined;

/** Saves a model. Each file is whole or absent, and config.json comes last. */
const modelHistory: History = {
  name: "models",
  async run(root, done) {
    const folder = join(root, "runs", "model");
    await saveModel(folder, tinyConfig(), parameters, { model: ORIGINAL, seed: 0 });
    saved ??= new Map(SAVED.map((name) => [name, readFileSync(join(folder, name))]));
    done();
  },
  async check(root, done) {
    const folder = join(root, "runs", "model");
    const found = new Set<string>(await readdir(folder).catch(() => []));
    for (const name of SAVED)
      if (found.has(name))
        assert.ok((await readFile(join(folder, name))).equals(saved!.get(name)!), name);
    const whole = SAVED.every((name) => found.has(name));
    if (!whole && done > 0) throw new Failed("lost", `a saved model has only ${[...found]}`);
    assert.ok(whole || !found.has("config.json"), "config.json came before other files");
    return whole ? 1 : 0;
  },
};
