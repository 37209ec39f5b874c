/**
 * The postings of a block as bytes, which are read by term.
 *
 * An entry is a term and its postings: the bytes of the term, the term in UTF-8, the bytes of its
 * postings, the postings. A posting is twice the difference of its place from that before (the
 * first from -1), and one more and the frequency if that is not 1. Numbers are LEB128: seven bits
 * a byte, low bits first, with the high bit set on all but the last byte.
 *
 * Entries are sorted by the CRC-32 of their terms, and divided into pages. All terms with a
 * checksum are in one page, so a page is found by the first checksum of each.
 */

import { crc32 } from "node:zlib";
import type { PostingBlock } from "./inverted-index.ts";

/** A page ends with the entry that makes it as large. Long postings make it larger. */
const PAGE_BYTES = 4_096;

export interface TermPage {
  /** The checksum of its first term. */
  readonly first: number;
  readonly bytes: Uint8Array;
}

/** The postings of a term in a block. */
export type TermPostings = Pick<PostingBlock, "places" | "frequencies">;

export const termHash = (term: string): number => crc32(term);

/** @param vocabulary the terms of the block, and the numbers that it knows them by */
export function* termPages(
  block: PostingBlock,
  vocabulary: ReadonlyMap<string, number>,
): Generator<TermPage> {
  const names = [...vocabulary.keys()];
  const hashes = Uint32Array.from(names, termHash);
  const order = Uint32Array.from(block.terms.keys()).sort(
    (a, b) => hashes[block.terms[a]!]! - hashes[block.terms[b]!]! || a - b,
  );
  const page = new ByteWriter();
  const postings = new ByteWriter();
  let first = 0;
  let last = -1;
  for (const i of order) {
    const term = block.terms[i]!;
    const hash = hashes[term]!;
    if (page.length >= PAGE_BYTES && hash !== last) yield { first, bytes: page.take() };
    if (page.length === 0) first = hash;
    last = hash;
    writePostings(postings, block, block.starts[i]!, block.starts[i + 1]!);
    page.writeBytes(Buffer.from(names[term]!));
    page.writeBytes(postings.take());
  }
  if (page.length > 0) yield { first, bytes: page.take() };
}

function writePostings(
  to: ByteWriter,
  { places, frequencies }: PostingBlock,
  start: number,
  end: number,
): void {
  let last = -1;
  for (let posting = start; posting < end; posting++) {
    const place = places[posting]!;
    const frequency = frequencies[posting]!;
    to.writeNumber(2 * (place - last) + (frequency === 1 ? 0 : 1));
    if (frequency !== 1) to.writeNumber(frequency);
    last = place;
  }
}

const NO_POSTINGS: TermPostings = { places: new Uint16Array(), frequencies: new Uint16Array() };

/** The postings of a term in its page, without those at places that are not accepted. */
export function findPostings(
  page: Uint8Array,
  term: string,
  accept: (place: number) => boolean,
): TermPostings {
  const name = Buffer.from(term);
  const reader = new ByteReader(page);
  while (reader.at < page.length) {
    const found = name.equals(reader.readBytes());
    const postings = reader.readBytes();
    if (found) return readPostings(postings, accept);
  }
  return NO_POSTINGS;
}

/** The terms of a page. */
export function* termsOfPage(page: Uint8Array): Generator<string> {
  const reader = new ByteReader(page);
  while (reader.at < page.length) {
    yield Buffer.from(reader.readBytes()).toString();
    reader.readBytes(); // its postings
  }
}

function readPostings(bytes: Uint8Array, accept: (place: number) => boolean): TermPostings {
  const places = new Uint16Array(bytes.length); // a posting has a byte at least
  const frequencies = new Uint16Array(bytes.length);
  const reader = new ByteReader(bytes);
  let count = 0;
  let place = -1;
  while (reader.at < bytes.length) {
    const code = reader.readNumber();
    place += code >>> 1;
    const frequency = code & 1 ? reader.readNumber() : 1;
    if (!accept(place)) continue;
    places[count] = place;
    frequencies[count++] = frequency;
  }
  return { places: places.subarray(0, count), frequencies: frequencies.subarray(0, count) };
}

class ByteReader {
  at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  readNumber(): number {
    let value = 0;
    for (let shift = 0; this.at < this.#bytes.length; shift += 7) {
      const byte = this.#bytes[this.at++]!;
      value |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    return value >>> 0;
  }

  /** A number of bytes, and these. */
  readBytes(): Uint8Array {
    const length = this.readNumber();
    const start = this.at;
    this.at += length;
    return this.#bytes.subarray(start, this.at);
  }
}

class ByteWriter {
  length = 0;
  #bytes: Uint8Array = new Uint8Array(2 * PAGE_BYTES);

  writeNumber(value: number): void {
    this.#reserve(5);
    let rest = value;
    for (; rest >= 128; rest >>>= 7) this.#bytes[this.length++] = (rest & 127) | 128;
    this.#bytes[this.length++] = rest;
  }

  /** Writes their number, and the bytes. */
  writeBytes(bytes: Uint8Array): void {
    this.writeNumber(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** A copy of what is written; then nothing is. */
  take(): Uint8Array {
    const written = this.#bytes.slice(0, this.length);
    this.length = 0;
    return written;
  }

  #reserve(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const bytes = new Uint8Array(2 * (this.length + more));
    bytes.set(this.#bytes);
    this.#bytes = bytes;
  }
}
