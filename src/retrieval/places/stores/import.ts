/**
 * Imports passages into a collection of a store.
 *
 * The collection is asked what it has, so an import that was stopped anywhere goes on, and many
 * processes can import parts of a corpus at the same time. The first of them that has encoded
 * enough learns the codebook and creates the collection; the others take what it created.
 */

import { crc32 } from "node:zlib";
import { InputError } from "../../../io/errors.ts";
import { concat } from "../../../math/concat.ts";
import { detectLanguages } from "../../../text/detect-languages.ts";
import type { Passage } from "../../../text/passage.ts";
import { type Analyser, openAnalyser } from "../../../text/terms.ts";
import { type Bits, type Codec, codeStarts, float32Decoder } from "../../codec/codec.ts";
import { residualDecoder } from "../../codec/key-decoder.ts";
import { type KeyEncoder, openKeyEncoder } from "../../codec/key-encoder.ts";
import { sampleOf } from "../../codec/sample.ts";
import { centroidCount, trainCodebook } from "../../codec/train-codebook.ts";
import type { IndexHeader } from "../../index/format/manifest.ts";
import { viewBytes } from "../../index/format/new-files.ts";
import { checkHeader } from "../../index/maintain/update.ts";
import { type BitsOption, bitsFor } from "../../index/write/automatic-bits.ts";
import {
  type BuildOptions,
  type BuildProgress,
  checkKeys,
  readWindows,
} from "../../index/write/build.ts";
import { passageVector } from "./candidate-vector.ts";
import { digestOf } from "./digest.ts";
import { writePart } from "./import-parts.ts";
import {
  findProperties,
  parseProperties,
  type StoreProperties,
  writeProperties,
} from "./properties.ts";
import { checkStorable } from "./storable.ts";
import type { NewPassage, Store } from "./store.ts";

export interface ImportOptions
  extends Pick<
    BuildOptions,
    "header" | "encode" | "cutTokens" | "shard" | "onProgress" | "signal"
  > {
  /** Of a new collection. */
  readonly bits: BitsOption;
  /** False: the passages are added to a collection that is whole without them. */
  readonly isImport: boolean;
}

/** Keys that a codebook is learned from: 32 for each of 4,096 centroids; 134 MB of 256 values. */
const SAMPLE_TOKENS = 131_072;
/** Passages that languages are detected from. */
const LANGUAGE_SAMPLE = 200;

/** Encoded passages. */
interface Encoded {
  readonly passages: readonly Passage[];
  /** [tokens, dimension] of each passage. */
  readonly keys: readonly Float32Array[];
}

/**
 * Encodes the passages that the collection does not have, and puts them. It creates the collection
 * if there is none. `shard` imports one part of the passages.
 *
 * @throws {InputError} if there are no passages, another model made the collection, or the server
 * does not answer for two minutes
 */
export async function importPassages(
  store: Store,
  passages: AsyncIterable<Passage> | Iterable<Passage>,
  options: ImportOptions,
): Promise<void> {
  const { header, shard, onProgress, signal, isImport } = options;
  let writer = await existingWriter(store, options);
  if (writer && isImport) await writePart(store, shard, false);
  const waiting: Encoded[] = []; // until there is a codebook
  const done = { passages: 0, tokens: 0 };
  const report = (event: BuildProgress["event"]): void => onProgress?.({ event, ...done });
  try {
    for await (const window of readWindows(passages, shard, signal)) {
      for (const passage of window) checkStorable(passage, store.address);
      const fresh = writer ? await notStored(store, window) : window;
      done.passages += window.length - fresh.length;
      if (fresh.length < window.length) report("reused");
      if (fresh.length === 0) continue;
      const encoded = await encodeWindow(fresh, options, done);
      done.passages += fresh.length;
      done.tokens += tokensOf([encoded], header.dimension);
      waiting.push(encoded);
      if (!writer && tokensOf(waiting, header.dimension) < SAMPLE_TOKENS && options.bits) continue;
      writer ??= await create(store, waiting, options);
      for (const one of waiting.splice(0)) await writer.write(one);
      report("encoded");
    }
    if (!writer && waiting.length === 0 && !shard) throw noPassages(store.address);
    if (!writer && waiting.length > 0) writer = await create(store, waiting, options);
    for (const one of waiting) await writer!.write(one);
    if (writer && isImport) await writePart(store, shard, true);
    report("finished");
  } finally {
    await writer?.[Symbol.asyncDispose]();
  }
}

const tokensOf = (encoded: readonly Encoded[], dimension: number): number =>
  encoded.flatMap(({ keys }) => keys).reduce((sum, { length }) => sum + length / dimension, 0);

/** The passages of a window that the store does not have as they are. */
async function notStored(store: Store, window: readonly Passage[]): Promise<Passage[]> {
  const digests = await store.digests(window.map(({ id }) => id));
  return window.filter((passage) => digests.get(passage.id) !== digestOf(passage));
}

