/** Compresses the first passages of an index of float32 keys, in a process of its own. */

import { type Bits, float32Decoder } from "../../src/retrieval/codec/codec.ts";
import { readManifest } from "../../src/retrieval/index/format/manifest.ts";
import { openSegments } from "../../src/retrieval/index/format/snapshot.ts";
import { openStore } from "../../src/retrieval/index/format/store.ts";
import { buildIndex } from "../../src/retrieval/index/write/build.ts";
import type { Passage } from "../../src/text/passage.ts";
import { ownTask, peakMegabytes, runApart } from "./apart.ts";
import { type BuildCost, keep } from "./keep.ts";

interface CompressTask {
  /** The index of float32 keys. */
  readonly exact: string;
  readonly directory: string;
  readonly bits: Bits;
  /** Default: all. */
  readonly passages?: number;
}

export const compress = (task: CompressTask): Promise<BuildCost> =>
  keep(task.directory, () => runApart<BuildCost>(import.meta.url, task));

async function compressHere({
  exact,
  directory,
  bits,
  passages,
}: CompressTask): Promise<BuildCost> {
  const { header, segments } = await readManifest(exact);
  const decoder = float32Decoder(header.dimension);
  await using opened = await openSegments([{ directory: exact, segments }], { decoder });
  const store = openStore(opened.segments, header.dimension);
  const count = Math.min(passages ?? store.passageCount, store.passageCount);
  let encoded = 0;
  let tokens = 0;
  let start = 0;
  await buildIndex(storedPassages(store.passage, count), {
    directory,
    header,
    bits,
    encode: (window) => Promise.all(window.map(() => store.keys(encoded++))),
    onProgress: (progress) => {
      tokens = progress.tokens;
      if (progress.event === "compressed" && progress.passages === 0) start = performance.now();
    },
  });
  const seconds = (performance.now() - start) / 1000;
  return {
    passages: count,
    tokens,
    passagesPerSecond: count / seconds,
    peakMegabytes: peakMegabytes(),
  };
}

async function* storedPassages(
  read: (ordinal: number) => Promise<Passage>,
  count: number,
): AsyncGenerator<Passage, void> {
  for (let ordinal = 0; ordinal < count; ordinal++) yield await read(ordinal);
}

const task = ownTask<CompressTask>(import.meta.url);
if (task) process.stdout.write(JSON.stringify(await compressHere(task)));
