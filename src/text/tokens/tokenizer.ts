/**
 * The tokenizer of T5: a SentencePiece model and the 100 sentinels `<extra_id_0>` ..
 * `<extra_id_99>`, which mark masked spans. The sentinels are not in `spiece.model`. They have the
 * last ids of the vocabulary, in descending order.
 *
 * Source: Raffel et al. 2020, sections 2.2 and 3.1.4. As in T5Tokenizer of Hugging Face, the text
 * on each side of a sentinel is encoded separately, so white space beside a sentinel has no effect.
 */

import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { SentencePieceProcessor } from "sentencepiece-js";
import { addressSpaceErrorFrom } from "../../io/address-space.ts";
import { InputError } from "../../io/errors.ts";
import { excerpt } from "../../io/excerpt.ts";
import { readSmallFile } from "../../io/small-file.ts";
import { uncasedForm, visible } from "../normal-form.ts";
import { parsePieces } from "./sentencepiece-model.ts";
import { beginningOf, PART_LENGTH, shortenUnknownRuns, textParts } from "./text-parts.ts";
import { checkTextAndLimit, idList } from "./tokenizer-arguments.ts";
import type { Tokenizer, TokenizerOptions } from "./tokenizer-interface.ts";
import { TOKENIZER_JSON } from "./tokenizer-json.ts";
import { loadWordPiece, onlyJson } from "./wordpiece.ts";

export type { Tokenizer } from "./tokenizer-interface.ts";

const MAX_MODEL_BYTES = 50_000_000; // the largest of T5, mT5's, has 4 MB
const SENTINELS = 100;
const SENTINEL_PATTERN = /<extra_id_(\d|[1-9]\d)>/;
/** T5's longest piece: a text of this many characters for each token usually reaches the limit. */
const MAX_PIECE_LENGTH = 16;
/** A character of Unicode's private use area, which no piece contains. */
const UNKNOWN_CHARACTER = "\ue000";
const EMSCRIPTEN_HANDLERS = {
  uncaughtException: "function(ex){if(!(ex instanceof ExitStatus)){throw ex}}",
  unhandledRejection: "function(reason){throw reason}",
};

/** The file of the tokenizer in a folder: `spiece.model`, or `tokenizer.json` of a BERT alone. */
export const tokenizerFile = (folder: string): string => {
  const [pieces, json] = ["spiece.model", TOKENIZER_JSON].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  return existsSync(pieces) || !existsSync(json) ? pieces : json;
};

/**
 * Loads `spiece.model`, or `tokenizer.json` of a BERT (wordpiece.ts).
 *
 * @throws {InputError} if the file does not exist or is not a complete tokenizer of T5 or BERT.
 */
export async function loadTokenizer(
  file: string,
  options: TokenizerOptions = {},
): Promise<Tokenizer> {
  if (basename(file) === TOKENIZER_JSON) return await loadWordPiece(file, options);
  return await loadSentencePiece(file, options);
}

async function loadSentencePiece(
  spieceModelFile: string,
  { vocabularySize: rows = Infinity, prompts }: TokenizerOptions,
): Promise<Tokenizer> {
  const pieces = await readPieces(spieceModelFile);
  const processor = await loadProcessor(spieceModelFile);
  const vocabularySize = pieces.length + SENTINELS;
  const sentinelId = (number: string) => vocabularySize - 1 - Number(number);

  function decode(ids: Iterable<number>): string {
    const parts: string[] = [];
    let pending: number[] = []; // pieces since the last sentinel
    for (const id of idList(ids)) {
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

  const isUncased = processor.decodeIds(processor.encodeIds("É")) === "e";
  const prepare = isUncased ? uncasedForm : visible;
  const isUnknown = unknownCharacters(processor);
  const encodeWhole = (text: string): number[] =>
    splitAtSentinels(text).flatMap(({ isSentinel, content }) =>
      isSentinel
        ? sentinelId(content)
        : processor.encodeIds(shortenUnknownRuns(prepare(content), isUnknown)),
    );

  function encode(text: string, limit = Infinity): number[] {
    checkTextAndLimit(text, limit);
    const beginning = beginningOf(text, limit * MAX_PIECE_LENGTH);
    if (beginning.length < Math.min(text.length, PART_LENGTH)) {
      const ids = encodeWhole(beginning);
      if (ids.length >= limit) return checkRows(ids.slice(0, limit));
    }
    const parts: number[][] = [];
    let count = 0;
    for (const part of textParts(text)) {
      parts.push(encodeWhole(part));
      count += parts.at(-1)!.length;
      if (count >= limit) break;
    }
    return checkRows(parts.flat().slice(0, limit));
  }

  return {
    vocabularySize,
    eosId: pieces.indexOf("</s>"),
    isUncased,
    unknownId: pieces.indexOf("<unk>"),
    prompts,
    encode,
    decode,
  };
}

/** Tells which characters add no token beside an unknown character. Remembers the answers. */
function unknownCharacters(processor: Processor): (character: string) => boolean {
  const known = new Map<string, boolean>();
  const unknown = String(processor.encodeIds(UNKNOWN_CHARACTER));
  return (character) => {
    let answer = known.get(character);
    if (answer === undefined) {
      const ids = processor.encodeIds(`${UNKNOWN_CHARACTER}${character}${UNKNOWN_CHARACTER}`);
      answer = String(ids) === unknown;
      known.set(character, answer);
    }
    return answer;
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
    const pieces = parsePieces(await readSmallFile(file, MAX_MODEL_BYTES));
    if (!pieces.includes("</s>")) throw new Error("no piece </s>");
    // encode() cuts long texts at spaces
    if (pieces.some((piece) => piece.lastIndexOf("▁") > 0)) throw new Error("pieces of two words");
    return pieces;
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    if (!existsSync(file) && existsSync(join(dirname(file), TOKENIZER_JSON)))
      throw onlyJson(file, cause);
    throw notAModel(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

type Processor = Pick<SentencePieceProcessor, "encodeIds" | "decodeIds">;

async function loadProcessor(file: string): Promise<Processor> {
  // A megabyte of WebAssembly, which a program that only imports reatt does not need.
  const { SentencePieceProcessor } = await import("sentencepiece-js");
  const processor = new SentencePieceProcessor();
  try {
    await processor.load(file);
  } catch (cause) {
    throw processorError(file, cause);
  } finally {
    removeEmscriptenHandlers();
  }
  const status = processor.processor.status();
  const message = status.ToString();
  status.delete();
  if (message !== "OK") throw notAModel(file, message);
  return {
    encodeIds: guarded(file, (text: string) => processor.encodeIds(text)),
    decodeIds: guarded(file, (ids: readonly number[]) => processor.decodeIds(ids)),
  };
}

/** Reports the errors of WebAssembly as `InputError`. */
function guarded<Input, Output>(
  file: string,
  work: (input: Input) => Output,
): (input: Input) => Output {
  return (input) => {
    try {
      return work(input);
    } catch (cause) {
      throw processorError(file, cause);
    }
  };
}

/** The error for a failure inside WebAssembly: no memory, or a model that SentencePiece rejects. */
function processorError(file: string, cause: unknown): InputError {
  const known = addressSpaceErrorFrom(cause, file);
  if (known instanceof InputError) return known;
  return notAModel(file, cause instanceof Error ? cause.message : `exception ${cause}`, cause);
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
