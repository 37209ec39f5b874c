/**
 * T5's tokenizer: a SentencePiece model, and the 100 sentinels `<extra_id_0>` .. `<extra_id_99>` that mark masked spans. The
 * sentinels are not in `spiece.model`; they are the last ids of the vocabulary, counted backwards.
 *
 * Source: Raffel et al. 2020, 2.2 and 3.1.4. Around sentinels it does as Hugging Face's T5Tokenizer does: the text on each side is
 * encoded as a text of its own, so white space there has no effect.
 */

import { readFile } from "node:fs/promises";
import { SentencePieceProcessor } from "sentencepiece-js";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { createNormalizer } from "./normalizer.ts";
import { parseSentencePieceModel, type SentencePieceModel } from "./sentencepiece-model.ts";

const SENTINELS = 100;
const SENTINEL_PATTERN = /<extra_id_(\d|[1-9]\d)>/;
const EMSCRIPTEN_HANDLERS = {
  uncaughtException: "function(ex){if(!(ex instanceof ExitStatus)){throw ex}}",
  unhandledRejection: "function(reason){throw reason}",
};

/** Text to token ids and back. */
export interface Tokenizer {
  /** Pieces and sentinels. A model may have more rows in its embedding: T5 pads 32,100 to 32,128. */
  readonly vocabularySize: number;
  /** The id of `</s>`. */
  readonly eosId: number;
  /** The id of what no piece stands for: characters of a script that the model was not made with. */
  readonly unknownId: number;
  /** The ids of `text`, without `</s>`. Control tokens written in the text, such as `</s>`, are text; sentinels are sentinels. */
  encode(text: string): number[];
  /** The text of `ids`, leaving out padding, `</s>` and ids beyond the vocabulary; sentinels are written `<extra_id_N>`. */
  decode(ids: Iterable<number>): string;
  /**
   * As `encode`, with the characters [start, end) of `text` (UTF-16 units) that each token stands for, without white space
   * before them. Starts and ends never decrease. Where one character became several tokens (½ is 1, ⁄ and 2) they share it.
   */
  encodeWithOffsets(text: string): { ids: number[]; offsets: [start: number, end: number][] };
}

/**
 * Loads `spiece.model`. With `rows`, the size of a model's embedding, a text that needs an id beyond it is refused when it is
 * encoded: most texts may still do, since the pieces stand in the order of their frequency.
 *
 * @throws {InputError} when the file is not there or is no whole SentencePiece model of T5's kind.
 */
export async function loadTokenizer(
  spieceModelFile: string,
  rows: number = Infinity,
): Promise<Tokenizer> {
  const model = await readModel(spieceModelFile);
  const processor = await loadProcessor(spieceModelFile);
  const normalize = createNormalizer(model.charsmap);
  const pieceCount = model.pieces.length;
  const vocabularySize = pieceCount + SENTINELS;
  const sentinelId = (number: string) => vocabularySize - 1 - Number(number);

  function encodeWithOffsets(text: string): ReturnType<Tokenizer["encodeWithOffsets"]> {
    const ids: number[] = [];
    const offsets: [number, number][] = [];
    let at = 0;
    for (const { sentinel, content } of splitAtSentinels(text)) {
      if (sentinel !== undefined) {
        ids.push(sentinelId(sentinel));
        offsets.push([at, at + content.length]);
      } else {
        for (const id of processor.encodeIds(content)) ids.push(id);
        for (const [start, end] of pieceOffsets(content)) offsets.push([at + start, at + end]);
      }
      at += content.length;
    }
    return { ids: withinRows(ids), offsets };
  }

  /** The pieces, one after the other, are the normalised text. */
  function* pieceOffsets(text: string): Generator<[number, number]> {
    const { starts, ends } = normalize(text);
    let from = 0;
    for (const piece of processor.encodePieces(text)) {
      const to = from + piece.length;
      const first = piece.startsWith("▁") && piece.length > 1 ? from + 1 : from;
      yield [starts[first]!, ends[to - 1]!];
      from = to;
    }
  }

  return {
    vocabularySize,
    eosId: model.pieces.indexOf("</s>"),
    unknownId: model.pieces.indexOf("<unk>"),
    encode: (text) =>
      withinRows(
        splitAtSentinels(text).flatMap(({ sentinel, content }) =>
          sentinel === undefined ? processor.encodeIds(content) : sentinelId(sentinel),
        ),
      ),
    decode,
    encodeWithOffsets,
  };

  function withinRows(ids: number[]): number[] {
    const beyond = ids.find((id) => id >= rows);
    if (beyond === undefined) return ids;
    const piece = beyond < pieceCount ? model.pieces[beyond]! : decode([beyond]);
    throw new InputError({
      where: spieceModelFile,
      expected: `tokens of the model's vocabulary, which has ${rows}`,
      got: `token ${beyond}, ${excerpt(piece)}`,
      remedy: `use the spiece.model that belongs to the model, or a model of ${vocabularySize} tokens or more`,
    });
  }

  function decode(ids: Iterable<number>): string {
    const parts: string[] = [];
    let run: number[] = [];
    for (const id of ids) {
      if (id < pieceCount) run.push(id);
      else if (id < vocabularySize) {
        parts.push(processor.decodeIds(run), `<extra_id_${vocabularySize - 1 - id}>`);
        run = [];
      }
    }
    parts.push(processor.decodeIds(run));
    return parts.filter((part) => part !== "").join(" ");
  }
}

/** The text in parts, sentinels apart. Lone surrogates, which UTF-8 cannot say, become U+FFFD, the same length. */
function splitAtSentinels(text: string): { sentinel?: string; content: string }[] {
  // A pattern with a group puts what the group matched between the parts.
  return text
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .split(SENTINEL_PATTERN)
    .map((content, index) =>
      index % 2 === 0 ? { content } : { sentinel: content, content: `<extra_id_${content}>` },
    );
}

async function readModel(file: string): Promise<SentencePieceModel> {
  try {
    const model = parseSentencePieceModel(await readFile(file));
    if (!model.pieces.includes("</s>")) throw new Error("no piece </s>");
    return model;
  } catch (cause) {
    throw notAModel(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

async function loadProcessor(file: string): Promise<SentencePieceProcessor> {
  const processor = new SentencePieceProcessor();
  await processor.load(file);
  removeEmscriptenHandlers();
  const status = processor.processor.status();
  const message = status.ToString();
  status.delete();
  if (message !== "OK") throw notAModel(file, message);
  return processor;
}

/**
 * sentencepiece-js is compiled by Emscripten, which, when it starts, installs handlers that rethrow every uncaught error and
 * unhandled rejection of the process. A library has no business there: they are taken away again.
 */
function removeEmscriptenHandlers(): void {
  for (const [event, source] of Object.entries(EMSCRIPTEN_HANDLERS)) {
    for (const listener of process.rawListeners(event)) {
      if (String(listener) === source) process.off(event, listener as () => void);
    }
  }
}

function notAModel(where: string, got: string, cause?: unknown): InputError {
  return new InputError(
    {
      where,
      expected: "T5's SentencePiece model",
      got,
      remedy: "fetch spiece.model of the model again",
    },
    { cause },
  );
}
