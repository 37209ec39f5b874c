/** New ids and fields for passages that an index has. Their texts are not encoded again. */

import type { Passage } from "../../../text/passage.ts";
import { packFields, packPassage, unpackCut, unpackPassage } from "../format/packed-passage.ts";
import { fileOf, type Segment } from "../format/segment.ts";
import type { PassageRange } from "../write/copy.ts";

/** The new id, document and metadata of the passage `from`. Title and text stay. */
export interface PassageLabel extends Pick<Passage, "id" | "document" | "metadata"> {
  readonly from: string;
}

/** The labelled passages, to be copied: one with several labels is copied for each. */
export async function labelledRanges(
  segments: readonly Segment[],
  labels: readonly PassageLabel[],
): Promise<PassageRange[]> {
  const ranges: PassageRange[] = [];
  for (const label of labels)
    for (const segment of segments) {
      const ordinal = await segment.find(label.from);
      if (ordinal === undefined || !segment.isAlive(ordinal)) continue;
      ranges.push({ segment: labelled(segment, label), first: ordinal, count: 1 });
    }
  return ranges;
}

/** A segment whose passages have this label, to read one of them. */
function labelled(segment: Segment, label: PassageLabel): Segment {
  const path = fileOf(segment, "passages.deflate");
  return {
    ...segment,
    isAlive: () => true,
    async packedPassage(ordinal) {
      const packed = await segment.packedPassage(ordinal);
      const { cutTokens } = unpackCut(packed, path);
      return packPassage({ ...unpackPassage(packed, path), id: label.id }, cutTokens);
    },
    packedFields: async () => [packFields(label)],
  };
}
