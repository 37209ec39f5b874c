/**
 * What `spiece.model` says about itself: a protobuf whose schema is
 * https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto. Encoding is sentencepiece-js's work; this
 * reads what that package does not tell: the number of pieces, the id of `</s>`, and the rules of the normaliser.
 */

import { BinaryReader } from "@bufbuild/protobuf/wire";

/** The parts of a SentencePiece model that a T5 tokenizer needs beside the encoder. */
export interface SentencePieceModel {
  readonly pieces: readonly string[];
  /** Compiled rules of the normaliser, see `normalizer.ts`; empty where text is taken as it is. */
  readonly charsmap: Uint8Array;
}

// Field numbers of the schema.
const MODEL = { pieces: 1, normalizerSpec: 3 };
const PIECE = { piece: 1 };
const NORMALIZER = {
  charsmap: 2,
  addDummyPrefix: 3,
  removeExtraWhitespaces: 4,
  escapeWhitespaces: 5,
};

/** @throws {Error} when the bytes are no whole SentencePiece model, or one whose normaliser is not set as T5's. */
export function parseSentencePieceModel(bytes: Uint8Array): SentencePieceModel {
  const pieces: string[] = [];
  let charsmap: Uint8Array | undefined;
  readFields(new BinaryReader(bytes), {
    [MODEL.pieces]: (reader) => {
      readFields(new BinaryReader(reader.bytes()), {
        [PIECE.piece]: (piece) => pieces.push(piece.string()),
      });
    },
    [MODEL.normalizerSpec]: (reader) => {
      charsmap = parseNormalizerSpec(reader.bytes());
    },
  });
  if (charsmap === undefined) throw new Error("no normaliser");
  return { pieces, charsmap };
}

function parseNormalizerSpec(bytes: Uint8Array): Uint8Array {
  let charsmap: Uint8Array = new Uint8Array();
  const expectTrue = (reader: BinaryReader) => {
    if (!reader.bool()) throw new Error("a normaliser that keeps white space");
  };
  readFields(new BinaryReader(bytes), {
    [NORMALIZER.charsmap]: (reader) => {
      charsmap = reader.bytes();
    },
    // All three are true by default, and T5's models say or leave them so.
    [NORMALIZER.addDummyPrefix]: expectTrue,
    [NORMALIZER.removeExtraWhitespaces]: expectTrue,
    [NORMALIZER.escapeWhitespaces]: expectTrue,
  });
  return charsmap;
}

/** Hands each field that has a reader to it and skips the others. */
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
