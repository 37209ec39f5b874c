/** Writes the words of segments (words-file.ts). */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { InputError } from "../../../io/errors.ts";
import type { OpenFile } from "../../../io/open-file.ts";
import { replaceFile } from "../../../io/replace-file.ts";
import { ANALYSIS, type Analyser, needsDictionary, openAnalyser } from "../../../text/terms.ts";
import { BLOCK_PASSAGES, OpenBlock } from "../../bm25/inverted-index.ts";
import { type TermPage, termPages } from "../../bm25/term-pages.ts";
import { BlockCache } from "../blocks/blocks.ts";
import { isInUse, writeAt } from "../blocks/storage.ts";
import { readCodec } from "../format/codebook-file.ts";
import { indexLanguages, segmentLanguages, textAt } from "../format/index-languages.ts";
import { type Manifest, segmentPath } from "../format/manifest.ts";
import { viewBytes } from "../format/new-files.ts";
import type { Segment } from "../format/segment.ts";
import { openSegments } from "../format/snapshot.ts";
import {
  ROW_WORDS,
  type SegmentWords,
  WORDS_FILE,
  type WordsHeader,
} from "../format/words-file.ts";

/** Bytes of the texts that stay in memory, so that a block of a file is read once. */
const CACHE_BYTES = 1_048_576;

/**
 * Writes the words of the segments that have none, or those of other languages than the index now
 * has. Memory is bounded by a block of 65,536 passages, and 4 bytes a passage.
 */
export async function writeMissingWords(
  directory: string,
  state: Pick<Manifest, "header" | "codec" | "segments">,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { decoder } = await readCodec(directory, state);
  const cache = new BlockCache(CACHE_BYTES);
  const source = { directory, segments: state.segments };
  await using opened = await openSegments([source], { decoder, cache });
  const { segments } = opened;
  const known: (SegmentWords | undefined)[] = [];
  for (const segment of segments) known.push(await segment.words().catch(noneIfDamaged));
  const languages = await indexLanguages(segments, known);
  const analyser = await openAnalyser(languages);
  for (const [i, segment] of segments.entries())
    if (known[i]?.languages.join() !== languages.join())
      await writeWords(segmentPath(directory, segment.record.name), segment, analyser, signal);
}

/** A damaged file is written again. */
function noneIfDamaged(error: unknown): undefined {
  if (!(error instanceof InputError)) throw error;
}

async function writeWords(
  folder: string,
  segment: Segment,
  analyser: Analyser,
  signal: AbortSignal | undefined,
): Promise<void> {
  const ownLanguages = await segmentLanguages(segment);
  const path = join(folder, WORDS_FILE);
  // Windows does not replace a file that is open, and NFS may not remove one.
  await rm(path, { force: true }).catch((error: unknown) => {
    if (!isInUse(error)) throw error;
  });
  await replaceFile(path, async (file) => {
    const { passages, files } = segment.record;
    const lengths = new Uint32Array(passages);
    const pages = new PageWriter(file);
    let usesDictionary = false;
    for (let first = 0; first < passages; first += BLOCK_PASSAGES) {
      const vocabulary = new Map<string, number>();
      const block = new OpenBlock(first, vocabulary);
      const end = Math.min(passages, first + BLOCK_PASSAGES);
      for (let ordinal = first; ordinal < end; ordinal++) {
        signal?.throwIfAborted();
        const text = await textAt(segment, ordinal);
        usesDictionary ||= needsDictionary(text);
        const terms = analyser.terms(text);
        lengths[ordinal] = terms.length;
        block.add(terms);
      }
      await pages.append(termPages(block.invert(), vocabulary));
    }
    await pages.finish(lengths, {
      format: "reatt-words",
      version: 1,
      analysis: ANALYSIS,
      ...(usesDictionary && { dictionary: process.versions.icu! }),
      languages: analyser.languages,
      ownLanguages,
      texts: files["passages.deflate"]!.crc32,
      passages,
    });
  });
}

/** Writes pages one after the other, then what finds them. */
class PageWriter {
  readonly #file: OpenFile;
  /** Rows of the directory. */
  readonly #rows: number[] = [];
  /** Pages up to the end of each block. */
  readonly #pageEnds: number[] = [];
  #bytes = 0;

  constructor(file: OpenFile) {
    this.#file = file;
  }

  /** Appends the pages of a block. */
  async append(pages: Iterable<TermPage>): Promise<void> {
    for (const { first, bytes } of pages) {
      this.#rows.push(
        first,
        crc32(bytes),
        this.#bytes % 2 ** 32,
        Math.floor(this.#bytes / 2 ** 32),
      );
      await this.#write(bytes);
    }
    this.#pageEnds.push(this.#rows.length / ROW_WORDS);
  }

  async finish(
    lengths: Uint32Array,
    header: Omit<WordsHeader, "pageEnds" | "crc32">,
  ): Promise<void> {
    const tables = Buffer.concat([viewBytes(lengths), viewBytes(Uint32Array.from(this.#rows))]);
    const json = Buffer.from(
      JSON.stringify({ ...header, pageEnds: this.#pageEnds, crc32: crc32(tables) }),
    );
    const tail = Uint32Array.of(json.length, crc32(json));
    for (const part of [tables, json, viewBytes(tail)]) await this.#write(part);
  }

  async #write(bytes: Uint8Array): Promise<void> {
    await writeAt(this.#file, bytes, this.#bytes);
    this.#bytes += bytes.length;
  }
}
