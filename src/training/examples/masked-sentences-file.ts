/**
 * Masked sentences on disk, so that a resumed run trains on those of the interrupted one.
 *
 * Format: JSON Lines. The first line is a header with what determines the sentences; then
 * `{"id", "sentence", "span", "kind"}` for each. The file has offsets and no texts: the corpus has
 * those.
 */

import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { readJsonLines } from "../../io/json-lines.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { type MaskedSentence, maskSpan, salientSpanOf } from "../salient-spans/index.ts";
import type { Corpus } from "./corpus.ts";

/** What determines the sentences, apart from the tagger. */
export interface MaskedSentencesSource {
  /** Digest of the corpus. */
  readonly corpus: string;
  /** Requested number of sentences. */
  readonly wanted: number;
  readonly seed: number;
}

const extent = z.tuple([z.int().nonnegative(), z.int().nonnegative()]);
const line = z.object({ id: z.string(), sentence: extent, span: extent, kind: z.string() });

/** Replaces the file in one step. @param sentences in the order of the corpus */
export async function writeMaskedSentences(
  file: string,
  source: MaskedSentencesSource,
  sentences: AsyncIterable<MaskedSentence>,
): Promise<void> {
  await replaceFile(file, async (handle) => {
    await handle.appendFile(`${JSON.stringify(headerOf(source))}\n`);
    for await (const masked of sentences) {
      const { start, end, kind } = salientSpanOf(masked);
      const sentence = [masked.sentence.start, masked.sentence.end];
      await handle.appendFile(
        `${JSON.stringify({ id: masked.passageId, sentence, span: [start, end], kind })}\n`,
      );
    }
  });
}

/**
 * Reads masked sentences, in the order of the corpus.
 *
 * @throws {InputError} if the file is damaged or belongs to another run.
 */
export async function readMaskedSentences(
  file: string,
  source: MaskedSentencesSource,
  corpus: Corpus,
): Promise<MaskedSentence[]> {
  const spans = new Map<string, z.infer<typeof line>[]>();
  let header: string | undefined;
  for await (const { line: number, value } of readJsonLines(file)) {
    if (number === 1) {
      header = JSON.stringify(value);
      continue;
    }
    const { data } = line.safeParse(value);
    if (!data) throw unusable(`${file}:${number}`, "something else");
    const ofPassage = spans.get(data.id);
    if (ofPassage) ofPassage.push(data);
    else spans.set(data.id, [data]);
  }
  if (header !== JSON.stringify(headerOf(source))) throw unusable(file, "another file");
  const sentences: MaskedSentence[] = [];
  for await (const passage of corpus.passages((id) => spans.has(id))) {
    for (const { sentence, span, kind } of spans.get(passage.id)!) {
      const place = { start: sentence[0], end: sentence[1] };
      sentences.push(maskSpan(passage, place, { start: span[0], end: span[1], kind }));
    }
  }
  return sentences;
}

const headerOf = (source: MaskedSentencesSource): Record<string, string | number> => ({
  format: "reatt-masked-sentences",
  version: 1,
  ...source,
});

const unusable = (where: string, got: string): InputError =>
  new InputError({
    where,
    expected: "the masked sentences that the run began with",
    got,
    remedy: "resume with what the run began with, or begin a new run in another folder",
  });
