/** The languages of the words of an index. */

import { detectLanguages } from "../../../text/detect-languages.ts";
import type { Language } from "../../../text/languages.ts";
import { indexedText, LANGUAGE_SAMPLE } from "../../bm25/inverted-index.ts";
import { unpackPassage } from "./packed-passage.ts";
import { fileOf, type Segment } from "./segment.ts";
import type { SegmentWords } from "./words-file.ts";

/**
 * The languages of the first 200 passages that are not deleted.
 *
 * @param words those of each segment, so that no text need be read
 */
export async function indexLanguages(
  segments: readonly Segment[],
  words: readonly (SegmentWords | undefined)[],
): Promise<readonly Language[]> {
  const [first, ...others] = segments;
  if (first && words[0] && holdsSample(first, others)) return words[0].ownLanguages;
  return detectLanguages(await sampleTexts(segments, (segment, i) => segment.isAlive(i)));
}

/** The languages of the first passages of a segment, deleted or not. */
export const segmentLanguages = async (segment: Segment): Promise<readonly Language[]> =>
  detectLanguages(await sampleTexts([segment], () => true));

/** Whether the first passages of the index are those of its first segment, none of them deleted. */
function holdsSample({ record, isAlive }: Segment, others: readonly Segment[]): boolean {
  const count = Math.min(LANGUAGE_SAMPLE, record.passages);
  if (count < LANGUAGE_SAMPLE && others.length > 0) return false;
  for (let ordinal = 0; ordinal < count; ordinal++) if (!isAlive(ordinal)) return false;
  return true;
}

async function sampleTexts(
  segments: readonly Segment[],
  accept: (segment: Segment, ordinal: number) => boolean,
): Promise<string[]> {
  const texts: string[] = [];
  for (const segment of segments)
    for (let ordinal = 0; ordinal < segment.record.passages; ordinal++) {
      if (texts.length === LANGUAGE_SAMPLE) return texts;
      if (accept(segment, ordinal)) texts.push(await textAt(segment, ordinal));
    }
  return texts;
}

/** What is indexed of a passage of a segment. */
export const textAt = async (segment: Segment, ordinal: number): Promise<string> =>
  indexedText(
    unpackPassage(await segment.packedPassage(ordinal), fileOf(segment, "passages.deflate")),
  );
