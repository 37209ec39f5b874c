/** Masked sentences of a corpus: a random sample, kept on disk for a resumed run. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import { type MaskedSentence, maskedSentences, type Tagger } from "../salient-spans/index.ts";
import type { Corpus } from "./corpus.ts";
import { readMaskedSentences, writeMaskedSentences } from "./masked-sentences-file.ts";
import type { Passages } from "./sources/example.ts";
import { isDrawn, samplingOf } from "./sources/sampling.ts";

interface SampleOptions {
  /** Approximate number of sentences. */
  readonly wanted: number;
  readonly seed: number;
  readonly tagger?: Tagger | undefined;
  /** Called with the number of passages that are done. */
  readonly onProgress?: ((passages: number) => void) | undefined;
}

/**
 * About `wanted` masked sentences: 1 to 5 of each passage, or one of each passage of a sample. The
 * file in the folder of the run has them.
 *
 * @throws {InputError} if the corpus has no usable sentence, or if `resume` finds a file of another
 *   run.
 */
export async function* loadMaskedSentences(
  { out, resume, seed }: ResolvedOptions,
  corpus: Corpus,
  wanted: number,
  tagger?: Tagger,
): AsyncGenerator<ProgressEvent, MaskedSentence[]> {
  const path = join(out, "masked-sentences.jsonl");
  const source = { corpus: corpus.digest, wanted, seed };
  if (!resume || !existsSync(path)) {
    yield { type: "stage", name: "masking sentences", total: samplingOf(corpus, wanted).passages };
    yield* reporting<ProgressEvent, void>((report) => {
      const onProgress = (done: number): void => report({ type: "progress", done });
      const sentences = sampleMaskedSentences(corpus, { wanted, seed, tagger, onProgress });
      return writeMaskedSentences(path, source, sentences);
    });
  }
  return readMaskedSentences(path, source, corpus);
}

/** Draws passages and sentences by id and seed, whatever the order of the corpus. */
export function sampleMaskedSentences(
  corpus: Passages,
  { wanted, seed, tagger, onProgress }: SampleOptions,
): AsyncGenerator<MaskedSentence, unknown> {
  const { perPassage, share } = samplingOf(corpus, wanted);
  const passages = counted(corpus.passages(isDrawn(seed, "passages to mask", share)), onProgress);
  return maskedSentences(passages, { perPassage, seed, ...(tagger && { tagger }) });
}

async function* counted<T>(
  items: AsyncIterable<T>,
  report: (done: number) => void = () => {},
): AsyncGenerator<T, void> {
  let done = 0;
  for await (const item of items) {
    yield item;
    report(++done);
  }
}
