/**
 * Reads the pieces of a `spiece.model` and checks that its normaliser is T5's. sentencepiece-js
 * encodes text but does not expose the vocabulary.
 *
 * Format: protobuf,
 * https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto
 */

import { BinaryReader } from "@bufbuild/protobuf/wire";

/** The longest of Unicode has 33 bytes: the ligature U+FDFA. */
const MAX_REPLACEMENT_BYTES = 255;

/** Field numbers of the schema. */
const MODEL = { pieces: 1, normalizerSpec: 3 };
const PIECE = { piece: 1 };
const NORMALIZER = {
  charsmap: 2,
  addDummyPrefix: 3,
  removeExtraWhitespaces: 4,
  escapeWhitespaces: 5,
};

/**
 * Returns the pieces in the order of their ids.
 *
 * @throws {Error} if the bytes are not a complete SentencePiece model, or if its normaliser keeps
 * white space.
 */
export function parsePieces(bytes: Uint8Array): string[] {
  const pieces: string[] = [];
  let hasNormalizer = false;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ofPiece = {
    // The reader's own method takes longer, which 32,000 pieces add up
    [PIECE.piece]: (reader: BinaryReader) => {
      const length = reader.uint32();
      pieces.push(text.toString("utf8", reader.pos, reader.pos + length));
      reader.pos += length;
    },
  };
  readFields(new BinaryReader(bytes), {
    [MODEL.pieces]: (reader) => {
      const size = reader.uint32();
      readFields(reader, ofPiece, reader.pos + size); // a reader for each piece takes a while
    },
    [MODEL.normalizerSpec]: (reader) => {
      checkNormalizer(reader.bytes());
      hasNormalizer = true;
    },
  });
  if (!hasNormalizer) throw new Error("no normaliser");
  return pieces;
}

/** All three options default to true. T5's models set them to true or leave them out. */
function checkNormalizer(bytes: Uint8Array): void {
  const expectTrue = (reader: BinaryReader) => {
    if (!reader.bool()) throw new Error("a normaliser that keeps white space");
  };
  readFields(new BinaryReader(bytes), {
    [NORMALIZER.charsmap]: (reader) => checkCharsmap(reader.bytes()),
    [NORMALIZER.addDummyPrefix]: expectTrue,
    [NORMALIZER.removeExtraWhitespaces]: expectTrue,
    [NORMALIZER.escapeWhitespaces]: expectTrue,
  });
}

/**
 * Checks that no position in the table of character replacements is outside of it. SentencePiece
 * does not check them and would read other memory.
 *
 * Format: the bytes of the trie (uint32), a double-array trie (Darts-clone, darts.h:
 * DoubleArrayUnit), and the replacements, each of which ends with a zero byte.
 */
function checkCharsmap(bytes: Uint8Array): void {
  if (bytes.length === 0) return; // a model without replacements
  const damaged = () => new Error("a damaged normaliser");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 4) throw damaged();
  const trieBytes = view.getUint32(0, true);
  const replacements = bytes.length - 4 - trieBytes;
  if (trieBytes % 4 !== 0 || replacements <= 0 || bytes.at(-1) !== 0) throw damaged();
  for (let start = 4 + trieBytes; start < bytes.length; ) {
    const end = bytes.indexOf(0, start);
    if (end - start > MAX_REPLACEMENT_BYTES) throw damaged();
    start = end + 1;
  }
  const units = trieBytes / 4;
  for (let i = 0; i < units; i++) {
    const unit = view.getUint32(4 + 4 * i, true);
    const isLeaf = unit >>> 31 === 1;
    const offset = (unit >>> 10) << ((unit & 0x200) >>> 6);
    // The children of a unit are at this position, xor a byte
    const isInside = isLeaf
      ? (unit & 0x7fffffff) < replacements
      : ((i ^ offset) | 0xff) >>> 0 < units;
    if (!isInside) throw damaged();
  }
}

/**
 * Calls the reader of each known field of a message and skips other fields.
 *
 * @param end where the message ends
 * @throws {Error} if its last field ends elsewhere
 */
function readFields(
  reader: BinaryReader,
  fields: Record<number, (reader: BinaryReader) => void>,
  end: number = reader.len,
): void {
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const read = fields[number];
    if (read) read(reader);
    else reader.skip(wireType, number);
  }
  if (reader.pos !== end || end > reader.len) throw new Error("a message that ends elsewhere");
}
