/** One generation of an index, opened for reading: its manifest, its codebook and its segments. */

import { isDeepStrictEqual } from "node:util";
import { isMissing } from "../../../io/errors.ts";
import type { Codec } from "../../codec/codec.ts";
import { readingErrorFrom } from "../blocks/storage.ts";
import { readCodec } from "./codebook-file.ts";
import { type Manifest, readManifest, type SegmentRecord, segmentPath } from "./manifest.ts";
import { openSegment, type Segment, type SegmentOptions } from "./segment.ts";

export interface Snapshot extends AsyncDisposable {
  readonly manifest: Manifest;
  readonly codec: Codec;
  readonly segments: readonly Segment[];
  readonly shared: SegmentOptions["shared"];
}

/** Chooses the memory of an index. */
export type ChooseMemory = (
  codec: Codec,
  manifest: Manifest,
) => Pick<SegmentOptions, "cache" | "shared">;

/**
 * Opens the newest generation of the index in `directory`.
 *
 * A writer can remove the files of a generation after its manifest is read here and before they
 * are opened. A newer manifest exists then, so the manifest is read again.
 *
 * @throws {InputError} if there is no index, or if it is damaged
 */
export async function openSnapshot(
  directory: string,
  chooseMemory: ChooseMemory = () => ({}),
): Promise<Snapshot> {
  for (let last: Manifest | undefined; ; ) {
    const manifest = await readManifest(directory);
    try {
      return await openGeneration(directory, manifest, chooseMemory);
    } catch (error) {
      if (!isMissing(error) || isDeepStrictEqual(manifest, last))
        throw readingErrorFrom(error, directory);
      last = manifest;
    }
  }
}

async function openGeneration(
  directory: string,
  manifest: Manifest,
  chooseMemory: ChooseMemory,
): Promise<Snapshot> {
  const codec = await readCodec(directory, manifest);
  const { decoder } = codec;
  const memory = chooseMemory(codec, manifest);
  const opened = await openSegments([{ directory, segments: manifest.segments }], {
    decoder,
    ...memory,
  });
  return { ...opened, manifest, codec, shared: memory.shared };
}

/** Opens segments of one or more indexes that have the same codec. */
export async function openSegments(
  sources: readonly { readonly directory: string; readonly segments: readonly SegmentRecord[] }[],
  options: SegmentOptions,
): Promise<AsyncDisposable & { readonly segments: readonly Segment[] }> {
  const segments: Segment[] = [];
  const dispose = async () => {
    await Promise.all(segments.map((segment) => segment[Symbol.asyncDispose]()));
  };
  try {
    for (const { directory, segments: records } of sources)
      for (const record of records)
        segments.push(await openSegment(segmentPath(directory, record.name), record, options));
  } catch (error) {
    await dispose();
    throw error;
  }
  return { segments, [Symbol.asyncDispose]: dispose };
}
