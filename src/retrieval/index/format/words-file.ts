/**
 * The words of a segment for BM25, `words.bin`: an inverted index that is read by term.
 *
 *     pages        for each block of 65,536 passages, the postings of its terms (term-pages.ts)
 *     lengths      u32 [passages]: the number of terms of each passage
 *     directory    u32 [pages, 4]: the checksum of the first term of each page, the CRC-32 of the
 *                  page, its first byte (uint64)
 *     header       JSON: `WordsHeader`
 *     tail         u32 [2]: bytes and CRC-32 of the header
 *
 * The file depends on the texts of the segment, also of deleted passages, and on what makes terms
 * of them. The manifest does not name it, so that earlier versions of reatt can read the index:
 * they ignore the file, or remove it with a change. It names its texts by their checksum. Where it
 * is missing or of others, search makes the inverted index in memory (bm25/inverted-index.ts).
 */

import { crc32 } from "node:zlib";
import { z } from "zod";
import { InputError } from "../../../io/errors.ts";
import type { OpenFile } from "../../../io/open-file.ts";
import { LANGUAGES, type Language } from "../../../text/languages.ts";
import { ANALYSIS } from "../../../text/terms.ts";
import { BLOCK_PASSAGES } from "../../bm25/inverted-index.ts";
import { findPostings, type TermPostings, termHash, termsOfPage } from "../../bm25/term-pages.ts";
import { integerAt } from "../blocks/integers.ts";
import { readAt, readingErrorFrom } from "../blocks/storage.ts";
import type { SegmentRecord } from "./manifest.ts";

export const WORDS_FILE = "words.bin";

/** Words of a row of the directory. */
export const ROW_WORDS = 4;
const TAIL_BYTES = 8;

const count = z.int().nonnegative();
const languages = z.array(z.enum(LANGUAGES)).readonly();
const schema = z.strictObject({
  format: z.literal("reatt-words"),
  version: z.literal(1),
  /** `ANALYSIS` of what made the terms. */
  analysis: count,
  /** The version of the dictionary, if a text is divided by it. */
  dictionary: z.string().optional(),
  /** The languages whose words are stemmed. */
  languages,
  /** Those of the first passages of the segment, as if it were the first of its index. */
  ownLanguages: languages,
  /** The CRC-32 of `passages.deflate`. */
  texts: count,
  passages: count,
  /** The number of pages up to the end of each block. */
  pageEnds: z.array(count).readonly(),
  /** The CRC-32 of lengths and directory. */
  crc32: count,
});

export type WordsHeader = z.infer<typeof schema>;

/** The words of an open segment. */
export interface SegmentWords {
  readonly languages: readonly Language[];
  readonly ownLanguages: readonly Language[];
  /** The number of terms of each passage. */
  readonly lengths: Uint32Array;
  /**
   * The postings of a term in each block, without passages that `accept` leaves out.
   *
   * @throws {InputError} if a page is damaged or cannot be read
   */
  postings(term: string, accept: (ordinal: number) => boolean): Promise<TermPostings[]>;
  /** All terms, some several times. @throws {InputError} if a page is damaged or cannot be read */
  terms(): AsyncGenerator<string, void>;
  /** Reads all pages. @throws {InputError} if one is damaged or cannot be read */
  check(signal: AbortSignal | undefined): Promise<void>;
}

/**
 * Reads `words.bin` without its pages. Undefined if it belongs to other texts, or is of a version
 * or an analysis that this reatt does not have.
 *
 * @throws {InputError} if it is damaged or cannot be read
 */
