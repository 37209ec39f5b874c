/**
 * `tokenizer.json` of Hugging Face's tokenizers as a SentencePiece model: transformers 5 saves a T5
 * with the first alone, and sentencepiece-js reads the second.
 *
 * Formats: https://huggingface.co/docs/tokenizers, models.Unigram and normalizers.Precompiled;
 * https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto
 */

import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { readJsonFile } from "../../io/json/json-file.ts";

export const TOKENIZER_JSON = "tokenizer.json";

/** That of mT5 has 16 MB, and a piece three values. */
const LIMITS = { bytes: 100_000_000, values: 5_000_000 };

const SENTINEL = /^<extra_id_\d+>$/;
const SENTINELS = 100;
/** What a normaliser does beside the table of replacements, and SentencePiece does by itself. */
const WHITE_SPACE = new Set(["Replace", "Strip"]);

const Normalizer = z.object({
  type: z.string(),
  precompiled_charsmap: z.string().nullish(),
});

const TokenizerFile = z.object({
  added_tokens: z.array(z.object({ id: z.int(), content: z.string(), special: z.boolean() })),
  normalizer: z
    .object({ ...Normalizer.shape, normalizers: z.array(Normalizer).optional() })
    .nullish(),
  model: z.object({
    type: z.literal("Unigram"),
    unk_id: z.int().min(0),
    byte_fallback: z.literal(false).default(false),
    vocab: z.array(z.tuple([z.string(), z.number()])).min(1),
  }),
});

type TokenizerFile = z.infer<typeof TokenizerFile>;

/**
 * The bytes of a `spiece.model` that gives the same ids. The sentinels at the end of the vocabulary
 * are left out, as in that of T5.
 *
 * @throws {InputError} if it is no Unigram model with T5's normaliser and sentinels.
 */
export async function sentencePieceModel(file: string): Promise<Uint8Array> {
  const json = await readJsonFile(file, LIMITS, (cause) =>
    unusable(file, "JSON", "something else", cause),
  );
  const { data, error } = TokenizerFile.safeParse(json);
  if (error) {
    const { path, message } = error.issues[0]!;
    throw unusable(`${file}: ${path.join(".")}`, "a Unigram model as of T5", message, error);
  }
  return modelOf(piecesOf(file, data), charsmapOf(file, data));
}

/** Types of pieces in the schema. */
const [NORMAL, UNKNOWN, CONTROL]: readonly [number, number, number] = [1, 2, 3];

interface Piece {
  readonly text: string;
  readonly score: number;
  readonly type: number;
}

function piecesOf(file: string, { added_tokens: added, model }: TokenizerFile): Piece[] {
  const special = new Map(added.map(({ id, content }) => [content, id]));
  const last = model.vocab.findLastIndex(([text]) => !SENTINEL.test(text));
  const pieces = model.vocab.slice(0, last + 1);
  const sentinel = special.get("<extra_id_0>");
  const expected = pieces.length + SENTINELS - 1;
  if (sentinel !== undefined && sentinel !== expected)
    throw unusable(file, `<extra_id_0> as token ${expected}`, `token ${sentinel}`);
  return pieces.map(([text, score], id) => {
    const type = id === model.unk_id ? UNKNOWN : special.get(text) === id ? CONTROL : NORMAL;
    return { text, score, type };
  });
}

/** The table of replacements; empty without one. */
function charsmapOf(file: string, { normalizer }: TokenizerFile): Uint8Array {
  const steps = normalizer ? (normalizer.normalizers ?? [normalizer]) : [];
  const other = steps.find(({ type }) => type !== "Precompiled" && !WHITE_SPACE.has(type));
  if (other) throw unusable(file, "a normaliser of the type Precompiled", `"${other.type}"`);
  const tables = steps.flatMap(({ precompiled_charsmap: table }) => table ?? []);
  return Buffer.from(tables[0] ?? "", "base64");
}

/** Field numbers of the schema. */
const MODEL = { pieces: 1, trainerSpec: 2, normalizerSpec: 3 };
const PIECE = { piece: 1, score: 2, type: 3 };
const TRAINER = { unknownId: 40, beginId: 41, endId: 42, padId: 43 };
const CHARSMAP = 2;

function modelOf(pieces: readonly Piece[], charsmap: Uint8Array): Uint8Array {
  const writer = new BinaryWriter();
  const { Varint, Bit32, LengthDelimited } = WireType;
  for (const { text, score, type } of pieces) {
    writer.tag(MODEL.pieces, LengthDelimited).fork();
    writer.tag(PIECE.piece, LengthDelimited).string(text);
    writer.tag(PIECE.score, Bit32).float(score);
    writer.tag(PIECE.type, Varint).int32(type).join();
  }
  const idOf = (text: string): number => pieces.findIndex((piece) => piece.text === text);
  writer.tag(MODEL.trainerSpec, LengthDelimited).fork();
  for (const [field, id] of [
    [TRAINER.unknownId, pieces.findIndex(({ type }) => type === UNKNOWN)],
    [TRAINER.beginId, -1],
    [TRAINER.endId, idOf("</s>")],
    [TRAINER.padId, idOf("<pad>")],
  ] as const)
    writer.tag(field, Varint).int32(id);
  writer.join();
  writer.tag(MODEL.normalizerSpec, LengthDelimited).fork();
  writer.tag(CHARSMAP, LengthDelimited).bytes(charsmap).join();
  return writer.finish();
}

const unusable = (where: string, expected: string, got: string, cause?: unknown): InputError =>
  new InputError(
    { where, expected, got, remedy: "use the spiece.model of the model instead" },
    { cause },
  );
