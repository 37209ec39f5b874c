/** Passages, an encoder of words and a search by loops, for the tests of the index. */

import { mkdtemp, open, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as assert from "uvu/assert";
import type { Allocate } from "../../src/retrieval/index/format/compressed-store.ts";
import {
  type IndexHeader,
  readManifest,
  segmentPath,
} from "../../src/retrieval/index/format/manifest.ts";
import { type BuildOptions, buildIndex } from "../../src/retrieval/index/write/build.ts";
import type { Ranking } from "../../src/retrieval/scoring/top-k.ts";
import type { Passage } from "../../src/text/passage.ts";

export const DIMENSION = 8;

export const header: IndexHeader = {
  fingerprint: "toy",
  dimension: DIMENSION,
  maxPassageTokens: 64,
  prompts: { passage: "{text}" },
};

/**
 * A vector of small integers for each word. Products are exact in float32, so equal scores are
 * equal.
 */
export function encodeText(text: string): Float32Array {
  const words = text.split(" ");
  return Float32Array.from({ length: words.length * DIMENSION }, (_, i) => {
    let state = i % DIMENSION;
    for (const letter of words[Math.floor(i / DIMENSION)]!)
      state = (Math.imul(state, 31) + letter.charCodeAt(0)) | 0;
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    return ((state ^ (state >>> 12)) & 7) - 3;
  });
}

export const encode = async (passages: readonly Passage[]): Promise<Float32Array[]> =>
  passages.map(({ text }) => encodeText(text));

/** As `encode`, with at most 1/8 added to each value, so that no two keys are equal. */
export async function encodeVaried(passages: readonly Passage[]): Promise<Float32Array[]> {
  let state = 1;
  return passages.map(({ id, text }) => {
    for (const letter of id) state = (Math.imul(state, 31) + letter.charCodeAt(0)) >>> 0;
    return encodeText(text).map((value) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return value + state / 2 ** 35;
    });
  });
}

/**
 * `count` passages of 1 to 12 words from a vocabulary of 50 or `vocabulary`; determined by `seed`.
 */
export function makePassages(count: number, seed = 1, vocabulary = 50): Passage[] {
  let state = seed;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return Array.from({ length: count }, (_, i) => {
    const words = Array.from({ length: 1 + random(12) }, () => `w${random(vocabulary)}`);
    return { id: `p${i}`, title: i % 3 ? "" : `T ${i}`, text: words.join(" ") };
  });
}

/** The passages with metadata and document ids; some have neither. */
export const withMetadata = (passages: readonly Passage[]): Passage[] =>
  passages.map((passage, i) =>
    i % 7 === 6
      ? passage
      : {
          ...passage,
          ...(i % 5 !== 4 && { document: `d${i % 11}` }),
          metadata: { number: i, lang: i % 3 ? "en" : "größe", tags: [`t${i % 4}`, "all"] },
        },
  );

/** Pseudo-random numbers from -1 to 1, determined by `seed`. */
export function noise(count: number, seed = 1): Float32Array {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

export interface NaiveHit {
  readonly ordinal: number;
  readonly score: number;
}

/** A ranking in the form of `naiveSearch`. */
export const listed = ({ ordinals, scores }: Ranking): NaiveHit[] =>
  Array.from(ordinals, (ordinal, i) => ({ ordinal, score: scores[i]! }));

/** Eq. 1 of the paper by loops over all passages, in float64. */
export function naiveSearch(
  question: Float32Array,
  passages: readonly Float32Array[],
  topK: number,
  dimension: number = DIMENSION,
): NaiveHit[] {
  const scores = passages.map((keys, ordinal) => {
    let sum = 0;
    for (let i = 0; i < question.length / dimension; i++) {
      let best = -Infinity;
      for (let j = 0; j < keys.length / dimension; j++) {
        let product = 0;
        for (let d = 0; d < dimension; d++)
          product += question[i * dimension + d]! * keys[j * dimension + d]!;
        best = Math.max(best, product);
      }
      sum += best;
    }
    return { ordinal, score: sum / (question.length / dimension) };
  });
  return scores.sort((a, b) => b.score - a.score || a.ordinal - b.ordinal).slice(0, topK);
}

/** A new directory that is removed after the test. */
export async function temporary(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), "reatt-test-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export const build = (
  directory: string,
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: Partial<BuildOptions> = {},
): Promise<void> => buildIndex(passages, { directory, header, encode, ...options });

/** Compares all files, except for the number of the generation. */
export async function sameBytes(directory: string, expected: string): Promise<void> {
  const [a, b] = [await readManifest(directory), await readManifest(expected)];
  assert.equal({ ...a.segments[0], name: "" }, { ...b.segments[0], name: "" });
  const [left, right] = [
    segmentPath(directory, a.segments[0]!.name),
    segmentPath(expected, b.segments[0]!.name),
  ];
  const names = (await readdir(right)).sort();
  assert.equal((await readdir(left)).sort(), names);
  for (const name of names)
    assert.ok((await readFile(join(left, name))).equals(await readFile(join(right, name))), name);
}

/** Flips a bit of a file at a fraction of its length, or cuts the file there. */
export async function damage(path: string, where: number, torn: boolean): Promise<void> {
  await using file = await open(path, "r+");
  const position = Math.floor(where * (await file.stat()).size);
  if (torn) return file.truncate(position);
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, position);
  byte[0]! ^= 4;
  await file.write(byte, 0, 1, position);
}

export async function rejects(promise: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (error: Error) => error,
  );
  assert.ok(error, `should have thrown ${message}`);
  assert.match(error.message, message);
}

/**
 * Whether an optional package can be loaded. Its tests are skipped without it.
 *
 * @throws if it cannot, where REATT_ALL_TESTS=1 says that nothing may be skipped for that
 */
export function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url)(name);
    return true;
  } catch (error) {
    if (process.env.REATT_ALL_TESTS === "1") throw error;
    console.log(`skipped: the package ${name} is not installed`);
    return false;
  }
}

/** What `CompressedStore.codes` does, of the codes of each passage. */
export const codesOf =
  (passages: readonly Uint8Array[]) =>
  async (ordinals: Uint32Array, allocate: Allocate): Promise<Uint32Array> =>
    copyTo(
      allocate,
      Array.from(ordinals, (ordinal) => passages[ordinal]!),
    );

/** Copies parts to memory, as a compressed store does: the range of each in it, [parts, 2]. */
export function copyTo(allocate: Allocate, parts: readonly Uint8Array[]): Uint32Array {
  const memory = allocate(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  return Uint32Array.from(
    parts.flatMap((part) => {
      memory.set(part, end);
      end += part.length;
      return [end - part.length, end];
    }),
  );
}