async function encodeWindow(
  window: readonly Passage[],
  { encode, header, onProgress, signal }: ImportOptions,
  before: { readonly passages: number; readonly tokens: number },
): Promise<Encoded> {
  const report = (passages: number, tokens: number): void =>
    onProgress?.({
      event: "encoded",
      passages: before.passages + passages,
      tokens: before.tokens + tokens,
    });
  const keys = await encode(window, report, { known: new Map(), add: async () => {} });
  checkKeys(keys, window.length, header.dimension);
  signal?.throwIfAborted();
  return { passages: window, keys };
}

interface Writer extends AsyncDisposable {
  write(encoded: Encoded): Promise<void>;
}

/** The writer of a collection that exists. */
async function existingWriter(store: Store, options: ImportOptions): Promise<Writer | undefined> {
  const properties = await findProperties(store);
  if (!properties) return undefined;
  checkHeader(store.address, properties.header, options.header);
  return openWriter(store, properties, options);
}

/** Creates the collection, with a codebook of the first passages. */
async function create(
  store: Store,
  first: readonly Encoded[],
  options: ImportOptions,
): Promise<Writer> {
  const { header, shard, isImport } = options;
  const sample = first.flatMap(({ passages }) => passages).slice(0, LANGUAGE_SAMPLE);
  const languages = detectLanguages(sample.map(({ title, text }) => `${title} ${text}`));
  const codec = await learnCodec(first, options);
  const given = writeProperties({ header, codec, languages });
  const properties = parseProperties(await store.create(header.dimension, given), store.address);
  checkHeader(store.address, properties.header, header);
  if (isImport) await writePart(store, shard, false);
  return openWriter(store, properties, options);
}

async function learnCodec(
  first: readonly Encoded[],
  { header, bits, onProgress, signal }: ImportOptions,
): Promise<Codec> {
  const { dimension } = header;
  const keys = first.flatMap((encoded) => encoded.keys);
  const tokens = tokensOf(first, dimension);
  const chosen = chooseBits(bits, tokens, header);
  if (chosen === undefined) return { codebook: undefined, decoder: float32Decoder(dimension) };
  onProgress?.({ event: "compressed", passages: 0, tokens });
  const sample = sampleOf(concat(keys).subarray(0, SAMPLE_TOKENS * dimension), dimension);
  const codebook = await trainCodebook(sample, dimension, centroidCount(tokens), chosen, signal);
  return { codebook, decoder: residualDecoder(codebook) };
}

/** Keys from which a collection is compressed: it keeps its codec however much is added. */
const FEW_TOKENS = 8_192;

/** As for an index in a folder, but one between a small and a large one has 4 bits. */
function chooseBits(bits: BitsOption, tokens: number, header: IndexHeader): Bits | undefined {
  const chosen = bitsFor(bits, tokens, header);
  return bits === "automatic" && tokens >= FEW_TOKENS ? (chosen ?? 4) : chosen;
}

async function openWriter(
  store: Store,
  { codec, languages }: StoreProperties,
  { header, cutTokens, signal }: ImportOptions,
): Promise<Writer> {
  const { dimension } = header;
  const analyser = await openAnalyser(languages);
  const coder = await openCoder(codec, dimension);
  return {
    async write({ passages, keys }) {
      const codes = await coder.encode(keys);
      const rows = passages.map((passage, i): NewPassage => {
        const tokens = keys[i]!.length / dimension;
        return {
          passage,
          digest: digestOf(passage),
          codes: codes[i]!,
          checksum: crc32(codes[i]!),
          tokens,
          cutTokens: cutTokens?.(passage, tokens) ?? 0,
          vector: passageVector(codec.decoder.decode(codes[i]!), dimension),
          terms: termsOf(analyser, passage),
        };
      });
      signal?.throwIfAborted();
      await store.put(rows);
    },
    [Symbol.asyncDispose]: () => coder[Symbol.asyncDispose](),
  };
}

/** The terms that BM25 counts, as those of bm25/inverted-index.ts. */
const termsOf = (analyser: Analyser, { title, text }: Passage): string[] =>
  analyser.terms(`${title} ${text}`);

interface Coder extends AsyncDisposable {
  /** The codes of each passage. */
  encode(keys: readonly Float32Array[]): Promise<Uint8Array[]>;
}

async function openCoder({ codebook }: Codec, dimension: number): Promise<Coder> {
  if (!codebook)
    return {
      encode: async (keys) => keys.map(viewBytes),
      async [Symbol.asyncDispose]() {},
    };
  const encoder: KeyEncoder = await openKeyEncoder(codebook);
  return {
    async encode(keys) {
      const codes = await encoder.encode(concat(keys));
      const starts = codeStarts(codes, codebook);
      let token = 0;
      return keys.map(({ length }) => {
        const first = starts[token]!;
        token += length / dimension;
        return codes.slice(first, starts[token]!);
      });
    },
    [Symbol.asyncDispose]: () => encoder[Symbol.asyncDispose](),
  };
}

const noPassages = (where: string): InputError =>
  new InputError({
    where,
    expected: "passages to import",
    got: "none",
    remedy: "check that the corpus is not empty",
  });
