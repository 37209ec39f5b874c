/**
 * Measures a large index that is generated from a small one:
 *
 *     node --import tsx benchmarks/bench-generated.ts SOURCE DIRECTORY COPIES
 *
 * SOURCE is a compressed index, as bench-stores.ts leaves it. DIRECTORY gets an index of COPIES
 * times as many passages. Each has the text of a passage of SOURCE, and keys of two: the first half
 * of those of this one and the second half of those of another. So texts, codes and lists are as
 * long as real ones, and no two passages are equal; what is found has no meaning. The codebook is
 * that of SOURCE: an index that is built has more centroids, and so shorter lists. It prints JSON.
 */

import { cp } from "node:fs/promises";
import { indexInfo } from "../src/index.ts";
import { codeStarts } from "../src/retrieval/codec/codec.ts";
import { codebookPath, segmentPath } from "../src/retrieval/index/format/manifest.ts";
import { packPassage } from "../src/retrieval/index/format/packed-passage.ts";
import type { Segment } from "../src/retrieval/index/format/segment.ts";
import { openSnapshot } from "../src/retrieval/index/format/snapshot.ts";
import { copySegments, passageRanges } from "../src/retrieval/index/write/copy.ts";
import { replaceIndex } from "../src/retrieval/index/write/transaction.ts";
import { timeRetrieval } from "./bench-index/retrieval.ts";

async function generate(source: string, directory: string, copies: number): Promise<void> {
  await using snapshot = await openSnapshot(source);
  const { codec, manifest } = snapshot;
  const [segment] = snapshot.segments;
  if (!codec.codebook || manifest.codec.name !== "quantised" || !segment)
    throw new Error("expected a compressed index");
  const { codebook } = codec;
  const { passages } = segment.record;
  const halves = await Promise.all(
    Array.from({ length: passages }, async (_, passage) => {
      const codes = await segment.codes(passage, 1);
      const starts = codeStarts(codes, codebook);
      const middle = Math.floor((starts.length - 1) / 2);
      const tokens = [middle, starts.length - 1 - middle] as const;
      return { codes, tokens, middle: starts[middle]! };
    }),
  );
  const copyOf = (copy: number): Segment => {
    const other = (passage: number): number => (7_919 * passage + 104_729 * copy + 1) % passages;
    const tokens = (passage: number): number =>
      halves[passage]!.tokens[0] + halves[other(passage)]!.tokens[1];
    return {
      ...segment,
      tokenStarts(first, count) {
        const starts = [0];
        for (let i = 0; i < count; i++) starts.push(starts[i]! + tokens(first + i));
        return starts;
      },
      codes(passage) {
        const [first, second] = [halves[passage]!, halves[other(passage)]!];
        return Buffer.concat([
          first.codes.subarray(0, first.middle),
          second.codes.subarray(second.middle),
        ]);
      },
      async packedPassage(passage) {
        const own = await segment.passage(passage);
        return packPassage({ ...own, id: `${copy}-${own.id}` });
      },
    };
  };
  const ranges = Array.from({ length: copies }, (_, copy) => passageRanges(copyOf(copy))).flat();
  const { header, codec: record } = manifest;
  const { codebook: folder } = manifest.codec;
  await replaceIndex(
    directory,
    async (name) => {
      await cp(codebookPath(source, folder), codebookPath(directory, folder), { recursive: true });
      const segments = [await copySegments(ranges, segmentPath(directory, name), codec, undefined)];
      return { header, codec: record, segments };
    },
    {},
  );
}

const [source = "", directory = "", copies = "50"] = process.argv.slice(2);
const start = performance.now();
await generate(source, directory, Number(copies));
const { passages, tokens, bytes } = await indexInfo(directory);
const seconds = Math.round((performance.now() - start) / 1000);
console.log(JSON.stringify({ passages, tokens, bytes, seconds }));
for (const hybrid of [false, true])
  console.log(JSON.stringify(await timeRetrieval({ directory, hybrid })));
