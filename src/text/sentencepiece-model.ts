/**
 * Reads the pieces of a `spiece.model` and checks that its normaliser is T5's. sentencepiece-js
 * encodes text but does not expose the vocabulary.
 *
 * Format: protobuf,
 * https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto
 */

import { BinaryReader } from "@bufbuild/protobuf/wire";

/** Field numbers of the schema. */
const MODEL = { pieces: 1, normalizerSpec: 3 };
const PIECE = { piece: 1 };
const NORMALIZER = { addDummyPrefix: 3, removeExtraWhitespaces: 4, escapeWhitespaces: 5 };

/**
 * Returns the pieces in the order of their ids.
 *
 * @throws {Error} if the bytes are not a complete SentencePiece model, or if its normaliser keeps
 * white space.
 */
export function parsePieces(bytes: Uint8Array): string[] {
  const pieces: string[] = [];
  let hasNormalizer = false;
  readFields(new BinaryReader(bytes), {
    [MODEL.pieces]: (reader) => {
      readFields(new BinaryReader(reader.bytes()), {
        [PIECE.piece]: (piece) => pieces.push(piece.string()),
      });
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
    [NORMALIZER.addDummyPrefix]: expectTrue,
    [NORMALIZER.removeExtraWhitespaces]: expectTrue,
    [NORMALIZER.escapeWhitespaces]: expectTrue,
  });
}

/** Calls the reader of each known field and skips other fields. */
function readFields(
  reader: BinaryReader,
  fields: Record<number, (reader: BinaryReader) => void>,
): void {
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const read = fields[number];
    if (read) read(reader);
    else reader.skip(wireType, number);
  }
}
