/** The sizes of the files of an index, which follow from the counts in its manifest. */

import { BLOCK_BYTES } from "../blocks/blocks.ts";

/** What decides the sizes of the files of a segment. */
export interface SegmentCounts {
  readonly passages: number;
  readonly tokens: number;
  readonly dimension: number;
  /** The centroids of the codebook; undefined for float32 keys. */
  readonly centroids: number | undefined;
  /** Whether a passage has a document id or metadata. */
  readonly hasMetadata: boolean;
  /** Whether the index holds the states of its passages. */
  readonly hasStates: boolean;
}

type Sizes = Readonly<Record<string, number | undefined>>;

/** Bytes of each file of a segment; undefined for a file of any size. */
export const segmentSizes = ({
  passages,
  tokens,
  dimension,
  centroids,
  hasMetadata,
  hasStates,
}: SegmentCounts): Sizes => ({
  "passages.deflate": undefined,
  "offsets.u64": 16 * (passages + 1),
  "ids.u64": 16 * passages,
  "blocks.u32": undefined, // blockChecksumBytes
  ...(hasMetadata && { "metadata.json": undefined, "metadata.u64": 8 * (passages + 1) }),
  ...(hasStates && { "states.bin": undefined, "states.u64": 8 * (passages + 1) }),
  ...(centroids === undefined
    ? { "keys.f32": 4 * tokens * dimension }
    : {
        "codes.bin": undefined,
        "codes.u64": 8 * (passages + 1),
        "lists.bin": undefined,
        "lists.u64": 8 * (centroids + 1),
      }),
});

/** The file of the numbers of subquantisers: a byte each, or two bytes where one is too small. */
export const partsFile = (subquantisers: number): "parts.u8" | "parts.u16" =>
  subquantisers < 256 ? "parts.u8" : "parts.u16";

/**
 * Bytes of each file of a codebook.
 *
 * @param subquantisers the greatest number of a centroid
 */
export const codebookSizes = (
  dimension: number,
  centroids: number,
  subquantisers: number,
): Sizes => ({
  "axes.f32": 4 * dimension * dimension,
  "centroids.f32": 4 * centroids * dimension,
  [partsFile(subquantisers)]: subquantisers < 256 ? centroids : 2 * centroids,
  "long.f32": 4 * 256 * dimension,
  "short.f32": 4 * 256 * dimension,
  "ratios.f32": 4 * 256,
});

export const deletedBytes = (passages: number): number => Math.ceil(passages / 8);

/** Bytes of the checksums of all blocks of files of these sizes. */
export const blockChecksumBytes = (sizes: readonly number[]): number =>
  4 * sizes.reduce((blocks, bytes) => blocks + Math.ceil(bytes / BLOCK_BYTES), 0);
