/** The corpora of the benchmark, and how they are encoded. */

import type { ReAtt } from "../../src/reatt.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages } from "../../src/text/read-passages.ts";
import { type BuildCost, keep } from "./cached-build.ts";
import { peakMegabytes } from "./subprocess.ts";

/** Words of a passage of DPR's Wikipedia. */
const WORDS = 100;

/**
 * The first `limit` passages of the articles in `file`, cut as DPR cuts English Wikipedia
 * (Karpukhin et al. 2020, section 4.1).
 */
export async function* wikiPassages(file: string, limit: number): AsyncGenerator<Passage, void> {
  let count = 0;
  for await (const { id, title, text } of readPassages(file)) {
    const words = text.split(/\s+/);
    for (let first = 0; first < words.length; first += WORDS) {
      if (count++ === limit) return;
      yield {
        id: `${id}-${first / WORDS}`,
        title,
        text: words.slice(first, first + WORDS).join(" "),
      };
    }
  }
}

/** The first `limit` passages. */
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

/** Encodes a corpus to float32 keys. Other indexes are made from it and compared with it. */
export const encode = (
  model: ReAtt,
  passages: AsyncIterable<Passage>,
  directory: string,
  keepRatio = 1,
): Promise<BuildCost> =>
  keep(directory, async () => {
    const start = performance.now();
    let before = 0; // passages that an interrupted run has encoded
    await using index = await model.index(passages, {
      directory,
      bits: 32,
      replace: true,
      keepRatio,
      onProgress: ({ event, passages }) => {
        if (event === "resumed") before = passages;
      },
    });
    const { passageCount, tokenCount } = index;
    return {
      passages: passageCount,
      tokens: tokenCount,
      passagesPerSecond: (passageCount - before) / ((performance.now() - start) / 1000),
      peakMegabytes: peakMegabytes(),
    };
  });
