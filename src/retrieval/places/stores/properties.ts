/**
 * What a collection says about itself: the model of its keys and their codec. It is written once,
 * when the collection is created, as the record `properties`. Parts of an import that start
 * together all learn a codebook, and the first to create the collection decides.
 */

import { crc32 } from "node:zlib";
import { z } from "zod";
import { InputError } from "../../../io/errors.ts";
import { LANGUAGES, type Language } from "../../../text/languages.ts";
import {
  type Codebook,
  type Codec,
  float32Decoder,
  subquantiserCounts,
} from "../../codec/codec.ts";
import { residualDecoder } from "../../codec/key-decoder.ts";
import { headerSchema, type IndexHeader } from "../../index/format/manifest.ts";
import { viewBytes } from "../../index/format/new-files.ts";
import type { Store } from "./store.ts";

const base64 = z.base64();

const codebookSchema = z.strictObject({
  bits: z.literal([1, 2, 4, 8]),
  /** Little-endian float32, as in the files of an index (manifest.ts). */
  rotation: base64,
  centroids: base64,
  /** Little-endian uint16. */
  subquantisers: base64,
  long: base64,
  short: base64,
  ratios: base64,
});

const schema = z.strictObject({
  format: z.literal("reatt-store"),
  version: z.literal(2),
  header: headerSchema,
  /** Absent: the codes are float32 keys. */
  codebook: codebookSchema.optional(),
  /** The languages whose words are stemmed. */
  languages: z.array(z.enum(LANGUAGES)).readonly(),
  /** CRC-32 of the JSON of all other fields. */
  checksum: z.int(),
});

/** The name of the record. */
export const PROPERTIES = "properties";

export interface StoreProperties {
  readonly header: IndexHeader;
  readonly codec: Codec;
  readonly languages: readonly Language[];
}

/** The properties of a collection; undefined if there is no collection. */
export async function findProperties(store: Store): Promise<StoreProperties | undefined> {
  const text = await store.record(PROPERTIES);
  return text === undefined ? undefined : parseProperties(text, store.address);
}

/** @throws {InputError} if there is no collection */
export async function readProperties(store: Store): Promise<StoreProperties> {
  const found = await findProperties(store);
  if (found) return found;
  throw new InputError({
    code: "ERR_REATT_NO_INDEX",
    where: store.address,
    expected: "a collection that reatt index has made",
    got: "none",
    remedy: "import it, or run an interrupted import again: reatt index --store ADDRESS",
  });
}

export function writeProperties({ header, codec, languages }: StoreProperties): string {
  const { codebook } = codec;
  const properties: Omit<z.infer<typeof schema>, "checksum"> = {
    format: "reatt-store",
    version: 2,
    header,
    ...(codebook && { codebook: textOf(codebook) }),
    languages,
  };
  return JSON.stringify({ ...properties, checksum: checksumOf(properties) });
}

/** Of the text, which has the order of the fields that it was written in. */
const checksumOf = (fields: object): number => crc32(JSON.stringify(fields));

export function parseProperties(text: string, where: string): StoreProperties {
  const value = parseOrUndefined(text);
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    throw damaged(where, `${path.join(".")}: ${message}`);
  }
  const { checksum, ...fields } = value as z.infer<typeof schema>;
  if (checksum !== checksumOf(fields)) throw damaged(where, "others, by their checksum");
  const { header, codebook: stored, languages } = parsed.data;
  const codebook = stored && codebookOf(stored, header.dimension, where);
  const decoder = codebook ? residualDecoder(codebook) : float32Decoder(header.dimension);
  return { header, codec: { codebook, decoder }, languages };
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const bytesOf = (values: Float32Array | Uint16Array): string =>
  Buffer.from(viewBytes(values)).toString("base64");

function textOf(codebook: Codebook): z.infer<typeof codebookSchema> {
  const { bits, dimension, rotation, centroids, subquantisers, codewords, ratios } = codebook;
  const { long, short } = subquantiserCounts(dimension, bits);
  return {
    bits,
    rotation: bytesOf(rotation),
    centroids: bytesOf(centroids),
    subquantisers: bytesOf(subquantisers),
    long: bytesOf(codewords.get(long)!),
    short: bytesOf(codewords.get(short)!),
    ratios: bytesOf(ratios),
  };
}

/** @throws {InputError} if an array has another length than the others and the dimension ask for */
function codebookOf(
  stored: z.infer<typeof codebookSchema>,
  dimension: number,
  where: string,
): Codebook {
  const { bits } = stored;
  const { long, short } = subquantiserCounts(dimension, bits);
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, "base64"));
  const floats = (
    name: "rotation" | "centroids" | "long" | "short" | "ratios",
    length?: number,
  ) => {
    const data = bytes(stored[name]);
    const isWhole = data.length % 4 === 0 && (length === undefined || data.length === 4 * length);
    if (!isWhole || data.length === 0)
      throw damaged(where, `codebook.${name} of ${data.length} bytes`);
    return new Float32Array(data.buffer);
  };
  const centroids = floats("centroids");
  const counts = bytes(stored.subquantisers);
  if (counts.length * dimension !== 2 * centroids.length)
    throw damaged(where, `codebook.subquantisers of ${counts.length} bytes`);
  const subquantisers = new Uint16Array(counts.buffer);
  if (!subquantisers.every((count) => count === long || count === short))
    throw damaged(where, "codebook.subquantisers with other counts");
  return {
    bits,
    dimension,
    rotation: floats("rotation", dimension ** 2),
    centroids,
    subquantisers,
    codewords: new Map([
      [long, floats("long", 256 * dimension)],
      [short, floats("short", 256 * dimension)],
    ]),
    ratios: floats("ratios", 256),
  };
}

const damaged = (where: string, got: string): InputError =>
  new InputError({
    code: "ERR_REATT_DAMAGED_INDEX",
    where,
    expected: "the properties that reatt wrote",
    got,
    remedy: "restore the collection, or import it again with --replace",
  });
