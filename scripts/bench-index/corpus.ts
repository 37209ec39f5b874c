/** The corpus of the benchmark: English Wikipedia in passages of 100 words, as DPR cuts it (Karpukhin et al. 2020, section 4.1). */

import { float32Decoder } from "../../src/retrieval/compression/codec.ts";
import { readManifest } from "../../src/retrieval/disk/manifest.ts";
import { openSegments } from "../../src/retrieval/tend/copy.ts";
import { readPassages } from "../../src/text/corpus.ts";
import type { Passage } from "../../src/text/passage.ts";

const WORDS = 100;

/** The first `limit` passages of the articles in `file`. */
export async function* wikiPassages(file: string, limit: number): AsyncGenerator<Passage, void> {
  let count = 0;
  for await (const { id, title, text } of readPassages(file)) {
    const words = text.split(/\s+/);
    for (let first = 0; first < words.length; first += WORDS) {
      if (count++ === limit) return;
      yield { id: `${id}-${first / WORDS}`, title, text: words.slice(first, first + WORDS).join(" ") };
    }
  }
}

/** The first `limit` of some passages. */
export async function* firstOf(
  passages: AsyncIterable<Passage>,
  limit: number,
): AsyncGenerator<Passage, void> {
  let count = 0;
  for await (const passage of passages) {
    if (count++ === limit) return;
    yield passage;
  }
}

/** Encodes passages by reading their keys from a float32 index of the same passages in the same order. */
export async function storedKeys(
  directory: string,
): Promise<AsyncDisposable & { encode(window: readonly Passage[]): Promise<Float32Array[]> }> {
  const { header, segments: records } = await readManifest(directory);
  const opened = await openSegments([{ directory, segments: records }], float32Decoder(header.dimension));
  const segment = opened.segments[0]!;
  let next = 0;
  return {
    async encode(window) {
      const first = next;
      next += window.length;
      return Promise.all(window.map((_, i) => segment.keys(first + i, 1)));
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
