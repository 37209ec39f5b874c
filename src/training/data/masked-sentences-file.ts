/**
 * Masked sentences as a file, so that a resumed run trains on those of the interrupted one: JSON Lines, first what they
 * were made of, then `{"id", "sentence", "span", "kind"}` for each. Places and not texts: the texts are the corpus's.
 */

import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { readJsonLines } from "../../io/json-lines.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { Passage } from "../../text/passage.ts";
import { maskSpan, type SentenceWithMask, spanOf } from "../salient-spans/index.ts";

/** All that determines the sentences, but the tagger. */
export interface MaskedSentencesSource {
  /** Digest of the corpus. */
  readonly corpus: string;
  /** How many were wanted. */
  readonly wanted: number;
  readonly seed: number;
}

const extent = z.tuple([z.int().nonnegative(), z.int().nonnegative()]);
const line = z.object({ id: z.string(), sentence: extent, span: extent, kind: z.string() });

/** Writes sentences, which come in the order of the corpus, in one step. @throws {InputError} where the disk refuses. */
export async function writeMaskedSentences(
  file: string,
  source: MaskedSentencesSource,
  sentences: AsyncIterable<SentenceWithMask>,
): Promise<void> {
  await replaceFile(file, async (handle) => {
    await handle.appendFile(`${JSON.stringify(headerOf(source))}\n`);
    for await (const masked of sentences) {
      const { start, end, kind } = spanOf(masked);
      const sentence = [masked.sentence.start, masked.sentence.end];
      await handle.appendFile(
        `${JSON.stringify({ id: masked.passageId, sentence, span: [start, end], kind })}\n`,
      );
    }
  });
}

/** Reads them again, with the corpus that they are places of. @throws {InputError} where the file is damaged or of another run. */
export async function readMaskedSentences(
  file: string,
  source: MaskedSentencesSource,
  corpus: AsyncIterable<Passage>,
): Promise<SentenceWithMask[]> {
  const places = new Map<string, z.infer<typeof line>[]>();
  let header: string | undefined;
  for await (const { line: number, value } of readJsonLines(file)) {
    if (number === 1) {
      header = JSON.stringify(value);
      continue;
    }
    const { data } = line.safeParse(value);
    if (!data) throw unusable(`${file}:${number}`, "something else");
    const ofPassage = places.get(data.id);
    if (ofPassage) ofPassage.push(data);
    else places.set(data.id, [data]);
  }
  if (header !== JSON.stringify(headerOf(source))) throw unusable(file, "another file");
  const sentences: SentenceWithMask[] = [];
  for await (const passage of corpus) {
    for (const { sentence, span, kind } of places.get(passage.id) ?? []) {
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
