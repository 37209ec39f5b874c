/**
 * The tokenizer of T5: a SentencePiece model and the 100 sentinels `<extra_id_0>` ..
 * `<extra_id_99>`, which mark masked spans. The sentinels are not in `spiece.model`. They have the
 * last ids of the vocabulary, in descending order.
 *
 * Source: Raffel et al. 2020, sections 2.2 and 3.1.4. As in T5Tokenizer of Hugging Face, the text
 * on each side of a sentinel is encoded separately, so white space beside a sentinel has no effect.
 */

import { readFile } from "node:fs/promises";
import { SentencePieceProcessor } from "sentencepiece-js";
import { InputError } from "../io/errors.ts";
import { excerpt } from "../io/excerpt.ts";
import { parsePieces } from "./sentencepiece-model.ts";

const SENTINELS = 100;
const SENTINEL_PATTERN = /<extra_id_(\d|[1-9]\d)>/;
const EMSCRIPTEN_HANDLERS = {
  uncaughtException: "function(ex){if(!(ex instanceof ExitStatus)){throw ex}}",
  unhandledRejection: "function(reason){throw reason}",
};

/**
 * Converts text to token ids and back.
 *
 * @example
 * ```ts
 * import { ReAtt } from "reatt";
 *
 * await using model = await ReAtt.load("models/reatt-mini");
 * const ids = model.tokenizer.encode("Where is Normandy?");
 * console.log(model.tokenizer.decode(ids)); // Where is Normandy?
 * ```
 */
export interface Tokenizer {
  /** Number of pieces and sentinels. The embedding may have more rows: T5 pads 32,100 to 32,128. */
  readonly vocabularySize: number;
  /** The id of `</s>`. */
  readonly eosId: number;
  /** The id for characters that no piece represents, for example of another script. */
  readonly unknownId: number;
  /**
   * Encodes `text` without a final `</s>`. Sentinels in the text become sentinel ids; other control
   * tokens are plain text.
   */
  encode(text: string): number[];
  /**
   * Decodes ids. Skips padding, `</s>` and ids beyond the vocabulary. Sentinels become
   * `<extra_id_N>`.
   */
  decode(ids: Iterable<number>): string;
}

/**
 * Loads `spiece.model`.
 *
 * `rows` is the number of rows of the model's embedding. `encode` throws `InputError` for a text
 * with a token beyond them. Pieces are ordered by frequency, so a small embedding can encode most
 * texts.
 *
 * @throws {InputError} if the file does not exist or is not a complete SentencePiece model for T5.
 */
export async function loadTokenizer(
  spieceModelFile: string,
  rows: number = Infinity,
): Promise<Tokenizer> {
  const pieces = await readPieces(spieceModelFile);
  const processor = await loadProcessor(spieceModelFile);
  const vocabularySize = pieces.length + SENTINELS;
  const sentinelId = (number: string) => vocabularySize - 1 - Number(number);

  function decode(ids: Iterable<number>): string {
    const parts: string[] = [];
    let pending: number[] = []; // pieces since the last sentinel
    for (const id of ids) {
      if (id < pieces.length) pending.push(id);
      else if (id < vocabularySize) {
        parts.push(processor.decodeIds(pending), `<extra_id_${vocabularySize - 1 - id}>`);
        pending = [];
      }
    }
    parts.push(processor.decodeIds(pending));
    return parts.filter((part) => part !== "").join(" ");
  }

  function checkRows(ids: number[]): number[] {
    const beyond = ids.find((id) => id >= rows);
    if (beyond === undefined) return ids;
    throw new InputError({
      where: spieceModelFile,
      expected: `tokens of the model's vocabulary, which has ${rows}`,
      got: `token ${beyond}, ${excerpt(pieces[beyond] ?? decode([beyond]))}`,
      remedy: `use the spiece.model that belongs to the model, or a model of ${vocabularySize} tokens or more`,
    });
  }

  return {
    vocabularySize,
    eosId: pieces.indexOf("</s>"),
    unknownId: pieces.indexOf("<unk>"),
    encode: (text) =>
      checkRows(
        splitAtSentinels(text).flatMap(({ isSentinel, content }) =>
          isSentinel ? sentinelId(content) : processor.encodeIds(content),
        ),
      ),
    decode,
  };
}

/**
 * Splits a text into plain parts and the numbers of sentinels. Replaces lone surrogates, which
 * UTF-8 cannot represent, by U+FFFD.
 */
function splitAtSentinels(text: string): { isSentinel: boolean; content: string }[] {
  // split() puts the match of the pattern's group between the parts.
  return text
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .split(SENTINEL_PATTERN)
    .map((content, index) => ({ isSentinel: index % 2 === 1, content }));
}

async function readPieces(file: string): Promise<string[]> {
  try {
    const pieces = parsePieces(await readFile(file));
    if (!pieces.includes("</s>")) throw new Error("no piece </s>");
    return pieces;
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
 * Removes the process-wide error handlers of sentencepiece-js. Emscripten installs them when it
 * starts; they rethrow every uncaught error and unhandled rejection of the process, which a library
 * must not do.
 */
function removeEmscriptenHandlers(): void {
  for (const [event, source] of Object.entries(EMSCRIPTEN_HANDLERS)) {
    for (const listener of process.rawListeners(event)) {
      if (String(listener) === source) process.off(event, listener as () => void);
    }
  }
}

function notAModel(where: string, got: string, cause?: unknown): InputError {
  const remedy = "download spiece.model of the model again";
  return new InputError({ where, expected: "T5's SentencePiece model", got, remedy }, { cause });
}
