/**
 * Makes the SentencePiece model of the second generation: the pieces of BERT's uncased WordPiece
 * vocabulary, so that the word vectors of MiniLM fit. A stage of
 * `recipes/reatt-mini/train`.
 *
 *     npx tsx recipes/reatt-mini/make-tokenizer.ts --teacher DIR --texts FILE --out DIR
 *
 * Needs `spm_train` (Debian package sentencepiece), which compiles the normaliser: NFKC, lower case
 * and no accents, as BERT's uncased models read text.
 *
 * A word is the piece `▁word`, a continuation `##ing` is the piece `ing`, a sign is both `▁(` and
 * `(`. Words that often follow a sign (`anglo-saxon`) are pieces without `▁` too. All pieces have
 * nearly the same score, so a word is split into as few as possible.
 *
 * Writes spiece.model and pieces.json: of each piece, the id of BERT's piece.
 */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { replaceFile } from "../../src/io/replace-file.ts";
import { readPassages } from "../../src/text/read-passages.ts";

const { values } = parseArgs({
  options: {
    teacher: { type: "string", default: "runs/minilm/package/model" },
    texts: { type: "string", default: "../shared/data/wiki/articles.jsonl.gz" },
    out: { type: "string", default: "runs/reatt-mini/tokenizer" },
  },
});
/** With T5's 100 sentinels and 28 rows to spare, 32,128 as T5. */
const PIECES = 32_000;
const COUNTED_TEXTS = 6_000;

const WORD = /^[\p{L}\p{N}]+$/u;
const isSpecial = (piece: string) => piece.length > 1 && piece.startsWith("[");

/** `HEX[ HEX]...\tHEX[ HEX]...` for each character that the normaliser replaces. */
function normalizationRules(): string {
  const hex = (text: string) =>
    Array.from(text, (c) => c.codePointAt(0)!.toString(16).toUpperCase()).join(" ");
  const rules: string[] = [];
  for (let code = 1; code < 0x30000; code++) {
    if (code >= 0xd800 && code < 0xf900) continue; // surrogates and private use
    const character = String.fromCodePoint(code);
    if (/\p{Cn}/u.test(character)) continue;
    const replacement = normalized(character);
    if (replacement !== character) rules.push(`${hex(character)}\t${hex(replacement)}`);
  }
  return `${rules.join("\n")}\n`;
}

/** Without the combining diacritical marks of Latin, Greek and Cyrillic. */
const withoutAccents = (text: string): string =>
  Array.from(text)
    .filter((character) => character < "\u0300" || character > "\u036f")
    .join("");

function normalized(character: string): string {
  if (/\p{Z}|[\t\n\r]/u.test(character)) return " ";
  if (/\p{Cc}|[\u200b-\u200f]|\ufeff/u.test(character)) return "";
  if (character === "▁") return character;
  return withoutAccents(withoutAccents(character.normalize("NFKD")).toLowerCase())
    .replaceAll("ß", "ss")
    .normalize("NFKC");
}

/** The model file of `spm_train` for two lines of text; only its normaliser is used. */
async function trainedModel(): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "reatt-tokenizer-"));
  try {
    await writeFile(join(folder, "rules.tsv"), normalizationRules());
    await writeFile(
      join(folder, "input.txt"),
      "a text to train with\nanother text to train with\n",
    );
    const options =
      "--input=input.txt --model_prefix=model --normalization_rule_tsv=rules.tsv --model_type=unigram " +
      "--vocab_size=30 --hard_vocab_limit=false --character_coverage=1.0 " +
      "--pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1";
    // Relative paths: the model file repeats them.
    await promisify(execFile)("spm_train", options.split(" "), { cwd: folder });
    return await readFile(join(folder, "model.model"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** How often each word follows a sign without a space. */
async function wordsAfterSigns(): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  let texts = 0;
  for await (const { text } of readPassages(values.texts)) {
    for (const [, word] of text.toLowerCase().matchAll(/(?<=[^\p{L}\p{N}\s])([\p{L}\p{N}]+)/gu))
      counts.set(word!, (counts.get(word!) ?? 0) + 1);
    if (++texts === COUNTED_TEXTS) break;
  }
  return counts;
}

/** The pieces after the special ones, with the id of BERT's piece. */
async function chosenPieces(vocabulary: Readonly<Record<string, number>>) {
  const chosen = new Map<string, number>();
  for (const [piece, id] of Object.entries(vocabulary)) {
    if (isSpecial(piece)) continue;
    const isContinuation = piece.length > 2 && piece.startsWith("##");
    // BERT splits words at signs, so a sign never continues a word.
    if (isContinuation && !WORD.test(piece.slice(2))) continue;
    if (isContinuation) chosen.set(piece.slice(2), id);
    else if (WORD.test(piece)) chosen.set(`▁${piece}`, id);
    else chosen.set(piece, id).set(`▁${piece}`, id);
  }
  chosen.set("▁", vocabulary["[MASK]"]!);
  const after = [...(await wordsAfterSigns())].sort(([, a], [, b]) => b - a);
  for (const [word] of after) {
    if (chosen.size >= PIECES - 3) break;
    if (vocabulary[word] !== undefined && !chosen.has(word)) chosen.set(word, vocabulary[word]);
  }
  return chosen;
}

const TYPE = { normal: 1, unknown: 2, control: 3 };

function writePiece(writer: BinaryWriter, piece: string, score: number, type: number): void {
  const message = new BinaryWriter().tag(1, WireType.LengthDelimited).string(piece);
  message.tag(2, WireType.Bit32).float(score);
  if (type !== TYPE.normal) message.tag(3, WireType.Varint).int32(type);
  writer.tag(1, WireType.LengthDelimited).bytes(message.finish());
}

/** `model` with other pieces. Field 1 of the message has them, the others are copied. */
function withPieces(model: Uint8Array, pieces: ReadonlyMap<string, number>): Uint8Array {
  const writer = new BinaryWriter();
  writePiece(writer, "<pad>", 0, TYPE.control);
  writePiece(writer, "</s>", 0, TYPE.control);
  writePiece(writer, "<unk>", 0, TYPE.unknown);
  for (const [piece, id] of pieces)
    writePiece(writer, piece, piece === "▁" ? -15 : -10 - 1e-5 * id, TYPE.normal);
  const reader = new BinaryReader(model);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    reader.skip(wireType, field);
    if (field !== 1) writer.raw(model.slice(start, reader.pos));
  }
  return writer.finish();
}

const tokenizer = JSON.parse(await readFile(join(values.teacher, "tokenizer.json"), "utf8"));
const pieces = await chosenPieces(tokenizer.model.vocab);
await mkdir(values.out, { recursive: true });
const model = withPieces(await trainedModel(), pieces);
await replaceFile(join(values.out, "spiece.model"), (file) => file.writeFile(model));
const ids = [-1, tokenizer.model.vocab["[SEP]"], -1, ...pieces.values()];
await replaceFile(join(values.out, "pieces.json"), (file) => file.writeFile(JSON.stringify(ids)));
process.stdout.write(`${join(values.out, "spiece.model")}: ${ids.length} pieces\n`);
