/**
 * Opens a SentencePiece model with sentencepiece-js, which is SentencePiece as WebAssembly. What it
 * makes of a model stays in the user's cache for the next process (kept-memory.ts).
 */

import { devNull } from "node:os";
import { fileURLToPath } from "node:url";
import type { SentencePieceProcessor } from "sentencepiece-js";
import { addressSpaceErrorFrom } from "../../io/address-space.ts";
import { InputError } from "../../io/errors.ts";
import { readOpened } from "../../io/open-file.ts";
import { version } from "../../io/version.ts";
import { keepMemory, keyOf, readMemory, type Vocabulary } from "./kept-memory.ts";

export interface SentencePiece {
  readonly vocabulary: Vocabulary;
  readonly encodeIds: (text: string) => number[];
  readonly decodeIds: (ids: readonly number[]) => string;
}

const MODEL_FILE = "sentencepiece.model"; // in the file system of Emscripten
const EMSCRIPTEN_HANDLERS = {
  uncaughtException: "function(ex){if(!(ex instanceof ExitStatus)){throw ex}}",
  unhandledRejection: "function(reason){throw reason}",
};

/**
 * @param file names the model in errors
 * @param check reads the vocabulary of a model that was not loaded before, or throws
 * @throws {InputError} if SentencePiece rejects the model, or has no memory for it
 */
export async function openSentencePiece(
  file: string,
  model: Uint8Array,
  check: () => Vocabulary,
): Promise<SentencePiece> {
  const processor = await start(file);
  const key = await programKey(model);
  const kept = key === undefined ? undefined : await readMemory(key);
  let vocabulary: Vocabulary;
  if (kept) {
    vocabulary = kept.vocabulary;
    processor.sentencepiece.HEAPU8.set(kept.memory);
  } else {
    vocabulary = check();
    const before = processor.sentencepiece.HEAPU8;
    const used = usedBytes(before);
    guarded(file, () => load(processor, model))(undefined);
    checkStatus(file, processor);
    // A memory that grew is another one
    if (key !== undefined && processor.sentencepiece.HEAPU8 === before) {
      const memory = before.subarray(0, Math.max(used, usedBytes(before)));
      await keepMemory(key, { vocabulary, memory });
    }
  }
  return {
    vocabulary,
    encodeIds: guarded(file, (text: string) => processor.encodeIds(text)),
    decodeIds: guarded(file, (ids: readonly number[]) => processor.decodeIds(ids)),
  };
}

/** A processor without a model. Until it has one, its memory is the same in each process. */
async function start(file: string): Promise<SentencePieceProcessor> {
  // A megabyte of WebAssembly, which a program that only imports reatt does not need.
  const { SentencePieceProcessor } = await import("sentencepiece-js");
  const processor = new SentencePieceProcessor();
  try {
    await processor.load(devNull);
  } catch (cause) {
    throw processorError(file, cause);
  } finally {
    removeEmscriptenHandlers();
  }
  return processor;
}

/** As `load` of sentencepiece-js does, which can only read files. */
function load({ sentencepiece, processor }: SentencePieceProcessor, model: Uint8Array): void {
  sentencepiece.FS.writeFile(MODEL_FILE, model);
  const name = new sentencepiece.StringView(MODEL_FILE);
  const view = name.getView();
  for (const used of [processor.Load(view), view, name]) used.delete();
  sentencepiece.FS.unlink(MODEL_FILE);
}

function checkStatus(file: string, { processor }: SentencePieceProcessor): void {
  const status = processor.status();
  const message = status.ToString();
  status.delete();
  if (message !== "OK") throw notAModel(file, message);
}

/** Undefined if the program lies in no file of its own, as in an application of one file. */
async function programKey(model: Uint8Array): Promise<string | undefined> {
  try {
    const program = await readOpened(fileURLToPath(import.meta.resolve("sentencepiece-js")));
    return keyOf([version(), program, model]);
  } catch {
    return undefined;
  }
}

/** The bytes up to the last one that is not 0. */
function usedBytes(memory: Uint8Array): number {
  const words = new Int32Array(memory.buffer);
  let end = words.length;
  while (end > 0 && words[end - 1] === 0) end--;
  return end * words.BYTES_PER_ELEMENT;
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

export function notAModel(where: string, got: string, cause?: unknown): InputError {
  const remedy = "download spiece.model of the model again";
  return new InputError({ where, expected: "T5's SentencePiece model", got, remedy }, { cause });
}