export async function readWords(
  path: string,
  file: OpenFile,
  { passages, files }: Pick<SegmentRecord, "passages" | "files">,
): Promise<SegmentWords | undefined> {
  const read = async (start: number, end: number): Promise<Buffer> => {
    const data = await readAt(file, start, end - start).catch((error: unknown) => {
      throw readingErrorFrom(error, path);
    });
    if (data.length < end - start) throw damagedWords(path);
    return data;
  };
  const { size } = await file.stat();
  const { header, start: end } = await readWordsHeader(path, size, read);
  if (!header || header.texts !== files["passages.deflate"]?.crc32) return undefined;
  if (!isReadable(header) || header.passages !== passages) return undefined;
  const { pageEnds } = header;
  const pageCount = pageEnds.at(-1) ?? 0;
  const start = end - 4 * (passages + ROW_WORDS * pageCount);
  if (start < 0) throw damagedWords(path);
  const data = await read(start, end);
  if (crc32(data) !== header.crc32) throw damagedWords(path);
  const values = new Uint32Array(data.buffer as ArrayBuffer, data.byteOffset, data.length / 4);
  const directory = new Directory(values.subarray(passages), start);
  const page = async (row: number): Promise<Buffer> => {
    const bytes = await read(...directory.range(row));
    if (crc32(bytes) !== directory.checksum(row)) throw damagedWords(path);
    return bytes;
  };
  const { languages, ownLanguages } = header;
  return {
    languages,
    ownLanguages,
    lengths: values.subarray(0, passages),
    postings(term, accept) {
      const blocks = pageEnds.map(async (end, block) => {
        const row = directory.find(termHash(term), pageEnds[block - 1] ?? 0, end);
        const first = block * BLOCK_PASSAGES;
        const bytes = row === undefined ? new Uint8Array() : await page(row);
        return findPostings(bytes, term, (place) => accept(first + place));
      });
      return Promise.all(blocks);
    },
    async *terms() {
      for (let row = 0; row < pageCount; row++) yield* termsOfPage(await page(row));
    },
    async check(signal) {
      for (let row = 0; row < pageCount; row++) {
        signal?.throwIfAborted();
        await page(row);
      }
    },
  };
}

/** The header, undefined if it is of another version, and its first byte. */
async function readWordsHeader(
  path: string,
  size: number,
  read: (start: number, end: number) => Promise<Buffer>,
): Promise<{ readonly header: WordsHeader | undefined; readonly start: number }> {
  if (size < TAIL_BYTES) throw damagedWords(path);
  const tail = await read(size - TAIL_BYTES, size);
  const bytes = tail.readUInt32LE(0);
  const start = size - TAIL_BYTES - bytes;
  if (bytes === 0 || start < 0) throw damagedWords(path); // zeros are the checksum of nothing
  const json = await read(start, size - TAIL_BYTES);
  if (crc32(json) !== tail.readUInt32LE(4)) throw damagedWords(path);
  return { header: schema.safeParse(JSON.parse(json.toString())).data, start };
}

/** Whether a question has the terms that the texts have. */
const isReadable = ({ analysis, dictionary }: WordsHeader): boolean =>
  analysis === ANALYSIS && (dictionary === undefined || dictionary === process.versions.icu);

/** Where the pages are. */
class Directory {
  readonly #rows: Uint32Array;
  /** The end of the last page. */
  readonly #end: number;

  constructor(rows: Uint32Array, end: number) {
    this.#rows = rows;
    this.#end = end;
  }

  /** The last of the rows from `low` to `high` whose first term has at most this checksum. */
  find(hash: number, low: number, high: number): number | undefined {
    const first = low;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#rows[ROW_WORDS * middle]! <= hash) low = middle + 1;
      else high = middle;
    }
    return low === first ? undefined : low - 1;
  }

  checksum(row: number): number {
    return this.#rows[ROW_WORDS * row + 1]!;
  }

  range(row: number): [start: number, end: number] {
    const startOf = (row: number) => integerAt(this.#rows, (ROW_WORDS / 2) * row + 1);
    const isLast = ROW_WORDS * (row + 1) === this.#rows.length;
    return [startOf(row), isLast ? this.#end : startOf(row + 1)];
  }
}

const damagedWords = (path: string): InputError =>
  new InputError({
    code: "ERR_REATT_DAMAGED_INDEX",
    where: path,
    expected: "its own checksums",
    got: "changed contents",
    remedy: "remove the file: search then reads the texts, and the next change writes it again",
  });
